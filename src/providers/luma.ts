import { at, idAt, integerAt, listAt, textAt, urlsOf } from "./json-fields.ts";
import type { Observation } from "./observation.ts";
import { bearer, noSignature, type UpstreamProvider, readingOf } from "./provider.ts";

/**
 * Adapter for Luma Dream Machine. Hooks are unsigned and have the format of the query API; Luma tries each
 * hook four times within a second (https://docs.lumalabs.ai/changelog/callbacks-and-credits-balance).
 */
export const luma: UpstreamProvider = {
  name: "luma",
  variables: { key: "LUMA_API_KEY", baseUrl: "LUMA_BASE_URL" },
  baseUrls: ["https://api.lumalabs.ai/dream-machine/v1"],
  hooks: {
    assurance: "capability-url",
    parameter: "callback_url",
    idParameter: null,
    authenticate: noSignature,
    read: observe,
  },
  polls: {
    gapMs: 1_000,
    maxAgeMs: null,
    endpoint: null,
    headers: bearer,
    path: ({ id }) => `/generations/${encodeURIComponent(id)}`,
    read: ({ body }) => readingOf(observe(body)),
  },
};

function observe(body: unknown): Observation | null {
  const jobId = idAt(body, "id");
  if (jobId === null) return null;
  // The image of a video generation is only its thumbnail.
  const asset = at(body, "generation_type") === "image" ? "image" : "video";
  const reason = textAt(body, "failure_reason");
  return {
    jobId,
    state: textAt(body, "state"),
    urls: urlsOf(listAt(body, "assets", asset)),
    metadata: {
      ratio: textAt(body, "request", "aspect_ratio"),
      duration: integerAt(body, "request", "duration"),
      resolution: textAt(body, "request", "resolution"),
    },
    completedAt: null,
    error: reason === null ? null : { code: null, text: reason },
  };
}
