import type { JsonObject } from "../../../core/json.ts";
import type {
  UpstreamEnd,
  UpstreamFailure,
  Usage,
  FailureCategory,
} from "../../../core/record/upstream.ts";

export const QUEUED = { status: "queued" } as const;
export const PROCESSING = { status: "processing" } as const;
export const NO_OUTPUT = { status: "no_output" } as const;

export function completed(
  urls: readonly string[],
  metadata: JsonObject = {},
  completedAt: number | null = null,
): UpstreamEnd {
  return { status: "completed", completedAt, urls, metadata };
}

export function failed(
  category: FailureCategory,
  message: string,
  isRetryable = ["rate_limited", "timeout", "provider"].includes(category),
): UpstreamFailure {
  const error = { code: "upstream_error", message };
  return { status: "failed", error, failure: { category, retryable: isRetryable } };
}

/** Returns the failure of a task of which only the job's last state is known. */
export function endedAs(category: FailureCategory, state: string): UpstreamFailure {
  return failed(category, `The task ended upstream as "${state}".`);
}

/** Returns the meaning of a report that also states what the job consumed or cost. */
export function using(usage: Usage, news: UpstreamEnd): UpstreamEnd {
  return { ...news, usage };
}
