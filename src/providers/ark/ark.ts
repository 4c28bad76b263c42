import type { RefusalClass } from "../../core/record/refusal.ts";
import { DAY_MS, SECOND_MS } from "../../core/time.ts";
import { isSuccess, type Answer } from "../provider-answer.ts";
import type { CancelReading } from "../cancel.ts";
import { at, booleanAt, idAt, integerAt, numberAt, seedAt, textAt } from "../json-fields.ts";
import type { Observation } from "../observation.ts";
import { outputLinks } from "../output-search.ts";
import { amountsAt } from "../usage.ts";
import { readImages } from "../shared/openai-results.ts";
import { hasPromptParameters } from "../shared/prompt-parameters.ts";
import {
  bearer,
  noSignature,
  provenReadingOf,
  reportNamingJob,
  type UpstreamProvider,
} from "../provider.ts";
import { membersAt, submitReadingOf, type SubmitTarget } from "../submit.ts";
import { refusalOfStatus } from "../submit-refusal.ts";

const TASKS = "/contents/generations/tasks";
const TARGET: SubmitTarget = {
  model: { pointer: "/model" },
  endpoint: null,
  parameters: membersAt("", ["seed", "ratio", "duration", "resolution", "generate_audio"]),
  answer: "job",
  // `frames` takes precedence over `duration` (https://www.volcengine.com/docs/82379/1520757).
  hidden: { isHiddenIn: hasPromptParameters, pointers: ["/frames"] },
};
const IMAGES = "/images/generations";
/**
 * Description of the call that generates images (https://www.volcengine.com/docs/82379/1541523). In a stream, each
 * image is in an event of its own, and the last event has none.
 */
const IMAGE_TARGET: SubmitTarget = {
  model: { pointer: "/model" },
  endpoint: null,
  parameters: membersAt("", ["seed", "size"]),
  answer: "result",
  unreadable: { "/stream": [true] },
  needsCall: { "/response_format": ["b64_json"] },
};

/**
 * Adapter for Volcengine Ark and BytePlus ModelArk (models such as Seedance). Ark sends an unsigned hook at every
 * change of a job's status, in the same format as its answer to a poll (https://www.volcengine.com/docs/82379/1520757).
 */
export const ark = {
  name: "ark",
  variables: { key: "ARK_API_KEY", baseUrl: "ARK_BASE_URL" },
  baseUrls: [
    "https://ark.cn-beijing.volces.com/api/v3",
    "https://ark.ap-southeast.bytepluses.com/api/v3",
  ],
  hooks: {
    assurance: "capability-url",
    parameter: "callback_url",
    idParameter: null,
    authenticate: noSignature,
    read: (body) => reportNamingJob(readArkTask(body)),
  },
  // https://www.volcengine.com/docs/82379/1521309: outputs are deleted after 24 hours.
  linkLife: { minMs: DAY_MS, maxMs: DAY_MS },
  usageNames: ["completion_tokens", "total_tokens", "generated_images", "output_tokens"],
  polls: {
    gapMs: 1_000,
    // Ark answers queries only for tasks of the last 7 days.
    maxAgeMs: 7 * DAY_MS,
    endpoint: null,
    headers: bearer,
    path: ({ id }) => `${TASKS}/${encodeURIComponent(id)}`,
    read: ({ body }) => provenReadingOf(readArkTask(body)),
    statesCreation: true,
    // Ids of inference endpoints (https://www.volcengine.com/docs/82379/1099522).
    modelAliases: /^ep-/,
  },
  submits: {
    target: targetOf,
    refusal: refusalOf,
    readAnswer: (body, path, baseUrl) =>
      path === IMAGES ? readImages(body, baseUrl) : submitReadingOf(readArkTask(body)),
  },
  // https://www.volcengine.com/docs/82379/1521720: the call cancels a task that is queued, deletes the record of one that
  // has ended, and is refused for one that is running.
  cancels: {
    request: ({ id }) => ({ method: "DELETE", path: `${TASKS}/${encodeURIComponent(id)}` }),
    read: readCancellation,
    onlyWhile: ["queued"],
  },
  // https://www.volcengine.com/docs/82379/1521309: the answer about a task; errors have their code and text in `error`.
  jobCalls: {
    read: [`${TASKS}/{id}`],
    // https://www.volcengine.com/docs/82379/1521720: an empty object; 409 for a task that runs.
    cancel: {
      method: "DELETE",
      paths: [`${TASKS}/{id}`],
      answer: { done: () => ({ status: 200, body: {} }), refused: 409 },
    },
    errorBody: (status, message) => ({
      error: { code: ERROR_CODES.get(status) ?? FAULT, message },
    }),
  },
} as const satisfies UpstreamProvider;

function targetOf(path: string): SubmitTarget | null {
  if (path === IMAGES) return IMAGE_TARGET;
  return path === TASKS ? TARGET : null;
}

/** Codes in Ark's style that the relay writes into its own errors about a call, by the HTTP status of the error. */
const ERROR_CODES: ReadonlyMap<number, string> = new Map([
  [404, "ResourceNotFound"],
  [409, "InvalidAction.RunningTaskDeletion"],
  [429, "RequestBurstTooFast"],
]);
const FAULT = "InternalServiceError";
/**
 * Classes of refused submissions by the error code with which Ark refuses them
 * (https://www.volcengine.com/docs/82379/1299023). Codes of rate limits are left out, because they have the HTTP status
 * 429.
 */
const REFUSALS: ReadonlyMap<string | null, RefusalClass> = new Map([
  ["InflightBatchsizeExceeded", "busy"],
  ["AccountOverdueError", "funds"],
  ["OperationDenied.ServiceOverdue", "funds"],
  ["AccountQuotaExceeded", "funds"],
  ["QuotaExceeded.AgentPlanQuotaExceeded", "funds"],
  ["InvalidSubscription", "funds"],
  // The spending limit that the owner of the account has set for a model.
  ["SetLimitExceeded", "funds"],
  ["AccessDenied", "key"],
  ["InvalidAccountStatus", "key"],
  ["ModelNotOpen", "key"],
  ["OperationDenied.PermissionDenied", "key"],
  ["OperationDenied.ServiceNotOpen", "key"],
]);

/**
 * Returns the class of the refusal with which Ark answers a submission. The error code `QuotaExceeded` has three
 * meanings, which the error text tells apart: too many tasks wait in the queue ("The request has exceeded the quota."),
 * the free trial is used up ("has exhausted its free trial quota"), or the quota of a plan is used up ("It will reset
 * at …").
 */
function refusalOf(status: number, body: unknown): RefusalClass | null {
  const byStatus = refusalOfStatus(status);
  if (byStatus === null) return null;
  const code = textAt(body, "error", "code");
  const text = textAt(body, "error", "message") ?? "";
  if (code === "QuotaExceeded") {
    if (/free trial|reset at/i.test(text)) return "funds";
    return /exceeded the quota/i.test(text) ? "busy" : byStatus;
  }
  return REFUSALS.get(code) ?? byStatus;
}

function readCancellation(answer: Answer): CancelReading {
  if (isSuccess(answer)) return "canceled";
  return answer.status === 404 ? "unknown" : "refused";
}

/**
 * Returns the report on a job from Ark's description of it (an object that Ark calls a task), which gateways pass on
 * too. Null for any other value.
 */
export function readArkTask(body: unknown): Observation | null {
  const [jobId, state] = [idAt(body, "id"), textAt(body, "status")];
  if (jobId === null && state === null) return null;
  const [createdAt, updatedAt] = [numberAt(body, "created_at"), numberAt(body, "updated_at")];
  // An older version of the API wrote the reason into `failure_reason`.
  const failed = {
    code: textAt(body, "error", "code"),
    text: textAt(body, "error", "message") ?? textAt(body, "failure_reason"),
    refusal: refusalOf(400, body),
  };
  return {
    jobId,
    state,
    urls: linksIn(at(body, "content")),
    metadata: {
      seed: seedAt(body, "seed"),
      ratio: textAt(body, "ratio"),
      duration: durationOf(body),
      resolution: textAt(body, "resolution"),
      generate_audio: booleanAt(body, "generate_audio"),
      framespersecond: integerAt(body, "framespersecond"),
    },
    completedAt: updatedAt === null ? null : updatedAt * SECOND_MS,
    error: failed.code === null && failed.text === null ? null : failed,
    usage: amountsAt(body, "usage"),
    model: textAt(body, "model"),
    submittedAt: createdAt === null ? null : createdAt * SECOND_MS,
  };
}

/**
 * Returns the links to the outputs in the member `content` of Ark's description of a task. A `content` that is a list
 * contains no output: it is the submission's own `content`, which some gateways copy into their description.
 */
function linksIn(content: unknown): readonly string[] {
  if (Array.isArray(content)) return [];
  const main = [at(content, "video_url"), at(content, "file_url")];
  return outputLinks({ main, part: content });
}

/**
 * Returns the duration of a video in seconds. Ark reports either `duration` or `frames`, never both. Null when it
 * reports neither.
 */
function durationOf(body: unknown): number | null {
  const frames = numberAt(body, "frames");
  const perSecond = integerAt(body, "framespersecond");
  const counted = frames === null || !perSecond ? null : Math.round(frames / perSecond);
  return integerAt(body, "duration") ?? counted;
}
