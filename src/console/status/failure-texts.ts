import type { TaskStatus } from "../../api/shapes/task-shape.ts";
import { FAILURE_CATEGORIES, type FailureCategory } from "../../core/record/upstream.ts";

const CANCELED = "It was canceled before it was finished.";
const TIMEOUT = "It took too long and was given up.";
const NO_FILE = "It was made, but not as a file that can be shown here.";
const PROVIDER = "The service that makes it had a problem.";

/** Text for each category of failures, for people who know nothing of upstreams. */
const BY_CATEGORY: Readonly<Record<FailureCategory, string>> = {
  moderation: "It was not made, because it goes against the rules of the service that makes it.",
  invalid_input: "It was not made, because something in the request cannot be used.",
  rate_limited: "The service that makes it had too much to do.",
  timeout: TIMEOUT,
  canceled: CANCELED,
  provider: PROVIDER,
};

/** Text for those values of `error.code` that say more than the category, or that stand without one. */
const BY_CODE: Readonly<Record<string, string>> = {
  canceled: CANCELED,
  upstream_timeout: TIMEOUT,
  queue_timeout: "It could not be started in time.",
  submit_unknown: "Something went wrong on the way, and it is not known whether it was made.",
  output_needs_store: NO_FILE,
  output_not_a_file: NO_FILE,
};

/** Categories of failures whose error message helps whoever has asked for the result to ask better. */
const EXPLAINED: ReadonlySet<FailureCategory> = new Set(["moderation", "invalid_input"]);

/** Why there is no result, in words for a customer. */
interface FailureText {
  readonly reason: string;
  /** Message of the upstream about the failure. Null when it would not help the customer. */
  readonly explanation: string | null;
  /** True when the same request may succeed if it is sent again. */
  readonly mayRetry: boolean;
}

/** Returns why a task has failed, in words for a customer. */
export function failureText(
  error: NonNullable<TaskStatus["error"]>,
  failure: TaskStatus["failure"],
): FailureText {
  const category = failure?.category ?? categoryIn(error.code);
  const byCode = Object.hasOwn(BY_CODE, error.code) ? BY_CODE[error.code] : undefined;
  const byCategory = category === null ? undefined : BY_CATEGORY[category];
  return {
    reason: byCode ?? byCategory ?? "Something went wrong while it was being made.",
    explanation: category !== null && EXPLAINED.has(category) ? error.message : null,
    mayRetry: failure?.retryable === true,
  };
}

/** Returns the category that an event has stated as its code. Null when the code is none. */
function categoryIn(code: string): FailureCategory | null {
  return FAILURE_CATEGORIES.find((name) => name === code) ?? null;
}
