import { HOUR_MS } from "../core/time.ts";
import type { FailureCategory } from "../core/record/upstream.ts";
import type { UpstreamError } from "./failure.ts";
import { at, idAt, integerAt, listAt, textAt, urlsOf } from "./json-fields.ts";
import type { Observation } from "./observation.ts";
import { bearer, noSignature, type UpstreamProvider, readingOf } from "./provider.ts";

const DREAM_MACHINE = "https://api.lumalabs.ai/dream-machine/v1";
const AGENTS = "https://agents.lumalabs.ai/v1";

/**
 * Categories of failures by the failure code of Luma Agents. A code that is not listed means a failure of Luma
 * itself.
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
 * Adapter for both APIs of Luma, whose answers have the same format. Dream Machine sends unsigned hooks in the
 * format of the query API (https://docs.lumalabs.ai/changelog/callbacks-and-credits-balance). Luma Agents sends no
 * hooks (https://docs.lumalabs.ai).
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
    read: observe,
  },
  // https://docs.lumalabs.ai: links of Luma Agents work for an hour. Dream Machine documents no time.
  linkLife: { minMs: HOUR_MS, maxMs: HOUR_MS },
  polls: {
    gapMs: 1_000,
    maxAgeMs: null,
    endpoint: null,
    headers: bearer,
    path: ({ id }) => `/generations/${encodeURIComponent(id)}`,
    read: ({ body }) => readingOf(observe(body)),
  },
} as const satisfies UpstreamProvider;

function observe(body: unknown): Observation | null {
  const jobId = idAt(body, "id");
  if (jobId === null) return null;
  // The image of a video generation is only its thumbnail.
  const asset = at(body, "generation_type") === "image" ? "image" : "video";
  return {
    jobId,
    state: textAt(body, "state"),
    urls: urlsOf([
      ...listAt(body, "assets", asset),
      ...listAt(body, "output").map((output) => at(output, "url")),
    ]),
    metadata: {
      ratio: textAt(body, "request", "aspect_ratio"),
      duration: integerAt(body, "request", "duration"),
      resolution: textAt(body, "request", "resolution"),
    },
    completedAt: null,
    error: errorOf(textAt(body, "failure_code"), textAt(body, "failure_reason")),
  };
}

function errorOf(code: string | null, text: string | null): UpstreamError | null {
  if (code === null) return text === null ? null : { code, text };
  return { code, text, category: CATEGORIES.get(code) ?? "provider" };
}
