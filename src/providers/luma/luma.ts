import type { RefusalClass } from "../../core/record/refusal.ts";
import { HOUR_MS } from "../../core/time.ts";
import type { FailureCategory } from "../../core/record/upstream.ts";
import type { UpstreamError } from "../failure.ts";
import { at, idAt, integerAt, listAt, textAt } from "../json-fields.ts";
import type { Observation } from "../observation.ts";
import { isNoOutputByKind, outputLinks, type OutputPlaces } from "../output-search.ts";
import {
  bearer,
  noSignature,
  provenReadingOf,
  reportNamingJob,
  type UpstreamProvider,
} from "../provider.ts";
import { membersAt, submitReadingOf, type SubmitTarget } from "../submit.ts";
import { refusalOfStatus } from "../submit-refusal.ts";

const DREAM_MACHINE = "https://api.lumalabs.ai/dream-machine/v1";
const AGENTS = "https://agents.lumalabs.ai/v1";

const VIDEO_TARGET: SubmitTarget = {
  model: { pointer: "/model" },
  endpoint: null,
  parameters: membersAt("", ["aspect_ratio", "duration", "resolution"]),
  answer: "job",
};
/** The call with which Luma makes images. With the parameter `sync`, the answer is the finished image. */
const IMAGE_TARGET: SubmitTarget = { ...VIDEO_TARGET, answer: "job-or-result" };
/**
 * Calls with which Luma starts jobs, by path. The first path is that of the only call of Luma Agents, and also that of
 * a call for videos of Dream Machine (https://docs.lumalabs.ai; the npm package `lumaai`).
 */
const TARGETS: ReadonlyMap<string, SubmitTarget> = new Map([
  [
    "/generations",
    {
      ...VIDEO_TARGET,
      model: { pointer: "/model", otherwise: "luma" },
      parameters: {
        ...membersAt("", ["aspect_ratio"]),
        ...membersAt("/video", ["duration", "resolution"]),
      },
    },
  ],
  ["/generations/video", VIDEO_TARGET],
  ["/generations/video/modify", VIDEO_TARGET],
  ["/generations/video/reframe", VIDEO_TARGET],
  ["/generations/image", IMAGE_TARGET],
  ["/generations/image/reframe", IMAGE_TARGET],
]);

/**
 * Categories of failures by the failure code of Luma Agents (https://docs.agents.lumalabs.ai/guides/error-handling). A
 * code that is not listed means a failure of Luma itself.
 */
const CATEGORIES: ReadonlyMap<string, FailureCategory> = new Map([
  ["content_moderated", "moderation"],
  ["image_too_large", "invalid_input"],
  ["unsupported_format", "invalid_input"],
  ["corrupt_input", "invalid_input"],
  ["invalid_request", "invalid_input"],
  ["rate_limited", "rate_limited"],
]);

/**
 * Adapter for both APIs of Luma, whose answers have the same format. Dream Machine sends unsigned hooks in the same
 * format as answers to polls (https://docs.lumalabs.ai/changelog/callbacks-and-credits-balance). Luma Agents sends no
 * hooks (https://docs.agents.lumalabs.ai).
 */
export const luma = {
  name: "luma",
  variables: { key: "LUMA_API_KEY", baseUrl: "LUMA_BASE_URL" },
  baseUrls: [DREAM_MACHINE, AGENTS],
  hooklessBaseUrls: [AGENTS],
  hooks: {
    assurance: "capability-url",
    parameter: "callback_url",
    idParameter: null,
    authenticate: noSignature,
    read: (body) => reportNamingJob(observe(body)),
  },
  // https://docs.agents.lumalabs.ai: links of Luma Agents work for an hour. Dream Machine documents no time.
  linkLife: { minMs: HOUR_MS, maxMs: HOUR_MS },
  polls: {
    gapMs: 1_000,
    maxAgeMs: null,
    endpoint: null,
    headers: bearer,
    path: ({ id }) => `/generations/${encodeURIComponent(id)}`,
    read: ({ body }) => provenReadingOf(observe(body)),
  },
  submits: {
    target: (path) => TARGETS.get(path) ?? null,
    refusal: refusalOf,
    readAnswer: (body) => submitReadingOf(observe(body)),
  },
  // `lumaai` 1.19.1 reads a generation of each kind at this path, and so does Luma Agents. Errors have their text in
  // `detail` (https://docs.agents.lumalabs.ai/guides/error-handling).
  jobCalls: {
    read: ["/generations/{id}"],
    // `lumaai` 1.19.1: `generations.delete`, which has no result.
    cancel: {
      method: "DELETE",
      paths: ["/generations/{id}"],
      answer: { done: () => ({ status: 204, body: null }), refused: 400 },
    },
    errorBody: (_status, detail) => ({ detail }),
  },
} as const satisfies UpstreamProvider;

/**
 * Returns the class of the refusal with which Luma answers a submission. Luma's answer does not show which of its two
 * limits is reached, that of the rate or that of jobs in flight. An account without credits gets 402 or, in the older
 * API, 400 with "Insufficient credits" (https://docs.lumalabs.ai/docs/api).
 */
function refusalOf(status: number, body: unknown): RefusalClass | null {
  const isUnpaid = status === 400 && /^insufficient credits\b/i.test(textAt(body, "detail") ?? "");
  return isUnpaid ? "funds" : refusalOfStatus(status);
}

function observe(body: unknown): Observation | null {
  const [jobId, state] = [idAt(body, "id"), textAt(body, "state")];
  if (jobId === null && state === null) return null;
  return {
    jobId,
    state,
    urls: outputLinks(outputsOf(body)),
    metadata: {
      ratio: textAt(body, "request", "aspect_ratio"),
      duration: integerAt(body, "request", "duration"),
      resolution: textAt(body, "request", "resolution"),
    },
    completedAt: null,
    error: errorOf(textAt(body, "failure_code"), textAt(body, "failure_reason")),
  };
}

/**
 * Returns the parts of Luma's description of a job that contain links: the member `assets` for Dream Machine, `output`
 * for Luma Agents.
 */
function outputsOf(body: unknown): OutputPlaces {
  const [assets, output] = [at(body, "assets"), at(body, "output")];
  const type = textAt(body, "generation_type");
  const isImage = type === null ? textAt(assets, "video") === null : type === "image";
  const files = listAt(output).filter((file) => !isNoOutputByKind(file));
  const main = [at(assets, isImage ? "image" : "video"), ...files.map((file) => at(file, "url"))];
  return {
    main,
    part: [assets, output],
    // The image of a video generation is only its thumbnail, and the other video shows how far the generation is.
    isLeftOut: (name, owner) =>
      owner === assets && (name === "progress_video" || (name === "image" && !isImage)),
  };
}

function errorOf(code: string | null, text: string | null): UpstreamError | null {
  if (code === null) return text === null ? null : { code, text };
  return { code, text, category: CATEGORIES.get(code) ?? "provider" };
}
