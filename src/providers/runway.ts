import { DAY_MS } from "../core/time.ts";
import type { FailureCategory } from "../core/record/upstream.ts";
import { isSuccess } from "./cancel.ts";
import type { UpstreamError } from "./failure.ts";
import { idAt, listAt, numberAt, textAt, urlsOf } from "./json-fields.ts";
import type { Observation } from "./observation.ts";
import { bearer, type UpstreamProvider, readingOf } from "./provider.ts";
import { amountsAt } from "./usage.ts";

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
  polls: {
    gapMs: 5_000,
    maxAgeMs: null,
    endpoint: null,
    headers: async (key) => ({ ...(await bearer(key)), "X-Runway-Version": "2024-11-06" }),
    path: ({ id }) => `/v1/tasks/${encodeURIComponent(id)}`,
    read: ({ body }) => readingOf(observe(body)),
  },
  // https://docs.dev.runwayml.com/api#tag/Task-management: the call cancels a task that is pending, throttled or running,
  // and deletes any other with its output. A task that was aborted or deleted cannot be fetched again.
  cancels: {
    request: ({ id }) => ({ method: "DELETE", path: `/v1/tasks/${encodeURIComponent(id)}` }),
    read: (answer) => (isSuccess(answer) ? "canceled" : "unknown"),
    onlyWhile: ["queued", "processing"],
    forgetsCanceled: true,
  },
} as const satisfies UpstreamProvider;

function observe(body: unknown): Observation | null {
  const jobId = idAt(body, "id");
  if (jobId === null) return null;
  const progress = numberAt(body, "progress");
  return {
    jobId,
    state: textAt(body, "status"),
    urls: urlsOf(listAt(body, "output")),
    metadata: {},
    completedAt: null,
    error: errorOf(textAt(body, "failureCode"), textAt(body, "failure")),
    // A running task states a number from 0 to 1 (https://docs.dev.runwayml.com/api).
    progress: progress === null ? null : progress * 100,
    usage: amountsAt(body, "cost"),
  };
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
