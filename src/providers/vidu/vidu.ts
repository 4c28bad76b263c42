import type { RefusalClass } from "../../core/record/refusal.ts";
import { DAY_MS, HOUR_MS } from "../../core/time.ts";
import { isSuccess, type Answer } from "../provider-answer.ts";
import type { CancelReading } from "../cancel.ts";
import type { UpstreamError } from "../failure.ts";
import { at, idAt, listAt, numberAt, textAt } from "../json-fields.ts";
import type { Observation } from "../observation.ts";
import { outputLinks } from "../output-search.ts";
import { phaseOf } from "../phase.ts";
import {
  type Authenticity,
  type Connection,
  type Hook,
  type HookContext,
  type UpstreamProvider,
  reportNamingJob,
  provenReadingOf,
  readingOf,
} from "../provider.ts";
import { membersAt, submitReadingOf, type SubmitTarget } from "../submit.ts";
import { refusalOfStatus } from "../submit-refusal.ts";
import { bytesOf } from "../../security/encoding.ts";
import { macFromBase64, verifyWithText } from "../../security/hmac.ts";
import { statedMetadata } from "../shared/stated-metadata.ts";

const TOLERANCE_MS = 300_000;
const TARGET: SubmitTarget = {
  model: { pointer: "/model" },
  endpoint: null,
  parameters: membersAt("", ["seed", "aspect_ratio", "duration", "resolution", "audio"]),
  answer: "job",
};
/** Calls with which Vidu starts tasks, by path (https://platform.vidu.com/docs). */
const TARGETS: ReadonlyMap<string, SubmitTarget> = new Map([
  ...[
    "/text2video",
    "/img2video",
    "/reference2video",
    "/start-end2video",
    "/multiframe",
    "/extend",
    "/reference2image",
    "/text2audio",
    "/timing2audio",
  ].map((path) => [path, TARGET] as const),
  ["/lip-sync", { ...TARGET, model: { name: "lip-sync" } }],
  // https://platform.vidu.com/docs/template-story: the member `story` is the template.
  ["/template-story", { ...TARGET, model: { name: "template-story" } }],
]);

/**
 * Adapter for Vidu. Hooks have the same format as answers to polls. The signature of a hook covers the request line and
 * some headers, and not the body (https://platform.vidu.com/docs/callback-signature).
 */
export const vidu = {
  name: "vidu",
  variables: { key: "VIDU_API_KEY", baseUrl: "VIDU_BASE_URL" },
  baseUrls: ["https://api.vidu.com/ent/v2", "https://api.vidu.cn/ent/v2"],
  hooks: {
    assurance: "request-signed",
    isSignedWithKey: true,
    parameter: "callback_url",
    idParameter: "payload",
    authenticate,
    read: (body) => reportNamingJob(observe(body)),
  },
  // https://platform.vidu.com/docs: some pages state an hour, others 24 hours.
  linkLife: { minMs: HOUR_MS, maxMs: DAY_MS },
  usageNames: ["credits"],
  polls: {
    gapMs: 1_000,
    maxAgeMs: null,
    namesTask: true,
    endpoint: null,
    keyHeader: { name: "Authorization", schemes: ["Token"] },
    headers: async (key) => ({ Authorization: `Token ${key}` }),
    path: ({ id }) => `/tasks/${encodeURIComponent(id)}/creations`,
    // `success` is a word of Vidu for a task, which has `creations`.
    read: ({ body }) =>
      Array.isArray(at(body, "creations"))
        ? readingOf(observe(body))
        : provenReadingOf(observe(body)),
  },
  submits: {
    target: (path) => TARGETS.get(path) ?? null,
    refusal: (status, body) => {
      const refusal = refusalOfStatus(status);
      return refusal === null ? null : (REFUSALS.get(textAt(body, "reason")) ?? refusal);
    },
    refusalError: (body) => errorOf(textAt(body, "reason"), textAt(body, "message")),
    readAnswer: (body) => submitReadingOf(observe(body)),
  },
  // https://platform.vidu.com/docs/cancel-generation: a task that has been scheduled is not canceled any more.
  cancels: {
    request: ({ id }) => ({
      method: "POST",
      path: `/tasks/${encodeURIComponent(id)}/cancel`,
      body: { id },
    }),
    read: readCancellation,
  },
  // https://platform.vidu.com/docs/get-generation; the form of errors is that of the answer about an unknown task.
  jobCalls: {
    read: ["/tasks/{id}/creations"],
    // https://platform.vidu.com/docs/cancel-generation
    cancel: {
      method: "POST",
      paths: ["/tasks/{id}/cancel"],
      answer: { done: () => ({ status: 200, body: {} }), refused: 400 },
    },
    errorBody: (code, message) => ({
      code,
      reason: REASONS.get(code) ?? "",
      message,
      metadata: {},
    }),
  },
} as const satisfies UpstreamProvider;

/** Error reasons in the form of Vidu that the relay writes into its own errors about a call, by HTTP status. */
const REASONS: ReadonlyMap<number, string> = new Map([
  [404, "TaskNotFound"],
  [429, "TooManyRequests"],
]);

/**
 * Classes of refused submissions by the error code with which Vidu refuses them
 * (https://platform.vidu.com/docs/error-code). For any other code the HTTP status decides.
 */
const REFUSALS: ReadonlyMap<string | null, RefusalClass> = new Map([
  ["CreditInsufficient", "funds"],
  ["QuotaExceeded", "busy"],
  ["Forbidden", "key"],
]);

/**
 * Returns the meaning of an answer to a cancellation. If Vidu refuses to cancel a task, the answer states the state of
 * the task, e.g. `task state is scheduled, can not cancel`.
 */
function readCancellation(answer: Answer): CancelReading {
  if (isSuccess(answer)) return "canceled";
  const state = /\btask state is (\w{1,32})\b/.exec(textAt(answer.body, "message") ?? "")?.[1];
  if (answer.status !== 400 || state === undefined) return "unknown";
  const phase = phaseOf(state);
  return phase === "completed" || phase === "failed" ? "ended" : "refused";
}

async function authenticate(
  hook: Hook,
  { key }: Connection,
  { now }: HookContext,
): Promise<Authenticity> {
  // Vidu signs hooks with the API key of the account.
  if (key === null) return "unsigned";
  const { headers } = hook;
  if (headers.get("X-HMAC-ALGORITHM")?.toLowerCase() !== "hmac-sha256") return "refused";
  const names = (headers.get("X-HMAC-SIGNED-HEADERS") ?? "").split(";");
  if (!coversReplay(names, headers) || !isNear(headers.get("Date"), now)) return "refused";
  const signature = macFromBase64(headers.get("X-HMAC-SIGNATURE"));
  // The documentation is contradictory: the query may or may not be sorted before signing, so both are tried.
  const contents = queriesOf(hook).map((query) => bytesOf(contentOf(hook, query, names)));
  const fits = contents.map((content) => verifyWithText(key, [signature], async () => content));
  return (await Promise.all(fits)).includes(true) ? "unsigned" : "refused";
}

/**
 * Tells whether the signature of a hook covers the headers `Date` and `X-Request-Nonce`. If it did not, a copy of an
 * old request would have a valid signature. False when `names` contains a header twice, because the signed text could
 * otherwise become very long.
 */
function coversReplay(names: readonly string[], headers: Headers): boolean {
  const covered = names.map((name) => name.toLowerCase());
  return (
    names.every((name) => /^[\w-]+$/.test(name)) &&
    new Set(covered).size === covered.length &&
    ["date", "x-request-nonce"].every((name) => covered.includes(name) && headers.get(name))
  );
}

/**
 * Tells whether the text of an HTTP header `Date` is a time within 300 s before or after `now`. The text must end
 * in GMT (RFC 9110 §5.6.7).
 */
function isNear(date: string | null, now: number): boolean {
  return date?.endsWith(" GMT") === true && Math.abs(Date.parse(date) - now) <= TOLERANCE_MS;
}

function queriesOf({ query }: Hook): readonly string[] {
  return [query, query.split("&").toSorted().join("&")];
}

function contentOf({ path, headers }: Hook, query: string, names: readonly string[]): string {
  const lines = ["POST", path, query, "vidu", headers.get("Date")];
  const signed = names.map((name) => `${name}:${headers.get(name) ?? ""}`);
  return [...lines, ...signed, ""].join("\n");
}

function observe(body: unknown): Observation | null {
  const jobId = idAt(body, "id") ?? idAt(body, "task_id");
  // Resellers of the API name the state in another way (https://cloud.baidu.com/doc/qianfan-api/s/Jmwbl4dg3).
  const state = textAt(body, "state") ?? textAt(body, "status");
  if (jobId === null && state === null) return null;
  const creations = listAt(body, "creations");
  return {
    jobId,
    taskId: textAt(body, "payload"),
    state,
    urls: outputLinks({
      main: creations.map((creation) => at(creation, "url")),
      part: creations,
    }),
    // `duration` and others beside the state repeat the call.
    metadata: statedMetadata(at(body, "creations", 0), at(body, "usage"), body),
    completedAt: null,
    error: errorOf(textAt(body, "err_code"), textAt(body, "err_msg")),
    usage: { credits: numberAt(body, "credits") ?? numberAt(body, "usage", "credits") },
  };
}

function errorOf(code: string | null, text: string | null): UpstreamError | null {
  if (code === null) return text === null ? null : { code, text };
  if (/Policy|Audit/.test(code)) return { code, text, category: "moderation" };
  if (/^(Image|Face)/.test(code)) return { code, text, category: "invalid_input" };
  return { code, text, refusal: REFUSALS.get(code) ?? null };
}
