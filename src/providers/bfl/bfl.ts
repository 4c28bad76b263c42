import type { RefusalClass } from "../../core/record/refusal.ts";
import { MINUTE_MS, SECOND_MS } from "../../core/time.ts";
import type { UpstreamError } from "../failure.ts";
import { at, idAt, listAt, numberAt, seedAt, textAt } from "../json-fields.ts";
import type { Observation } from "../observation.ts";
import { outputLinks } from "../output-search.ts";
import { noSignature, readingOf, type UpstreamProvider } from "../provider.ts";
import { jobReadingOf, membersAt, type SubmitTarget } from "../submit.ts";
import { refusalOfStatus } from "../submit-refusal.ts";

/**
 * State that a job at Black Forest Labs has while it is waiting or running. At other providers the same word means only
 * that a job is waiting.
 */
const OPEN = "Pending";
/**
 * Pattern of the paths at which a `POST` starts a job: those of models and of image tools
 * (https://docs.bfl.ai/release-notes). The length of the path is limited, because the model's name in it is stored with
 * the task.
 */
const MODEL_PATH = /^\/v1\/(flux-tools\/[a-z0-9][\w.-]{0,126}|(?!flux-tools$)flux-[\w.-]{1,126})$/;
const PARAMETERS = membersAt("", [
  "seed",
  "aspect_ratio",
  "duration",
  "resolution",
  "generate_audio",
]);

/**
 * Adapter for Black Forest Labs (FLUX). Hooks have the same format as answers to polls
 * (https://docs.bfl.ai/api-reference/utility/get-result). The reference does not say whether and how hooks are signed.
 * A job can be polled only in the region that runs it.
 */
export const bfl = {
  name: "bfl",
  variables: { key: "BFL_API_KEY", baseUrl: "BFL_BASE_URL" },
  baseUrls: ["https://api.bfl.ai", "https://api.eu.bfl.ai", "https://api.us.bfl.ai"],
  hooks: {
    assurance: "capability-url",
    parameter: "webhook_url",
    idParameter: null,
    authenticate: noSignature,
    read: (body) => (idAt(body, "id") === null ? null : observe(body)),
  },
  // https://docs.bfl.ai: the signed links live for 10 minutes.
  linkLife: { minMs: 10 * MINUTE_MS, maxMs: 10 * MINUTE_MS },
  usageNames: ["cost", "input_mp", "output_mp"],
  polls: {
    gapMs: 1_000,
    maxAgeMs: null,
    endpoint: null,
    keyHeader: { name: "x-key", schemes: [] },
    headers: async (key) => ({ "x-key": key }),
    path: ({ id }) => `/v1/get_result?id=${encodeURIComponent(id)}`,
    read: ({ body }) => readingOf(observe(body)),
  },
  submits: {
    target: targetOf,
    refusal: refusalOf,
    readAnswer: (body) => jobReadingOf(idAt(body, "id"), null),
  },
  // https://docs.bfl.ai/api-reference/utility/get-result; clients follow `polling_url`, whose host is that of the region.
  // Errors have their text in `detail` (https://github.com/black-forest-labs/blackforest/blob/main/src/bfl/_transport.py).
  jobCalls: {
    read: ["/v1/get_result?id={id}"],
    links: ["/polling_url"],
    // https://docs.bfl.ai/integration_guidelines: `api.us1.bfl.ai` and others.
    linkHosts: /^https:\/\/api\.[a-z]+\d*\.bfl\.ai$/,
    errorBody: (_status, detail) => ({ detail }),
  },
} as const satisfies UpstreamProvider;

/**
 * Returns the class of the refusal with which Black Forest Labs answers a submission
 * (https://docs.bfl.ai/quick_start/generating_images). 429 means that the account has as many unfinished tasks as it
 * may have, and 403 that the key is not accepted.
 */
function refusalOf(status: number): RefusalClass | null {
  if (status === 429) return "busy";
  return status === 403 ? "key" : refusalOfStatus(status);
}

/**
 * Returns the description of the job that a `POST` to this path starts; the path names its model. Null for any other
 * path.
 */
function targetOf(path: string): SubmitTarget | null {
  const [, name] = MODEL_PATH.exec(path) ?? [];
  if (name === undefined) return null;
  return { model: { name }, endpoint: null, parameters: PARAMETERS, answer: "job" };
}

/**
 * Returns the report on a job in a hook or in an answer to a poll. A hook contains the id of the job; in an answer to a
 * poll it may be missing.
 */
function observe(body: unknown): Observation | null {
  const state = textAt(body, "status") ?? textAt(body, "state");
  if (state === null) return null;
  const result = at(body, "result");
  const endS = numberAt(result, "end_time");
  return {
    jobId: idAt(body, "id"),
    state: state === OPEN ? "processing" : state,
    urls: outputLinks({ main: [at(result, "sample")], part: result }),
    // The field `duration` of the result is not used, because it is the time of the computation.
    metadata: { seed: seedAt(result, "seed") },
    completedAt: endS === null ? null : endS * SECOND_MS,
    error: errorOf(body, state),
    usage: {
      cost: numberAt(body, "cost"),
      input_mp: numberAt(body, "input_mp"),
      output_mp: numberAt(body, "output_mp"),
    },
  };
}

/** Returns why a job failed: the reasons for which moderation stopped it, or the texts of an error. */
function errorOf(body: unknown, state: string): UpstreamError | null {
  const reasons = listAt(body, "details", "Moderation Reasons").filter(
    (reason) => typeof reason === "string",
  );
  if (reasons.length > 0) return { code: null, text: `${state}: ${reasons.join(", ")}` };
  const code = textAt(body, "error");
  const text =
    textAt(body, "message") ?? textAt(body, "details", "error") ?? textAt(body, "details");
  return code === null && text === null ? null : { code, text };
}
