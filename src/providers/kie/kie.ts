import type { RefusalClass } from "../../core/record/refusal.ts";
import { DAY_MS } from "../../core/time.ts";
import { isRecent } from "../../security/signature.ts";
import type { JobPath } from "../job-calls.ts";
import { jsonAt, numberAt } from "../json-fields.ts";
import { endOf, jobIdOf, observe, observeHook } from "./kie-report.ts";
import { readingOfStatus, refusalIn } from "../poll-answer.ts";
import type { Answer } from "../provider-answer.ts";
import {
  type Authenticity,
  bearer,
  type Connection,
  type Hook,
  type HookContext,
  type UpstreamProvider,
  type Reading,
  readingOf,
} from "../provider.ts";
import { hasPromptParameters } from "../shared/prompt-parameters.ts";
import { jobReadingOf, membersAt, type SubmitTarget } from "../submit.ts";
import { refusalByCode } from "../submit-refusal.ts";
import { bytesOf } from "../../security/encoding.ts";
import { macFromBase64, verifyWithText } from "../../security/hmac.ts";

/** Paths at which kie.ai's jobs are polled if their model has an API of its own, by the field `endpoint` of the job. */
const QUERIES: ReadonlyMap<string, string> = new Map([
  ["suno", "generate/record-info"],
  ["veo", "veo/record-info"],
  ["runway", "runway/record-detail"],
  ["aleph", "aleph/record-info"],
  ["4o-image", "gpt4o-image/record-info"],
  ["flux-kontext", "flux/kontext/record-info"],
]);
/** Path at which jobs that kie.ai's call `createTask` has started are polled. */
const CREATED = "jobs/recordInfo";
const CREATE_TASK = "/api/v1/jobs/createTask";
const CREATE_TASK_TARGET: SubmitTarget = {
  model: { pointer: "/model" },
  endpoint: null,
  parameters: membersAt("/input", [
    "seed",
    "aspect_ratio",
    "duration",
    "resolution",
    "generate_audio",
  ]),
  answer: "job",
  // kie.ai resells Seedance, and does not document that it removes these parameters.
  hidden: { isHiddenIn: hasPromptParameters, pointers: [] },
};
/**
 * Paths of those calls of kie.ai's older APIs that start jobs, below `/api/v1/`, by the endpoint of their jobs. Only
 * calls whose jobs are polled at a path in `QUERIES` are listed (https://docs.kie.ai/old-model). Jobs for lyrics, other
 * file formats and separated voices are polled at other paths.
 */
const OLDER_CALLS: Readonly<Record<string, readonly string[]>> = {
  suno: [
    "generate",
    "generate/extend",
    "generate/upload-cover",
    "generate/upload-extend",
    "generate/add-instrumental",
    "generate/add-vocals",
    "generate/replace-section",
    "generate/mashup",
  ],
  veo: ["veo/generate", "veo/extend"],
  runway: ["runway/generate", "runway/extend"],
  aleph: ["aleph/generate"],
  "4o-image": ["gpt4o-image/generate"],
  "flux-kontext": ["flux/kontext/generate"],
};
/**
 * Calls of kie.ai's older APIs that start jobs, by path. In many of these calls the model may be left out or cannot be
 * chosen.
 */
const OLDER_TARGETS: ReadonlyMap<string, SubmitTarget> = new Map(
  Object.entries(OLDER_CALLS).flatMap(([endpoint, paths]) =>
    paths.map((path) => [`/api/v1/${path}`, olderTarget(endpoint)] as const),
  ),
);

/**
 * Adapter for kie.ai, for jobs of `createTask` and for jobs of the older APIs, each of which serves one model. Hooks
 * about jobs of `createTask` have the same format as answers to polls
 * (https://docs.kie.ai/market/common/get-task-detail); those of the older APIs have another format. The signature of a
 * hook covers the job id and not the body (https://docs.kie.ai/common-api/webhook-verification).
 */
export const kie = {
  name: "kie",
  variables: { key: "KIE_API_KEY", baseUrl: "KIE_BASE_URL", webhookSecret: "KIE_WEBHOOK_KEY" },
  baseUrls: ["https://api.kie.ai"],
  hooks: {
    assurance: "request-signed",
    parameter: "callBackUrl",
    idParameter: null,
    authenticate,
    read: observeHook,
  },
  // https://docs.kie.ai: 14 days in general, about 24 hours for the links of some models.
  linkLife: { minMs: DAY_MS, maxMs: 14 * DAY_MS },
  usageNames: ["consumeCredits"],
  polls: {
    gapMs: 1_000,
    maxAgeMs: null,
    endpoint: {
      isRequired: false,
      meaning: `the API of a job that is not of createTask: ${[...QUERIES.keys()].join(", ")}`,
      pattern: /^(?:suno|veo|runway|aleph|4o-image|flux-kontext)$/,
    },
    headers: bearer,
    path: ({ id, endpoint }) =>
      `/api/v1/${QUERIES.get(endpoint ?? "") ?? CREATED}?taskId=${encodeURIComponent(id)}`,
    readsEveryStatus: true,
    read: readAnswer,
    namesTask: true,
  },
  submits: {
    target: targetOf,
    refusal: refusalOf,
    readAnswer: (body, path) => jobReadingOf(jobIdOf(body), targetOf(path)?.endpoint ?? null),
  },
  // https://docs.kie.ai/market/common/get-task-detail, and the pages of the older APIs. Errors state their HTTP status in
  // `code`.
  jobCalls: {
    read: [CREATED, ...QUERIES.values()].map((path): JobPath => `/api/v1/${path}?taskId={id}`),
    errorBody: (code, msg) => ({ code, msg, data: null }),
  },
} as const satisfies UpstreamProvider;

/**
 * Returns the class of the refusal with which kie.ai answers a submission, by the member `code` of the body. The
 * documentation of each call lists its codes (https://docs.kie.ai). 433 means that the usage limit of one key of the
 * account is reached, 455 that the service is being maintained.
 */
function refusalOf(status: number, body: unknown): RefusalClass | null {
  const code = numberAt(body, "code");
  if (code === 433) return "funds";
  return code === 455 ? "rate" : refusalByCode(status, body);
}

function targetOf(path: string): SubmitTarget | null {
  return path === CREATE_TASK ? CREATE_TASK_TARGET : (OLDER_TARGETS.get(path) ?? null);
}

function olderTarget(endpoint: string): SubmitTarget {
  return {
    model: { pointer: "/model", otherwise: endpoint },
    endpoint,
    parameters: {
      ...membersAt("", ["duration", "size"]),
      aspect_ratio: "/aspectRatio",
      resolution: endpoint === "runway" ? "/quality" : "/resolution",
    },
    answer: "job",
  };
}

async function authenticate(
  { headers, readBody }: Hook,
  { webhookSecret }: Connection,
  { now }: HookContext,
): Promise<Authenticity> {
  if (webhookSecret === null) return "unsigned";
  const timestamp = headers.get("X-Webhook-Timestamp");
  const signature = macFromBase64(headers.get("X-Webhook-Signature"));
  if (signature === null || !isRecent(timestamp, now)) return "refused";
  const jobId = jobIdOf(jsonAt(new TextDecoder().decode(await readBody())));
  if (jobId === null) return "refused";
  const content = async () => bytesOf(`${jobId}.${timestamp}`);
  return (await verifyWithText(webhookSecret, [signature], content)) ? "unsigned" : "refused";
}

function readAnswer(answer: Answer): Reading {
  const { body } = answer;
  // The envelope decides, because its code may also be the HTTP status.
  const end = endOf(body);
  if (end !== null) return readingOf(end);
  return readingOfStatus(answer) ?? refusalIn(body) ?? readingOf(observe(body));
}
