import { DAY_MS } from "../../core/time.ts";
import { isRecent } from "../../security/signature.ts";
import type { FailureCategory } from "../../core/record/upstream.ts";
import type { UpstreamError } from "../failure.ts";
import { at, idAt, listAt, numberAt, textAt } from "../json-fields.ts";
import type { Observation } from "../observation.ts";
import { outputLinks } from "../output-search.ts";
import {
  type Authenticity,
  bearer,
  type Connection,
  type Hook,
  type HookContext,
  type UpstreamProvider,
  reportNamingJob,
  provenReadingOf,
} from "../provider.ts";
import { bytesOf, fromHex } from "../../security/encoding.ts";
import { verifyWithText } from "../../security/hmac.ts";
import { statedMetadata } from "../shared/stated-metadata.ts";
import { hasPromptParameters } from "../shared/prompt-parameters.ts";
import { isModelSegment, membersAt, submitReadingOf, type SubmitTarget } from "../submit.ts";
import { refusalByCode } from "../submit-refusal.ts";
import { amountsAt } from "../usage.ts";

const ROOT = "/api/v3/";
/** First segments of the paths below `/api/v3/` at which WaveSpeed has no models. */
const OTHER_ROUTES: readonly (string | undefined)[] = [
  "balance",
  "billings",
  "media",
  "model",
  "models",
  "predictions",
  "user",
  "webhook",
];
const MAX_MODEL_CHARS = 200;
const PARAMETERS = membersAt("", [
  "seed",
  "aspect_ratio",
  "size",
  "duration",
  "resolution",
  "generate_audio",
]);
/** Categories of failures by those error codes that name a cause (https://wavespeed.ai/docs/error-codes). */
const CATEGORIES: ReadonlyMap<string, FailureCategory> = new Map([
  ["1200", "moderation"],
  ["1400", "invalid_input"],
  ["1401", "invalid_input"],
  ["1402", "invalid_input"],
  ["5000", "provider"],
  ["5003", "provider"],
  ["5004", "timeout"],
]);

/**
 * Adapter for WaveSpeedAI. A hook contains WaveSpeed's description of the job (a "prediction"). Hooks are signed by the
 * rules of Standard Webhooks with three differences: the signature has the version `v3`, it is written in hex, and its
 * key is the text of the secret (https://wavespeed.ai/docs/verify-webhooks).
 */
export const wavespeed = {
  name: "wavespeed",
  variables: {
    key: "WAVESPEED_API_KEY",
    baseUrl: "WAVESPEED_BASE_URL",
    webhookSecret: "WAVESPEED_WEBHOOK_SECRET",
  },
  baseUrls: ["https://api.wavespeed.ai"],
  hooks: {
    assurance: "body-signed",
    parameter: "?webhook",
    idParameter: null,
    authenticate,
    read: (body) => reportNamingJob(observe(body)),
  },
  // https://wavespeed.ai/docs: predictions and their outputs are stored for 7 days.
  linkLife: { minMs: 7 * DAY_MS, maxMs: 7 * DAY_MS },
  usageNames: ["inference"],
  polls: {
    gapMs: 1_000,
    maxAgeMs: 7 * DAY_MS,
    endpoint: null,
    headers: bearer,
    path: ({ id }) => `/api/v3/predictions/${encodeURIComponent(id)}/result`,
    // https://wavespeed.ai/docs/error-codes shows the prediction without the envelope.
    read: ({ body }) => provenReadingOf(observe(at(body, "data") ?? body)),
  },
  submits: {
    target: targetOf,
    refusal: refusalByCode,
    readAnswer: (body) => submitReadingOf(observe(at(body, "data"))),
  },
  // https://wavespeed.ai/docs/delete-task: the call cancels or deletes a prediction, which may still generate for a while.
  cancels: {
    request: ({ id }) => ({
      method: "DELETE",
      path: `/api/v3/predictions/${encodeURIComponent(id)}`,
    }),
    read: ({ body }) => (textAt(body, "data", "status") === "deleted" ? "canceled" : "unknown"),
    onlyWhile: ["queued", "processing"],
    forgetsCanceled: true,
  },
  // https://wavespeed.ai/docs/get-result has the second path, the SDK the first
  // (https://github.com/WaveSpeedAI/wavespeed-python/blob/main/src/wavespeed/api/client.py). Errors state their HTTP status
  // in `code`.
  jobCalls: {
    read: ["/api/v3/predictions/{id}/result", "/api/v3/predictions/{id}"],
    links: ["/data/urls/get", "/urls/get"],
    // https://wavespeed.ai/docs/delete-task
    cancel: {
      method: "DELETE",
      paths: ["/api/v3/predictions/{id}"],
      answer: {
        done: (id) => ({
          status: 200,
          body: { code: 200, message: "success", data: { id, status: "deleted" } },
        }),
        refused: 400,
      },
    },
    // https://wavespeed.ai/docs/upload-files and https://wavespeed.ai/docs-common-api/media-upload
    uploads: ["/api/v3/upload", "/api/v3/media/upload/binary"],
    errorBody: (code, message) => ({ code, message, data: null }),
  },
} as const satisfies UpstreamProvider;

/**
 * Returns what a call to a path starts: a job of the model that the path names, e.g. `google/veo3`. Null when it starts
 * none.
 */
function targetOf(path: string): SubmitTarget | null {
  const name = path.startsWith(ROOT) ? path.slice(ROOT.length) : "";
  const segments = name.split("/");
  const isModel =
    name.length <= MAX_MODEL_CHARS &&
    segments.length > 1 &&
    segments.every((segment) => isModelSegment(segment)) &&
    !OTHER_ROUTES.includes(segments[0]);
  if (!isModel) return null;
  return {
    model: { name },
    endpoint: null,
    parameters: PARAMETERS,
    // With `enable_sync_mode` the answer is the finished prediction.
    answer: "job-or-result",
    // https://wavespeed.ai/docs/base64-output
    inline: { asked: { "/enable_base64_output": [true] } },
    // WaveSpeed resells Seedance, and does not document that it removes these parameters.
    hidden: { isHiddenIn: hasPromptParameters, pointers: [] },
  };
}

async function authenticate(
  { headers, readBody }: Hook,
  { webhookSecret }: Connection,
  { now }: HookContext,
): Promise<Authenticity> {
  if (webhookSecret === null) return "unsigned";
  const id = headers.get("webhook-id");
  const timestamp = headers.get("webhook-timestamp");
  if (!id || !isRecent(timestamp, now)) return "refused";
  const signatures = (headers.get("webhook-signature") ?? "")
    .split(" ")
    .map((entry) => fromHex(/^v3,(.*)$/.exec(entry)?.[1], 32));
  const content = async () => bytesOf(`${id}.${timestamp}.`, await readBody());
  const secret = webhookSecret.replace(/^whsec_/, "");
  return (await verifyWithText(secret, signatures, content)) ? "signed" : "refused";
}

function observe(body: unknown): Observation | null {
  const [jobId, state] = [idAt(body, "id"), textAt(body, "status")];
  if (jobId === null && state === null) return null;
  return {
    jobId,
    state,
    urls: outputLinks({ main: [at(body, "outputs")] }),
    metadata: statedMetadata(at(body, "input")),
    completedAt: null,
    error: errorOf(body),
    usage: amountsAt(body, "timings"),
  };
}

function errorOf(body: unknown): UpstreamError {
  const stated = numberAt(body, "code");
  // The code 0 stands for none.
  const code = stated === null || stated === 0 ? null : String(stated);
  const isUnsafe = listAt(body, "has_nsfw_contents").includes(true);
  const category = isUnsafe ? "moderation" : CATEGORIES.get(code ?? "");
  return { code, text: textAt(body, "error"), ...(category && { category }) };
}
