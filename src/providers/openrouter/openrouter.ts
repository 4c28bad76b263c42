import type { RefusalClass } from "../../core/record/refusal.ts";
import { isRecent } from "../../security/signature.ts";
import { type GatewayJob, gatewayOutputs, needsKey } from "../shared/gateway-links.ts";
import { at, idAt, isoMsAt, jsonAt, listAt, textAt, urlsOf } from "../json-fields.ts";
import type { Observation } from "../observation.ts";
import { phaseOf } from "../phase.ts";
import {
  type Authenticity,
  bearer,
  type Connection,
  type Hook,
  type HookContext,
  type UpstreamProvider,
  readingOf,
} from "../provider.ts";
import { hasPromptParameters } from "../shared/prompt-parameters.ts";
import { membersAt, submitReadingOf, type SubmitTarget } from "../submit.ts";
import { refusalOfStatus } from "../submit-refusal.ts";
import { amountsAt } from "../usage.ts";
import { bytesOf, fromHex } from "../../security/encoding.ts";
import { verifyWithText } from "../../security/hmac.ts";

const VIDEOS = "/api/v1/videos";
const ADDRESS = "https://openrouter.ai";
/**
 * Base path of OpenRouter's API. Below it, each job has a path with its output (`/v1/videos/{id}/content`, called its
 * content path).
 */
const API = "/api";
/**
 * Job and base URL for the links in a hook. A hook does not say from which base URL it comes, so paths in it are taken
 * as paths of OpenRouter itself.
 */
const OF_HOOK: GatewayJob = { id: null, baseUrl: `${ADDRESS}${API}` };
const TARGET: SubmitTarget = {
  model: { pointer: "/model" },
  endpoint: null,
  parameters: membersAt("", [
    "seed",
    "aspect_ratio",
    "size",
    "duration",
    "resolution",
    "generate_audio",
  ]),
  answer: "job",
  // `provider.options` is passed on to the upstream, among them Seedance, which also reads parameters in prompts
  // (https://openrouter.ai/docs/api_reference/videos).
  hidden: { isHiddenIn: hasPromptParameters, pointers: ["/provider"] },
};

/**
 * Adapter for OpenRouter. A hook is an event in JSON that contains the description of the job. Hooks are signed if the
 * workspace at OpenRouter has a secret
 * (https://openrouter.ai/docs/cookbook/video-generation/video-generation-webhooks).
 */
export const openrouter = {
  name: "openrouter",
  variables: {
    key: "OPENROUTER_API_KEY",
    baseUrl: "OPENROUTER_BASE_URL",
    webhookSecret: "OPENROUTER_WEBHOOK_SECRET",
  },
  baseUrls: [ADDRESS],
  hooks: {
    assurance: "body-signed",
    parameter: "callback_url",
    idParameter: null,
    authenticate,
    read: readHook,
  },
  // Each job states in `expires_at` when its signed links expire.
  linkLife: "stated",
  needsKey,
  usageNames: ["cost"],
  polls: {
    gapMs: 1_000,
    maxAgeMs: null,
    endpoint: null,
    headers: bearer,
    path: ({ id }) => `${VIDEOS}/${encodeURIComponent(id)}`,
    read: ({ body }, { id }, baseUrl) =>
      readingOf(nullIfEmpty(observe(body, { id, baseUrl: `${baseUrl}${API}` }))),
  },
  submits: {
    target: (path) => (path === VIDEOS ? TARGET : null),
    refusal: refusalOf,
    readAnswer: (body, _path, baseUrl) =>
      submitReadingOf(observe(body, { id: idAt(body, "id"), baseUrl: `${baseUrl}${API}` })),
  },
  // https://openrouter.ai/docs/api/api-reference/video-generation/get-videos
  jobCalls: {
    read: [`${VIDEOS}/{id}`],
    links: ["/polling_url"],
    // https://openrouter.ai/docs/api/api-reference/video-generation/get-videos-content: `index` counts from 0.
    content: { path: `${VIDEOS}/{id}/content`, index: "index" },
    errorBody: (code, message) => ({ error: { code, message } }),
  },
} as const satisfies UpstreamProvider;

/**
 * Returns the class of the refusal with which OpenRouter answers a submission
 * (https://openrouter.ai/docs/api/reference/errors-and-debugging). 402 can mean that calls in flight have reserved the
 * rest of the credits. 403 can mean that a limit of the key is reached. 503 means that no provider of the model is
 * available; `Retry-After` says when to try again. 502 means that a provider has failed.
 */
function refusalOf(status: number, body: unknown): RefusalClass | null {
  if (status === 503) return "rate";
  const source = textAt(body, "error", "metadata", "limit_source");
  if (status === 402 && source === "openrouter_in_flight_budget") return "busy";
  const message = textAt(body, "error", "message") ?? "";
  if (status === 403 && /^key limit exceeded\b/i.test(message)) return "funds";
  return refusalOfStatus(status);
}

async function authenticate(
  { headers, readBody }: Hook,
  { webhookSecret }: Connection,
  { now }: HookContext,
): Promise<Authenticity> {
  if (webhookSecret === null) return "unsigned";
  const parts = (headers.get("X-OpenRouter-Signature") ?? "").split(",");
  const entries = parts.map((part) => part.trim());
  const valuesOf = (name: string) =>
    entries.flatMap((entry) => (entry.startsWith(`${name}=`) ? entry.slice(name.length + 1) : []));
  const [timestamp = null] = valuesOf("t");
  if (!isRecent(timestamp, now)) return "refused";
  const signatures = valuesOf("v1").map((hex) => fromHex(hex, 32));
  const content = async () => bytesOf(`${timestamp},`, await readBody());
  if (!(await verifyWithText(webhookSecret, signatures, content))) return "refused";
  return hasBetterLinks(jsonAt(new TextDecoder().decode(await readBody()))) ? "unsigned" : "signed";
}

/**
 * Tells whether a poll finds better links than this hook, i.e. links that anyone can open. This is so when the hook of
 * a completed job has no `urls`: its `unsigned_urls` can be opened only with the account's API key.
 */
function hasBetterLinks(body: unknown): boolean {
  const isCompleted = phaseOf(readHook(body)?.state ?? null) === "completed";
  return isCompleted && urlsOf(listAt(body, "data", "urls")).length === 0;
}

/** Returns the report on a job that a hook contains. A job that failed early has no id yet. */
function readHook(body: unknown): Observation | null {
  const event = /^video\.generation\.(.+)$/.exec(textAt(body, "type") ?? "")?.[1] ?? null;
  const observation = observe(at(body, "data"), OF_HOOK);
  const state = observation.state ?? event;
  return nullIfEmpty({ ...observation, state, completedAt: isoMsAt(body, "created_at") });
}

/** Returns a report on a job unchanged if it contains the id or the state of the job, otherwise null. */
function nullIfEmpty(observation: Observation): Observation | null {
  return observation.jobId === null && observation.state === null ? null : observation;
}

/**
 * Returns the report that OpenRouter's description of a job contains. A link to the job's content path
 * (`/v1/videos/{id}/content`) can be opened only with the account's API key, and is used only when there is no signed
 * link. For a job without any link, the poll asks at the content path whether there is a file.
 */
function observe(job: unknown, asked: GatewayJob): Observation {
  const main = [at(job, "urls"), at(job, "unsigned_urls")];
  const { urls, contentUrl } = gatewayOutputs({ main, part: job, isLeftOut: isFrame }, asked);
  const text = textAt(job, "error") ?? textAt(job, "error", "message");
  return {
    jobId: idAt(job, "id"),
    state: textAt(job, "status"),
    urls,
    contentUrl: urls.length === 0 ? contentUrl : null,
    metadata: {},
    completedAt: null,
    error: text === null ? null : { code: textAt(job, "error", "code"), text },
    usage: amountsAt(job, "usage"),
  };
}

/**
 * Tells whether the name of a member is that of the images which the submission has given as the first or last frame of
 * the video.
 */
function isFrame(name: string): boolean {
  return name === "frame_images";
}
