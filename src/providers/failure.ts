import { endForAccount, isAboutAccount, type RefusalClass } from "../core/record/refusal.ts";
import type { Failure, FailureCategory, UpstreamFailure } from "../core/record/upstream.ts";
import { categoryIn, type FailureTexts, isOnlyLinks, isUnpaid } from "./failure-words.ts";
import { MAX_CHARS_READ, publicText } from "./redaction.ts";
import { requestIdsIn } from "./request-ids.ts";

/** A failure of a job as the provider reports it. */
export interface UpstreamError {
  readonly code: string | null;
  readonly text: string | null;
  /**
   * Category of the failure, if the adapter knows it from the error code. When it is absent, the category is derived
   * from the state, the code and the text.
   */
  readonly category?: FailureCategory;
  /**
   * Tells whether the same job may succeed when it is submitted again, as the upstream itself says. It overrides what the
   * category implies. Absent when the upstream does not say it.
   */
  readonly isRetryable?: boolean;
  /**
   * Class of the refusal that the same error code means in the answer to a submission. Absent or null when it means none.
   */
  readonly refusal?: RefusalClass | null;
  /** Category of the failure when neither the state, the code nor the text shows one. Absent means `provider`. */
  readonly usualCategory?: FailureCategory;
}

/** Settings that decide how much of an upstream's text about a failure clients may read. */
export interface ErrorText {
  /** True when clients read a generic message and not the upstream's own text (`ERROR_TEXT=generic`). */
  readonly isGeneric: boolean;
  /** Credentials of the connection, which are removed from the text. */
  readonly secrets: readonly string[];
}

const GENERIC = "The upstream reported a failure.";
const RETRYABLE: readonly FailureCategory[] = ["rate_limited", "timeout", "provider"];

/**
 * Returns the failure as clients see it. The code is `upstream_error`, and the message is the provider's text or,
 * without a text, the provider's error code or job state. When clients may not read the provider's texts, the message
 * is a generic one. Ids of requests are removed from the message and stored for the operator. A failure because of the
 * balance or the key at the provider has a code and a message of the relay's own.
 */
export function failureOf(
  state: string,
  error: UpstreamError | null,
  errorText: ErrorText,
): UpstreamFailure {
  const refusal = error?.refusal ?? null;
  const end = isAboutAccount(refusal) ? endForAccount(refusal) : endOfJob(state, error, errorText);
  const requestIds = requestIdsOf(textIn(error?.text));
  return { status: "failed", ...end, failure: { ...end.failure, ...requestIds } };
}

function endOfJob(
  state: string,
  error: UpstreamError | null,
  errorText: ErrorText,
): Pick<UpstreamFailure, "error" | "failure"> {
  const code = textIn(error?.code);
  const text = textIn(error?.text);
  const texts = { state: headOf(state), code: headOf(code ?? ""), text: headOf(text ?? "") };
  const category = error?.category ?? categoryIn(texts) ?? usualCategoryOf(error);
  const ownText = text ?? (code === null ? `The task ended upstream as "${state}".` : `"${code}"`);
  return {
    error: { code: "upstream_error", message: messageOf(ownText, errorText) },
    failure: { category, retryable: error?.isRetryable ?? isWorthRetry(category, texts) },
  };
}

function isWorthRetry(category: FailureCategory, texts: FailureTexts): boolean {
  return RETRYABLE.includes(category) && !isUnpaid(texts);
}

function usualCategoryOf(error: UpstreamError | null): FailureCategory {
  return error?.usualCategory ?? "provider";
}

/** Returns the text of an error. Null when there is none, and when it consists only of links: these give no reason. */
function textIn(text: string | null = null): string | null {
  return text === null || isOnlyLinks(text) ? null : text;
}

function headOf(text: string): string {
  return text.slice(0, MAX_CHARS_READ);
}

function requestIdsOf(text: string | null): Pick<Failure, "requestIds"> {
  const requestIds = text === null ? [] : requestIdsIn(headOf(text));
  return requestIds.length > 0 ? { requestIds } : {};
}

function messageOf(text: string, { isGeneric, secrets }: ErrorText): string {
  return (isGeneric ? "" : publicText(text, secrets)) || GENERIC;
}
