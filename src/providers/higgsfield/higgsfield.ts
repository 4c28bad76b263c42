import type { RefusalClass } from "../../core/record/refusal.ts";
import { DAY_MS, HOUR_MS } from "../../core/time.ts";
import { isHmacSecret } from "../../security/hmac.ts";
import { at, idAt, textAt } from "../json-fields.ts";
import type { Observation } from "../observation.ts";
import { outputLinks } from "../output-search.ts";
import { hasPromptParameters } from "../shared/prompt-parameters.ts";
import { provenReadingOf, reportNamingJob, type UpstreamProvider } from "../provider.ts";
import { standardWebhook } from "../shared/standard-webhook.ts";
import { isModelSegment, membersAt, submitReadingOf, type SubmitTarget } from "../submit.ts";
import { refusalOfStatus } from "../submit-refusal.ts";

/**
 * First segments of paths that name no model, e.g. those of estimates and of uploads, and `v1` of the older API, whose
 * answers are sets of jobs.
 */
const OTHER_ROUTES: readonly (string | undefined)[] = ["estimate", "files", "models", "v1"];
const MAX_MODEL_CHARS = 200;
const PARAMETERS = membersAt("", [
  "seed",
  "aspect_ratio",
  "duration",
  "resolution",
  "generate_audio",
]);

/**
 * Adapter for Higgsfield (https://docs.higgsfield.ai/docs/how-to/introduction). Hooks have the same format as answers
 * to polls. They are signed by the rules of Standard Webhooks as soon as somebody has looked up the webhook secret in
 * the account (https://docs.higgsfield.ai/docs/enterprise/webhook-security).
 */
export const higgsfield = {
  name: "higgsfield",
  variables: {
    key: "HIGGSFIELD_API_KEY",
    baseUrl: "HIGGSFIELD_BASE_URL",
    webhookSecret: "HIGGSFIELD_WEBHOOK_SECRET",
  },
  baseUrls: ["https://api.higgsfield.ai", "https://platform.higgsfield.ai"],
  isWebhookSecret: isHmacSecret,
  hooks: {
    assurance: "body-signed",
    parameter: "?hf_webhook",
    idParameter: null,
    authenticate: standardWebhook,
    read: (body) => reportNamingJob(observe(body)),
  },
  // https://docs.higgsfield.ai/docs/enterprise/data-retention: seven days, or less if the account or the call says so.
  linkLife: { minMs: HOUR_MS, maxMs: 7 * DAY_MS },
  polls: {
    gapMs: 1_000,
    maxAgeMs: null,
    endpoint: null,
    keyHeader: { name: "Authorization", schemes: ["Key"] },
    headers: async (key) => ({ Authorization: `Key ${key}` }),
    path: ({ id }) => `/requests/${encodeURIComponent(id)}/status`,
    read: ({ body }) => provenReadingOf(observe(body)),
  },
  submits: {
    target: targetOf,
    refusal: refusalOf,
    readAnswer: (body) => submitReadingOf(observe(body)),
  },
  // https://docs.higgsfield.ai/docs/api-reference/requests/cancel-a-queued-request: 202 without a body when the request
  // was canceled, 400 when it has started or ended.
  cancels: {
    request: ({ id }) => ({ method: "POST", path: `/requests/${encodeURIComponent(id)}/cancel` }),
    read: ({ status }) => {
      if (status === 202) return "canceled";
      return status === 400 ? "refused" : "unknown";
    },
  },
  // https://docs.higgsfield.ai/docs/api-reference/requests/get-request-status; errors have their text in `detail`.
  jobCalls: {
    read: ["/requests/{id}/status"],
    // https://docs.higgsfield.ai/docs/api-reference/requests/cancel-a-queued-request
    cancel: {
      method: "POST",
      paths: ["/requests/{id}/cancel"],
      answer: { done: () => ({ status: 202, body: null }), refused: 400 },
    },
    // The SDKs of https://github.com/higgsfield-ai ask here for the address to which they upload.
    uploads: ["/files/generate-upload-url"],
    links: ["/status_url", "/cancel_url"],
    errorBody: (_status, detail) => ({ detail }),
  },
} as const satisfies UpstreamProvider;

/**
 * Returns the class of the refusal with which Higgsfield answers a submission. When the queue of the account is full,
 * the code is `account_queue_full` (https://docs.higgsfield.ai/docs/enterprise/capacity); an older form of this limit
 * has the HTTP status 400 and the text "Maximum number of concurrent requests (4) has been reached"
 * (https://docs.higgsfield.ai/docs/concepts/rate-limits). 403 means that the account has not enough credits
 * (`NotEnoughCreditsError` of the npm package `@higgsfield/client`).
 */
function refusalOf(status: number, body: unknown): RefusalClass | null {
  if (status === 429 && textAt(body, "code") === "account_queue_full") return "busy";
  const detail = textAt(body, "detail") ?? "";
  if (status === 400 && /^maximum number of concurrent requests\b/i.test(detail)) return "busy";
  return status === 403 ? "funds" : refusalOfStatus(status);
}

/**
 * Returns what a call to a path starts: a job of the model that the path names, e.g. `higgsfield-ai/soul/standard`.
 * Null for the path of an existing job (`/requests/{id}/status`, with or without segments before it).
 */
function targetOf(path: string): SubmitTarget | null {
  const [root, ...segments] = path.split("/");
  const name = segments.join("/");
  const isModel =
    root === "" &&
    name.length <= MAX_MODEL_CHARS &&
    segments.length > 1 &&
    segments.every((segment) => isModelSegment(segment) && segment.toLowerCase() !== "requests") &&
    !OTHER_ROUTES.includes(segments[0]?.toLowerCase());
  if (!isModel) return null;
  return {
    model: { name },
    endpoint: null,
    parameters: PARAMETERS,
    answer: "job",
    // Higgsfield resells Seedance, and does not document that it removes these parameters.
    hidden: { isHiddenIn: hasPromptParameters, pointers: [] },
  };
}

function observe(body: unknown): Observation | null {
  const [jobId, state] = [idAt(body, "request_id"), textAt(body, "status")];
  if (jobId === null && state === null) return null;
  const text = textAt(body, "error");
  return {
    jobId,
    state,
    // The outputs stand beside the members of the job, each kind of file in a member of its own.
    urls: outputLinks({ main: [at(body, "video"), at(body, "images")], part: body }),
    metadata: {},
    completedAt: null,
    error: text === null ? null : { code: null, text },
  };
}
