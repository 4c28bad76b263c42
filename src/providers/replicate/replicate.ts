import type { RefusalClass } from "../../core/record/refusal.ts";
import { HOUR_MS } from "../../core/time.ts";
import { isHmacSecret } from "../../security/hmac.ts";
import { isSuccess, type Answer } from "../provider-answer.ts";
import type { FailureCategory } from "../../core/record/upstream.ts";
import type { CancelReading } from "../cancel.ts";
import type { UpstreamError } from "../failure.ts";
import { at, idAt, integerAt, isoMsAt, seedAt, textAt } from "../json-fields.ts";
import type { Observation } from "../observation.ts";
import { outputLinks } from "../output-search.ts";
import { phaseOf } from "../phase.ts";
import { bearer, provenReadingOf, reportNamingJob, type UpstreamProvider } from "../provider.ts";
import { statedMetadata } from "../shared/stated-metadata.ts";
import { standardWebhook } from "../shared/standard-webhook.ts";
import { membersAt, type ModelPlace, submitReadingOf, type SubmitTarget } from "../submit.ts";
import { refusalOfStatus } from "../submit-refusal.ts";
import { amountsAt } from "../usage.ts";

/** Error of a job that has succeeded, but whose output Replicate had removed before the relay could read it. */
const REMOVED: UpstreamError = {
  code: "data_removed",
  text: "The job succeeded, but Replicate removed its output, which it keeps for an hour.",
};
/**
 * Pattern of the paths that run a model or a deployment. The name in the path is stored as the model. The length of the
 * path is limited, because this name is stored with the task.
 */
const RUN_PATH =
  /^\/v1\/(?:models|deployments)\/([A-Za-z0-9][\w.-]{0,126}\/[A-Za-z0-9][\w.-]{0,126})\/predictions$/;
/**
 * Parameters of a submission that become output metadata: the frame rate, and those that `statedMetadata` also reads
 * from answers.
 */
const PARAMETERS = membersAt("/input", [
  "seed",
  "aspect_ratio",
  "size",
  "duration",
  "resolution",
  "generate_audio",
  "audio",
  "fps",
]);
/** Number of characters at the end of the logs that are searched for a progress bar. */
const MAX_PROGRESS_CHARS = 2_000;

/**
 * Adapter for Replicate. Hooks have the same format as answers to polls, and are signed by the rules of Standard
 * Webhooks (https://replicate.com/docs/topics/webhooks).
 */
export const replicate = {
  name: "replicate",
  variables: {
    key: "REPLICATE_API_TOKEN",
    baseUrl: "REPLICATE_BASE_URL",
    webhookSecret: "REPLICATE_WEBHOOK_SECRET",
  },
  baseUrls: ["https://api.replicate.com"],
  isWebhookSecret: isHmacSecret,
  hooks: {
    assurance: "body-signed",
    parameter: "webhook",
    idParameter: null,
    authenticate: standardWebhook,
    read: (body) => reportNamingJob(observe(body)),
  },
  // https://replicate.com/docs/topics/predictions/data-retention: outputs are removed after an hour.
  linkLife: { minMs: HOUR_MS, maxMs: HOUR_MS },
  usageNames: ["predict_time", "total_time"],
  polls: {
    gapMs: 1_000,
    // https://replicate.com/docs/topics/predictions/rate-limits: 3000 a minute for all requests except the creation
    // of predictions.
    perMinute: 3_000,
    maxAgeMs: null,
    endpoint: null,
    keyHeader: { name: "Authorization", schemes: ["Bearer", "Token"] },
    headers: bearer,
    path: ({ id }) => `/v1/predictions/${encodeURIComponent(id)}`,
    read: ({ body }) => provenReadingOf(observe(body)),
  },
  submits: {
    target: targetOf,
    refusal: refusalOf,
    // With `Prefer: wait` the answer may be a finished prediction. Replicate can state the output of a prediction that
    // is still processing: such a prediction is polled.
    readAnswer: (body) => submitReadingOf(observe(body)),
  },
  // https://replicate.com/docs/reference/http#predictions.cancel: the answer is the prediction. A prediction that has
  // ended is not changed.
  cancels: {
    request: ({ id }) => ({
      method: "POST",
      path: `/v1/predictions/${encodeURIComponent(id)}/cancel`,
    }),
    read: readCancellation,
  },
  // https://replicate.com/docs/reference/http#predictions.get; errors are problems (RFC 9457) with a text in `detail`.
  jobCalls: {
    read: ["/v1/predictions/{id}"],
    // https://replicate.com/docs/reference/http#predictions.cancel: the answer is the prediction.
    cancel: {
      method: "POST",
      paths: ["/v1/predictions/{id}/cancel"],
      answer: { read: "/v1/predictions/{id}" },
    },
    // https://replicate.com/docs/reference/http#files.create
    uploads: ["/v1/files"],
    // https://replicate.com/docs/reference/http#models.versions.get: `run` of `replicate` 1.0.7 (PyPI) reads the schema of
    // the output there, after it has submitted the job. `{endpoint}` is the owner and the name of the model.
    lookups: [{ path: "/v1/models/{endpoint}/versions/{id}", permitsUpload: false }],
    links: ["/urls/get", "/urls/cancel"],
    errorBody: (status, detail) => ({ status, detail }),
  },
} as const satisfies UpstreamProvider;

/**
 * Returns the class of the refusal with which Replicate answers a submission. An account that has little credit left
 * has a stricter rate limit until it pays (https://replicate.com/docs/topics/predictions/rate-limits): "Your rate limit
 * for creating predictions is reduced to 6 requests per minute … while you have less than $5.0 in credit", or "… until
 * you add a payment method".
 */
function refusalOf(status: number, body: unknown): RefusalClass | null {
  const detail = textAt(body, "detail") ?? "";
  const isUnpaid = /\bin credit\b|\bpayment method\b/i.test(detail);
  return status === 429 && isUnpaid ? "funds" : refusalOfStatus(status);
}

/**
 * Returns what a call to a path starts at Replicate: a job (a "prediction") of a model, of a version of a model, or of
 * a deployment. Null for calls that start no such job, e.g. those that train a model or cancel something.
 */
function targetOf(path: string): SubmitTarget | null {
  if (path === "/v1/predictions") return targetWith({ pointer: "/version" });
  const [, name] = RUN_PATH.exec(path) ?? [];
  if (name === undefined) return null;
  // What a version in the body does, where the path names the model, is not documented.
  return { ...targetWith({ name }), hidden: { isHiddenIn: null, pointers: ["/version"] } };
}

function targetWith(model: ModelPlace): SubmitTarget {
  return { model, endpoint: null, parameters: PARAMETERS, answer: "job-or-result" };
}

/**
 * Categories of failures by the error codes that Replicate writes at the end of its error texts
 * (https://replicate.com/docs/reference/error-codes).
 */
const CATEGORIES: ReadonlyMap<string, FailureCategory> = new Map([
  ["E005", "moderation"],
  ["E6716", "timeout"],
]);

/** States of those jobs at Replicate that were canceled, either after they had started or before. */
const CANCELED: readonly (string | null)[] = ["canceled", "aborted"];

function readCancellation(answer: Answer): CancelReading {
  const state = textAt(answer.body, "status");
  if (!isSuccess(answer)) return answer.status === 404 ? "unknown" : "refused";
  if (CANCELED.includes(state)) return "canceled";
  switch (phaseOf(state)) {
    case "completed":
    case "failed":
      return "ended";
    case "queued":
    case "processing":
      return "accepted";
    case null:
      return "unknown";
  }
}

function observe(body: unknown): Observation | null {
  const [jobId, state] = [idAt(body, "id"), textAt(body, "status")];
  if (jobId === null && state === null) return null;
  const metadata = statedMetadata(at(body, "metrics"), at(body, "input"));
  const logs = textAt(body, "logs") ?? "";
  // Each model has its own form of output: a URL, a list of URLs, or an object that contains some.
  const urls = outputLinks({ main: [at(body, "output")] });
  const isLost = state === "succeeded" && urls.length === 0 && at(body, "data_removed") === true;
  const loggedSeed = /Using seed: (\d+)/.exec(logs)?.[1];
  return {
    jobId,
    state: isLost ? "deleted" : state,
    urls,
    metadata: { ...metadata, seed: metadata.seed ?? seedAt(loggedSeed) },
    completedAt: isoMsAt(body, "completed_at"),
    error: isLost ? REMOVED : errorOf(body, state),
    progress: loggedProgress(logs),
    usage: amountsAt(body, "metrics"),
  };
}

/**
 * Returns the percentage of the last progress bar in the logs of a job, e.g. 76 for `76%|███  | 38/50`. Replicate's own
 * client reads it too (https://github.com/replicate/replicate-javascript, parseProgressFromLogs). Null when there is
 * none.
 */
function loggedProgress(logs: string): number | null {
  const lines = logs.slice(-MAX_PROGRESS_CHARS).split(/[\r\n]/);
  const bars = lines.flatMap((line) => /^\s*(\d{1,3})%\s*\|/.exec(line)?.[1] ?? []);
  return integerAt(bars.at(-1));
}

function errorOf(body: unknown, state: string | null): UpstreamError | null {
  const error = at(body, "error");
  const text = textAt(error) ?? textAt(error, "message") ?? textAt(error, "detail");
  // https://replicate.com/changelog/2025-10-16-prediction-deadlines: the deadline of the prediction (`Cancel-After`) passed
  // before it started.
  if (state === "aborted") return { code: null, text, category: "timeout" };
  if (error == null) return null;
  const category = CATEGORIES.get(/\((E\d{3,4})\)/.exec(text ?? "")?.[1] ?? "");
  return { code: null, text, ...(category !== undefined && { category }) };
}
