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

/** Expected failure of a task whose report contains the output itself, in a relay that does not store outputs. */
export const NEEDS_STORE: UpstreamFailure = undeliverable(
  "output_needs_store",
  "The upstream has sent the output itself and no link to it. The relay keeps such outputs only where it has a bucket for them and PUBLIC_URL is set.",
);
/** Expected failure of a task whose output is text and not a file. */
export const NOT_A_FILE: UpstreamFailure = undeliverable(
  "output_not_a_file",
  "The job has succeeded, and its output is text and no file. The relay delivers links to files only.",
);

function undeliverable(code: string, message: string): UpstreamFailure {
  const failure = { category: "provider", retryable: false } as const;
  return { status: "failed", error: { code, message }, failure };
}

/** Builds the expected failure of a task of whose job only the last state is known. */
export function endedAs(category: FailureCategory, state: string): UpstreamFailure {
  return failed(category, `The task ended upstream as "${state}".`);
}

/** Builds the expected meaning of a report that also states what the job has consumed or cost. */
export function using(usage: Usage, news: UpstreamEnd): UpstreamEnd {
  return { ...news, usage };
}
