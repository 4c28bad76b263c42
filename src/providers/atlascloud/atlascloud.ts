import { bytesOf, fromBase64Url } from "../../security/encoding.ts";
import { isRecent } from "../../security/signature.ts";
import { at, firstAt, idAt, numberAt, textAt } from "../json-fields.ts";
import type { Observation } from "../observation.ts";
import { outputLinks } from "../output-search.ts";
import { refusalIn } from "../poll-answer.ts";
import type { Answer } from "../provider-answer.ts";
import {
  type Authenticity,
  bearer,
  type Connection,
  type Hook,
  type HookContext,
  type Reading,
  provenReadingOf,
  type UpstreamProvider,
} from "../provider.ts";
import { hasPromptParameters } from "../shared/prompt-parameters.ts";
import { verifyPublished } from "../shared/published-keys.ts";
import { membersAt, submitReadingOf, type SubmitTarget } from "../submit.ts";
import { refusalByCode } from "../submit-refusal.ts";
import { statedMetadata } from "../shared/stated-metadata.ts";
import { amountsAt } from "../usage.ts";

const JWKS_URL = "https://api.atlascloud.ai/api/v1/webhooks/jwks.json";
const ED25519_BYTES = 64;
/** Names of the member that contains the id of a job in Atlas Cloud's answers and hooks, the documented one first. */
const JOB_IDS = ["id", "request_id", "task_id"];
const TARGET: SubmitTarget = {
  model: { pointer: "/model" },
  endpoint: null,
  parameters: membersAt("", [
    "seed",
    "aspect_ratio",
    "ratio",
    "size",
    "duration",
    "resolution",
    "generate_audio",
  ]),
  answer: "job",
  // Atlas Cloud resells Seedance, and does not document that it removes these parameters.
  hidden: { isHiddenIn: hasPromptParameters, pointers: [] },
};
/** Calls that start jobs at Atlas Cloud, by path (https://www.atlascloud.ai/docs/en/webhooks). */
const TARGETS: ReadonlyMap<string, SubmitTarget> = new Map([
  ["/api/v1/model/generateVideo", TARGET],
  ["/api/v1/model/generateAudio", TARGET],
  [
    "/api/v1/model/generateImage",
    // With `enable_sync_mode` the answer is the finished prediction.
    {
      ...TARGET,
      answer: "job-or-result",
      inline: { asked: { "/enable_base64_output": [true] } },
    },
  ],
]);

/**
 * Adapter for Atlas Cloud. A hook contains Atlas Cloud's description of the job (a "prediction"). Hooks are signed with
 * keys that are the same for all customers (https://atlascloud.ai/docs/en/webhooks), so a valid signature does not show
 * whose job it is.
 */
export const atlascloud = {
  name: "atlascloud",
  variables: { key: "ATLASCLOUD_API_KEY", baseUrl: "ATLASCLOUD_BASE_URL" },
  baseUrls: ["https://api.atlascloud.ai"],
  jwksUrl: JWKS_URL,
  hooks: {
    assurance: "request-signed",
    parameter: "webhook_url",
    idParameter: null,
    authenticate,
    read: readHook,
  },
  linkLife: null,
  usageNames: ["cost"],
  polls: {
    gapMs: 1_000,
    maxAgeMs: null,
    endpoint: null,
    headers: bearer,
    path: ({ id }) => `/api/v1/model/prediction/${encodeURIComponent(id)}`,
    read: readAnswer,
  },
  submits: {
    target: (path) => TARGETS.get(path) ?? null,
    // https://www.atlascloud.ai/docs/errors: 402 for the balance, 403 for an account or a key that is not permitted.
    refusal: (status, body) => {
      const refusal = refusalByCode(status, body);
      return refusal === "final" && [status, numberAt(body, "code")].includes(403)
        ? "key"
        : refusal;
    },
    readAnswer: (body) => submitReadingOf(predictionIn(body)),
  },
  // The vendor's own client has this path, and reads such errors:
  // https://github.com/AtlasCloudAI/mcp-server/blob/main/src/services/api-client.ts
  jobCalls: {
    read: ["/api/v1/model/prediction/{id}"],
    links: ["/urls/result", "/data/urls/result"],
    // https://www.atlascloud.ai/docs/upload-files
    uploads: ["/api/v1/model/uploadMedia"],
    errorBody: (code, message) => ({ code, message, data: null }),
  },
} as const satisfies UpstreamProvider;

async function authenticate(
  { headers, readBody }: Hook,
  { jwksUrl }: Connection,
  context: HookContext,
): Promise<Authenticity> {
  const timestamp = headers.get("X-AtlasCloud-Webhook-Timestamp");
  // The header with the shorter name now has an HMAC in hex, which is refused here. Atlas Cloud will move the
  // Ed25519 signature to that header.
  const signed =
    headers.get("X-AtlasCloud-Webhook-Signature-Ed25519") ??
    headers.get("X-AtlasCloud-Webhook-Signature");
  const signature = fromBase64Url(signed, ED25519_BYTES);
  if (signature === null || !isRecent(timestamp, context.now)) return "refused";
  const message = bytesOf(`${timestamp}.`, await readBody());
  const isValid = await verifyPublished(jwksUrl ?? JWKS_URL, signature, message, context);
  if (isValid === null) return "unavailable";
  return isValid ? "unsigned" : "refused";
}

function readHook(body: unknown): Observation | null {
  const jobId = idAt(body, "session_id");
  if (jobId === null) return null;
  const prediction = at(body, "payload");
  const error = errorOf(body) ?? errorOf(prediction);
  // The state of the hook itself is OK even for a prediction that timed out or was cancelled.
  const state = textAt(prediction, "status") ?? textAt(body, "status");
  return { ...observe(prediction), jobId, state, error };
}

function readAnswer({ body }: Answer): Reading {
  return refusalIn(body) ?? provenReadingOf(predictionIn(body));
}

/**
 * Returns the report on a job that an answer of Atlas Cloud contains. The description of the job (the "prediction") is
 * the member `data` of the body, or the body itself. Null when the answer contains none.
 */
function predictionIn(body: unknown): Observation | null {
  const prediction = at(body, "data") ?? body;
  const jobId = firstAt(prediction, JOB_IDS, idAt);
  const observation = observe(prediction);
  return jobId === null && observation.state === null ? null : { ...observation, jobId };
}

function observe(prediction: unknown): Observation {
  return {
    jobId: null,
    state: textAt(prediction, "status"),
    urls: linksIn(prediction),
    metadata: statedMetadata(at(prediction, "output"), prediction),
    completedAt: null,
    error: errorOf(prediction),
    usage: amountsAt(prediction, "usage"),
  };
}

/**
 * Returns the links to the outputs in Atlas Cloud's description of a job: those of the documented list, and those of
 * members that only some models have.
 */
function linksIn(prediction: unknown): readonly string[] {
  return outputLinks({
    main: [at(prediction, "outputs"), at(prediction, "output"), at(prediction, "video_url")],
    part: prediction,
    // This object has the calls about the prediction.
    isLeftOut: (name, owner) =>
      owner === prediction && name === "urls" && !Array.isArray(at(owner, name)),
  });
}

function errorOf(value: unknown): Observation["error"] {
  const text = textAt(value, "error") ?? textAt(value, "error", "message");
  return text === null ? null : { code: null, text };
}
