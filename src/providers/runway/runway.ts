import type { RefusalClass } from "../../core/record/refusal.ts";
import { DAY_MS } from "../../core/time.ts";
import type { FailureCategory } from "../../core/record/upstream.ts";
import { isSuccess } from "../provider-answer.ts";
import type { UpstreamError } from "../failure.ts";
import { at, idAt, numberAt, textAt } from "../json-fields.ts";
import type { Observation } from "../observation.ts";
import { outputLinks } from "../output-search.ts";
import { bearer, type UpstreamProvider, provenReadingOf } from "../provider.ts";
import { jobReadingOf, membersAt, type SubmitTarget } from "../submit.ts";
import { refusalOfStatus } from "../submit-refusal.ts";
import { amountsAt } from "../usage.ts";

const MODEL_TARGET: SubmitTarget = {
  model: { pointer: "/model" },
  endpoint: null,
  parameters: membersAt("", ["seed", "ratio", "duration", "resolution", "audio"]),
  answer: "job",
};
/**
 * Description of calls that name a router, a setting saved in the Runway account that chooses the model. The id of the
 * router is stored as the model.
 */
const ROUTED_TARGET: SubmitTarget = {
  model: { pointer: "/configId" },
  endpoint: null,
  parameters: {
    ...membersAt("/input", ["seed", "duration", "resolution", "audio"]),
    aspect_ratio: "/input/aspectRatio",
  },
  answer: "job",
};
/**
 * Paths of the calls with which Runway starts tasks, as its clients list them (`@runwayml/sdk` of npm, and `runwayml`
 * of PyPI, which has more). Those below `/v1/recipes/` are left out.
 */
const MODEL_PATHS: readonly string[] = [
  "text_to_video",
  "image_to_video",
  "video_to_video",
  "video_upscale",
  "video_to_hdr",
  "video_to_audio",
  "character_performance",
  "avatar_videos",
  "text_to_image",
  "image_upscale",
  "text_to_speech",
  "speech_to_speech",
  "sound_effect",
  "voice_dubbing",
  "voice_isolation",
];
const ROUTED_PATHS: readonly string[] = ["generate/video", "generate/image", "generate/audio"];
const RECIPES: readonly string[] = [
  "ad_localization",
  "marketing_stock_image",
  "multi_shot_video",
  "product_ad",
  "product_campaign_image",
  "product_swap",
  "product_ugc",
];
const TARGETS: ReadonlyMap<string, SubmitTarget> = new Map([
  ...MODEL_PATHS.map((path) => [`/v1/${path}`, MODEL_TARGET] as const),
  ...ROUTED_PATHS.map((path) => [`/v1/${path}`, ROUTED_TARGET] as const),
  ...RECIPES.map((recipe) => [`/v1/recipes/${recipe}`, recipeTarget(recipe)] as const),
]);

/**
 * Adapter for Runway, which sends no hooks and allows one poll per task every 5 s
 * (https://docs.dev.runwayml.com).
 */
export const runway = {
  name: "runway",
  variables: { key: "RUNWAY_API_KEY", baseUrl: "RUNWAY_BASE_URL" },
  baseUrls: ["https://api.dev.runwayml.com"],
  hooks: null,
  // https://docs.dev.runwayml.com/api: links live for 24 to 48 hours.
  linkLife: { minMs: DAY_MS, maxMs: 2 * DAY_MS },
  usageNames: ["credits"],
  polls: {
    gapMs: 5_000,
    maxAgeMs: null,
    endpoint: null,
    headers: async (key) => ({ ...(await bearer(key)), "X-Runway-Version": "2024-11-06" }),
    path: ({ id }) => `/v1/tasks/${encodeURIComponent(id)}`,
    read: ({ body }) => provenReadingOf(observe(body)),
  },
  submits: {
    target: (path) => TARGETS.get(path) ?? null,
    refusal: refusalOf,
    readAnswer: (body) => jobReadingOf(idAt(body, "id"), null),
  },
  // https://docs.dev.runwayml.com/api#tag/Task-management: the call cancels a task that is pending, throttled or running,
  // and deletes any other with its output. A task that was aborted or deleted cannot be fetched again.
  cancels: {
    request: ({ id }) => ({ method: "DELETE", path: `/v1/tasks/${encodeURIComponent(id)}` }),
    read: (answer) => (isSuccess(answer) ? "canceled" : "unknown"),
    onlyWhile: ["queued", "processing"],
    forgetsCanceled: true,
  },
  // https://docs.dev.runwayml.com/api: a task of each kind; errors have their text in `error`.
  jobCalls: {
    read: ["/v1/tasks/{id}"],
    // `@runwayml/sdk` 4.20.1: `tasks.delete`, which has no result, and `uploads.createEphemeral`, which asks for the address to
    // which it uploads.
    cancel: {
      method: "DELETE",
      paths: ["/v1/tasks/{id}"],
      answer: { done: () => ({ status: 204, body: null }), refused: 400 },
    },
    uploads: ["/v1/uploads"],
    errorBody: (_status, error) => ({ error }),
  },
} as const satisfies UpstreamProvider;

/**
 * Returns the class of the refusal with which Runway answers a submission. 502 and 503 mean that Runway has too much
 * load and has not accepted the call (https://docs.dev.runwayml.com/errors/errors). 504 is documented as too much load
 * too, but may come after the start of a job, and so is no refusal. An account without credits gets 400 with "You do
 * not have enough credits to run this task.".
 */
function refusalOf(status: number, body: unknown): RefusalClass | null {
  if (status === 502 || status === 503) return "rate";
  const isUnpaid =
    status === 400 && /\bnot have enough credits\b/i.test(textAt(body, "error") ?? "");
  return isUnpaid ? "funds" : refusalOfStatus(status);
}

/**
 * Returns the description of the call of a recipe (a ready-made workflow of Runway). A recipe chooses its models
 * itself; its name is stored as the model.
 */
function recipeTarget(recipe: string): SubmitTarget {
  return { ...MODEL_TARGET, model: { name: `recipes/${recipe}` } };
}

function observe(body: unknown): Observation | null {
  const [jobId, state] = [idAt(body, "id"), textAt(body, "status")];
  if (jobId === null && state === null) return null;
  const progress = numberAt(body, "progress");
  return {
    jobId,
    state,
    urls: outputLinks({ main: outputsIn(at(body, "output")) }),
    metadata: {},
    completedAt: null,
    error: errorOf(textAt(body, "failureCode"), textAt(body, "failure")),
    // A running task states a number from 0 to 1 (https://docs.dev.runwayml.com/api).
    progress: progress === null ? null : progress * 100,
    usage: amountsAt(body, "cost"),
  };
}

/**
 * Returns the outputs of a task. Those of a workflow are listed under the ids of the nodes that made them; these ids
 * say nothing about the outputs and are dropped.
 */
function outputsIn(output: unknown): readonly unknown[] {
  const isByNode = typeof output === "object" && output !== null && !Array.isArray(output);
  return isByNode ? Object.values(output) : [output];
}

function errorOf(code: string | null, text: string | null): UpstreamError | null {
  if (code === null && text === null) return null;
  const category = categoryOf(code ?? "");
  return category === null ? { code, text } : { code, text, category };
}

function categoryOf(code: string): FailureCategory | null {
  if (/^SAFETY\b|^INPUT_PREPROCESSING\.SAFETY\b/.test(code)) return "moderation";
  if (code === "INPUT_PREPROCESSING.INTERNAL") return "provider";
  return code.startsWith("INPUT") || code === "ASSET.INVALID" ? "invalid_input" : null;
}
