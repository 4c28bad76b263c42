import type { RefusalClass } from "../../core/record/refusal.ts";
import { DAY_MS, SECOND_MS } from "../../core/time.ts";
import { isRecent } from "../../security/signature.ts";
import type { Job } from "../../core/record/upstream.ts";
import type { Answer } from "../provider-answer.ts";
import type { CancelReading } from "../cancel.ts";
import { errorOf, explained, statusError, statusIn, withRetryWord } from "./fal-errors.ts";
import type { UpstreamError } from "../failure.ts";
import { at, idAt, numberAt, seedAt, textAt } from "../json-fields.ts";
import type { Observation } from "../observation.ts";
import { outputLinks } from "../output-search.ts";
import {
  type Authenticity,
  type Connection,
  type Hook,
  type HookContext,
  type UpstreamProvider,
  type Reading,
  UNCLEAR,
} from "../provider.ts";
import { isModelSegment, jobReadingOf, membersAt, type SubmitTarget } from "../submit.ts";
import { refusalOfStatus } from "../submit-refusal.ts";
import { type Amounts, amountsAt } from "../usage.ts";
import { bytesOf, fromHex, sha256Hex } from "../../security/encoding.ts";
import { verifyPublished } from "../shared/published-keys.ts";
import { statedMetadata } from "../shared/stated-metadata.ts";

const JWKS_URL = "https://rest.fal.ai/.well-known/jwks.json";
/** Template of the path of a request in fal's queue. fal calls a job a request. */
const REQUEST = "/{endpoint}/requests/{id}";
const NAMESPACES: readonly (string | undefined)[] = ["workflows", "comfy"];
const MAX_ENDPOINT_CHARS = 256;
const PARAMETERS = membersAt("", [
  "seed",
  "aspect_ratio",
  "duration",
  "resolution",
  "generate_audio",
  "fps",
]);
/**
 * Patterns of the names of members that usually contain the main output, which is listed before all other outputs. For
 * example, a model is listed before its material and textures, the requested sound before the rest of the sound, and
 * the weights of a training before its settings.
 */
const MAIN: readonly RegExp[] = [
  /^video$/,
  /^videos$/,
  /^image$/,
  /^images$/,
  /^audio$/,
  /^model(?:_(?:3d|fbx|file|glb|gltf|mesh|obj|ply|stl|usdz))?$/,
  /^target$/,
  /_lora_file$|^lora_file$/,
];
/** Meanings of the member `status` in fal's answer to a cancellation. */
const CANCEL_READINGS: ReadonlyMap<string, CancelReading> = new Map([
  ["OK", "canceled"],
  ["CANCELLATION_REQUESTED", "accepted"],
  ["ALREADY_COMPLETED", "ended"],
]);

/**
 * Adapter for fal. A hook contains the result of the job. Hooks are signed with keys that are the same for all
 * customers (https://docs.fal.ai/model-apis/model-endpoints/webhooks). A poll consists of two requests, one for the
 * status and one for the result (https://docs.fal.ai/model-apis/model-endpoints/queue).
 */
export const fal = {
  name: "fal",
  variables: { key: "FAL_KEY", baseUrl: "FAL_BASE_URL", userId: "FAL_USER_ID" },
  baseUrls: ["https://queue.fal.run"],
  jwksUrl: JWKS_URL,
  hooks: {
    assurance: "body-signed",
    parameter: "?fal_webhook",
    idParameter: null,
    authenticate,
    read: readHook,
  },
  // https://fal.ai/docs/model-apis/data-retention: at least 7 days, or longer if the account is set so.
  linkLife: { minMs: 7 * DAY_MS, maxMs: null },
  usageNames: ["inference_time"],
  polls: {
    gapMs: 1_000,
    // fal stores results for 30 days, unless payload storage is turned off in the account.
    maxAgeMs: 30 * DAY_MS,
    endpoint: {
      isRequired: true,
      meaning: "what the job was submitted to, e.g. fal-ai/kling-video/v2/master/text-to-video",
      pattern: /^[^/]+\/[^/]+/,
    },
    keyHeader: { name: "Authorization", schemes: ["Key"] },
    headers: async (key) => ({ Authorization: `Key ${key}` }),
    path: (job) => `${pathOf(job)}/status`,
    read: readStatus,
  },
  submits: {
    target: targetOf,
    refusal: submitRefusalOf,
    readAnswer: (body, path) => jobReadingOf(idAt(body, "request_id"), endpointIn(path)),
  },
  // https://fal.ai/docs/inference-api/queue/cancel: fal removes a request that waits in the queue. To the runner of a
  // request in progress it sends a signal, which the model may not obey.
  cancels: {
    request: (job) => ({ method: "PUT", path: `${pathOf(job)}/cancel` }),
    read: ({ body }) => CANCEL_READINGS.get(textAt(body, "status") ?? "") ?? "unknown",
  },
  // https://fal.ai/docs/model-apis/model-endpoints/queue: status and result, and the links to both in the answers. The link
  // to the result has another path in recorded answers (https://github.com/vercel/ai, packages/fal/src/__fixtures__).
  // https://fal.ai/docs/inference-api/queue/status-stream: the stream ends with the status COMPLETED.
  jobCalls: {
    read: [`${REQUEST}/status`, REQUEST, `${REQUEST}/result`],
    query: { logs: ["0", "1"] },
    // https://fal.ai/docs/inference-api/queue/cancel
    cancel: {
      method: "PUT",
      paths: [`${REQUEST}/cancel`],
      answer: {
        done: () => ({ status: 202, body: { status: "CANCELLATION_REQUESTED" } }),
        ended: { status: 400, body: { status: "ALREADY_COMPLETED" } },
        refused: 400,
      },
    },
    stream: {
      of: `${REQUEST}/status`,
      ending: "/stream",
      isLast: (body) => textAt(body, "status") === "COMPLETED",
    },
    links: ["/response_url", "/status_url", "/cancel_url"],
    // https://github.com/fal-ai/fal-js: the storage of the SDK asks these for an address, to which it uploads without a key.
    uploads: [
      "/storage/upload/initiate?storage_type=fal-cdn-v3",
      "/storage/upload/initiate-multipart?storage_type=fal-cdn-v3",
    ],
    uploadOrigin: "https://rest.fal.ai",
    errorBody: (_status, detail) => ({ detail }),
  },
} as const satisfies UpstreamProvider;

/**
 * Returns the class of the refusal with which fal answers a submission. fal locks an account whose balance is below a
 * threshold (https://docs.fal.ai/faq) and then answers 403 with "User is locked. Reason: Exhausted balance. …". For an
 * account that fal's staff has locked, the text is "Reason: Admin lock." (https://github.com/fal-ai/fal/issues/1147,
 * issues/1168).
 */
function submitRefusalOf(status: number, body: unknown): RefusalClass | null {
  const detail = textAt(body, "detail") ?? "";
  if (status === 403 && /^user is locked\b/i.test(detail)) {
    return /admin lock/i.test(detail) ? "key" : "funds";
  }
  return refusalOfStatus(status);
}

/**
 * Returns the description of the call that adds a job to fal's queue, if the path is the endpoint of a model. Null for
 * any other path.
 */
function targetOf(path: string): SubmitTarget | null {
  const endpoint = endpointIn(path);
  if (endpoint === null) return null;
  return {
    model: { name: endpoint },
    endpoint,
    parameters: PARAMETERS,
    answer: "job",
    inline: { asked: { "/sync_mode": [true, "true"] } },
  };
}

/**
 * Returns the endpoint of a model from the path of a call. Null for any other path, e.g. one about a job that is
 * already in the queue (`/fal-ai/flux/requests/…`).
 */
function endpointIn(path: string): string | null {
  const [root, ...segments] = path.split("/");
  const endpoint = segments.join("/");
  const isOfModel =
    root === "" &&
    endpoint.length <= MAX_ENDPOINT_CHARS &&
    segments.length >= appLengthOf(segments) &&
    segments.every((segment) => isModelSegment(segment) && segment.toLowerCase() !== "requests");
  return isOfModel ? endpoint : null;
}

async function authenticate(
  { headers, readBody }: Hook,
  { userId, jwksUrl }: Connection,
  context: HookContext,
): Promise<Authenticity> {
  const header = (name: string) => headers.get(`X-Fal-Webhook-${name}`) ?? "";
  const signature = fromHex(header("Signature"), 64);
  const [requestId, signer, timestamp] = ["Request-Id", "User-Id", "Timestamp"].map(header);
  if (signature === null || !requestId || !signer || !isRecent(timestamp, context.now)) {
    return "refused";
  }
  if (userId !== null && signer !== userId) return "refused";
  const digest = await sha256Hex(await readBody());
  const message = bytesOf(`${requestId}\n${signer}\n${timestamp}\n${digest}`);
  const isValid = await verifyPublished(jwksUrl ?? JWKS_URL, signature, message, context);
  if (isValid === null) return "unavailable";
  if (!isValid) return "refused";
  // Any customer of fal can have a hook signed. Without the operator's own user id, the signature proves nothing.
  return userId === null ? "unsigned" : "signed";
}

function readHook(body: unknown, { headers }: Hook): Observation | null {
  const jobId = idAt(body, "request_id");
  if (jobId === null) return null;
  const payload = at(body, "payload");
  const seconds = numberAt(headers.get("X-Fal-Webhook-Timestamp"));
  return {
    jobId,
    state: textAt(body, "status"),
    ...outputOf(payload),
    completedAt: seconds === null ? null : seconds * SECOND_MS,
    error: hookErrorOf(body, payload),
  };
}

/**
 * Returns the error that a hook of fal contains, either in its member `payload` (the answer of the app) or in another
 * member.
 */
function hookErrorOf(body: unknown, payload: unknown): UpstreamError {
  const text = textAt(body, "error");
  const answer = { status: statusIn(text), headers: new Headers(), body: payload };
  const error = statusError(text, textAt(body, "error_type"));
  return errorOf(answer) ?? explained(error, textAt(payload, "detail"));
}

function readStatus({ body }: Answer, job: Job): Reading {
  const state = textAt(body, "status");
  if (state === null) return UNCLEAR;
  if (state.toUpperCase() === "COMPLETED") {
    const named = idAt(body, "request_id");
    // The result contains no id, so only the status can show that it is about another job.
    if (named !== null && named !== job.id) return UNCLEAR;
    const reported = reportedError(body);
    const usage = amountsAt(body, "metrics");
    const read = (answer: Answer) => withUsage(readResult(answer, reported), usage);
    return { kind: "next", path: pathOf(job), read, readsEveryStatus: true };
  }
  return { kind: "observed", observation: observationOf(state, idAt(body, "request_id")) };
}

/**
 * Returns the meaning of the answer with a job's result. A job whose status is COMPLETED may still have failed. The
 * result of a failed job has the HTTP status of the failure, which can also be that of an outage (503) or a wrong key
 * (403). The result counts as a failure of the job only if its body or its headers have an error in fal's form, or if
 * the status of the job contained an error.
 */
function readResult(answer: Answer, reported: UpstreamError | null): Reading {
  const { status, body } = answer;
  if (status >= 200 && status < 300 && body !== undefined) {
    return { kind: "observed", observation: { ...observationOf("OK", null), ...outputOf(body) } };
  }
  const named = status >= 400 ? errorOf(answer) : null;
  const stated = named ?? refusal(status, textAt(body, "detail")) ?? reported;
  if (stated !== null) {
    const error = withRetryWord(stated, answer.headers);
    return { kind: "observed", observation: { ...observationOf("ERROR", null), error } };
  }
  return status === 429 ? { kind: "limited" } : UNCLEAR;
}

/**
 * Returns the meaning of a job's result, with the amounts of usage added that fal has stated in its answer about the
 * job's status.
 */
function withUsage(reading: Reading, usage: Amounts): Reading {
  if (reading.kind !== "observed") return reading;
  return { ...reading, observation: { ...reading.observation, usage } };
}

/**
 * Returns the error with which an app at fal refuses the input of a job (HTTP 400 or 422). Null for any other HTTP
 * status. Null also for a text which says that the job is in progress, because fal itself writes this text and not the
 * app.
 */
function refusal(status: number, text: string | null): UpstreamError | null {
  const isByApp = (status === 400 || status === 422) && !/in progress/i.test(text ?? "");
  if (text === null || !isByApp) return null;
  return explained(statusError(`Invalid status code: ${status}`), text);
}

/** Returns the error of the job that fal's answer about its status contains. Null when it contains none. */
function reportedError(body: unknown): UpstreamError | null {
  const code = textAt(body, "error_type");
  const text = textAt(body, "error");
  return code === null && text === null ? null : statusError(text, code);
}

function observationOf(state: string, jobId: string | null): Observation {
  return { jobId, state, urls: [], metadata: {}, completedAt: null, error: null };
}

function outputOf(payload: unknown): Pick<Observation, "urls" | "metadata"> {
  const members = typeof payload === "object" && payload !== null ? Object.entries(payload) : [];
  const main = MAIN.flatMap((pattern) => members.filter(([name]) => pattern.test(name)));
  return {
    // Each model has its own names for its outputs.
    urls: outputLinks({ main: main.map(([, value]) => value), part: payload }),
    // At the top of a result the length is that of the output; other members may repeat what was asked.
    metadata: {
      seed: seedAt(payload, "seed"),
      duration: statedMetadata(payload).duration ?? null,
    },
  };
}

/**
 * Returns the path at which fal answers about a job. Of the job's endpoint, it contains only the first segments, which
 * name the app: for the endpoint `fal-ai/kling-video/v2/master` it begins with `/fal-ai/kling-video/requests/`.
 */
function pathOf({ id, endpoint }: Job): string {
  const segments = (endpoint ?? "").split("/").filter((segment) => segment !== "");
  const root = segments.slice(0, appLengthOf(segments));
  return ["", ...[...root, "requests", id].map(encodeURIComponent)].join("/");
}

/** Returns how many of the first segments of an endpoint name the app. */
function appLengthOf([first]: readonly string[]): number {
  return NAMESPACES.includes(first) ? 3 : 2;
}
