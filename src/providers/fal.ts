import { isRecent } from "../security/signature.ts";
import type { Job } from "../core/record/upstream.ts";
import type { UpstreamError } from "./failure.ts";
import { at, idAt, integerAt, leavesOf, listAt, numberAt, textAt, urlsOf } from "./json-fields.ts";
import type { Observation } from "./observation.ts";
import {
  type Answer,
  type Authenticity,
  type Connection,
  type Hook,
  type HookContext,
  type UpstreamProvider,
  type Reading,
  UNCLEAR,
} from "./provider.ts";
import { bytesOf, fromHex, sha256Hex } from "../security/encoding.ts";
import { verifyAny } from "../security/hmac.ts";

const JWKS_URL = "https://rest.fal.ai/.well-known/jwks.json";
const NAMESPACES: readonly (string | undefined)[] = ["workflows", "comfy"];
const MAX_OUTPUT_DEPTH = 4;
const MEDIA = ["video", "videos", "image", "images", "audio"] as const;

/**
 * fal. Hooks carry the result, signed with keys that all customers of fal share
 * (https://docs.fal.ai/model-apis/model-endpoints/webhooks). Queries take the status, then the
 * result (https://docs.fal.ai/model-apis/model-endpoints/queue).
 */
export const fal: UpstreamProvider = {
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
  polls: {
    gapMs: 1_000,
    maxAgeMs: null,
    endpoint: {
      isRequired: true,
      meaning: "what the job was submitted to, e.g. fal-ai/kling-video/v2/master/text-to-video",
      pattern: /^[^/]+\/[^/]+/,
    },
    headers: async (key) => ({ Authorization: `Key ${key}` }),
    path: (job) => `${pathOf(job)}/status`,
    read: readStatus,
    readsErrors: true,
  },
};

async function authenticate(
  { headers, body }: Hook,
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
  const digest = await sha256Hex(body);
  const message = bytesOf(`${requestId}\n${signer}\n${timestamp}\n${digest}`);
  // Keys rotate: those at hand may be older than the one it was signed with.
  for (const isFresh of [false, true]) {
    const keys = await context.publicKeys(jwksUrl ?? JWKS_URL, isFresh);
    if (keys === null) return "unavailable";
    // Any customer of fal can have it sign a hook, so without our own id there its body proves nothing.
    if (await verifyAny(keys, signature, message)) return userId === null ? "unsigned" : "signed";
  }
  return "refused";
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
    completedAt: seconds === null ? null : seconds * 1000,
    error: errorOf(payload) ?? statusError(textAt(body, "error")),
  };
}

function readStatus({ body }: Answer, job: Job): Reading {
  const state = textAt(body, "status");
  if (state === null) return UNCLEAR;
  if (state.toUpperCase() === "COMPLETED") {
    return { kind: "next", path: pathOf(job), read: readResult };
  }
  return { kind: "observed", observation: plain(state, idAt(body, "request_id")) };
}

/** The result itself, or what it failed with: a completed request may have failed. */
function readResult({ status, body }: Answer): Reading {
  if (status < 300 && body !== undefined) {
    return { kind: "observed", observation: { ...plain("OK", null), ...outputOf(body) } };
  }
  const error = status < 400 ? null : errorOf(body);
  if (error === null) return UNCLEAR;
  return { kind: "observed", observation: { ...plain("ERROR", null), error } };
}

function plain(state: string, jobId: string | null): Observation {
  return { jobId, state, urls: [], metadata: {}, completedAt: null, error: null };
}

function outputOf(payload: unknown): Pick<Observation, "urls" | "metadata"> {
  const files = MEDIA.flatMap((name) => listAt(payload, name));
  const known = urlsOf(files.map((file) => at(file, "url")));
  return {
    // Models name their outputs as they like.
    urls: known.length > 0 ? known : urlsOf(leavesOf(payload, MAX_OUTPUT_DEPTH)),
    metadata: { seed: integerAt(payload, "seed") },
  };
}

/**
 * Either a list of what is wrong with the input (https://docs.fal.ai/model-apis/errors) or one text
 * with the type of error (https://docs.fal.ai/documentation/model-apis/request-errors).
 */
function errorOf(body: unknown): UpstreamError | null {
  const errorType = textAt(body, "error_type");
  if (errorType !== null) return { code: errorType, text: textAt(body, "detail") };
  const detail = at(body, "detail");
  if (!Array.isArray(detail) || detail.length === 0) return null;
  const texts = detail.flatMap((item) => textAt(item, "msg") ?? []);
  const types = detail.flatMap((item) => textAt(item, "type") ?? []);
  const error = { code: types[0] ?? null, text: texts.join("; ") || null };
  if (types.includes("content_policy_violation")) return { ...error, category: "moderation" };
  const isTheirs = types.some((type) => /server_error|timeout|downstream/.test(type));
  return isTheirs ? error : { ...error, category: "invalid_input" };
}

/** Text such as `Invalid status code: 502`, where "invalid" says nothing about the input. */
function statusError(text: string | null): UpstreamError {
  const isTheirs = /\b5\d\d$/.test(text ?? "");
  return isTheirs ? { code: null, text, category: "provider" } : { code: null, text };
}

/** Requests live under the app, whatever endpoint of it took them. */
function pathOf({ id, endpoint }: Job): string {
  const segments = (endpoint ?? "").split("/").filter((segment) => segment !== "");
  const root = segments.slice(0, NAMESPACES.includes(segments[0]) ? 3 : 2);
  return ["", ...[...root, "requests", id].map(encodeURIComponent)].join("/");
}
