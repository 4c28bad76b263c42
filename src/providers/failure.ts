import type { Failure, FailureCategory, UpstreamFailure } from "../core/record/upstream.ts";
import { MAX_CHARS_READ, publicText } from "./redaction.ts";
import { requestIdsIn } from "./request-ids.ts";

/** A failure of a job as the provider reports it. */
export interface UpstreamError {
  readonly code: string | null;
  readonly text: string | null;
  /**
   * Category of the failure, if the adapter knows it from the code. When it is absent, the category is derived from
   * state, code and text.
   */
  readonly category?: FailureCategory;
}

/** The extent to which clients may read the text with which an upstream explains a failure. */
export interface ErrorText {
  /** True when clients read a generic message and not the upstream's own text (`ERROR_TEXT=generic`). */
  readonly isGeneric: boolean;
  /** Credentials of the connection, which are removed from the text. */
  readonly secrets: readonly string[];
}

const GENERIC = "The upstream reported a failure.";
const RETRYABLE: readonly FailureCategory[] = ["rate_limited", "timeout", "provider"];
/** Words for an account at the provider that has no credit left. A retry does not help then. */
const UNPAID =
  /(insufficient|not.?enough|out.?of|exhausted|\bno).?(account.?)?(credit|balance|fund|budget)|(credit|balance|fund|budget)s?.?(is.?|are.?)?(insufficient|not.?enough|exhausted)|payment.?required|in.?arrears/i;

/**
 * Categories of failures, each with the words in a provider's state, code or text that show it. The first match
 * counts.
 */
const CATEGORIES: readonly (readonly [FailureCategory, RegExp])[] = [
  [
    "moderation",
    /sensitive|moderat|content.?polic|polic(y|ies).?violat|nsfw|safety|inappropriate|prohibited|risk.?control|copyright/i,
  ],
  ["rate_limited", /rate.?limit|too.?many.?requests|quota|throttl|\b429\b/i],
  ["timeout", /time(d)?.?out|expired/i],
  ["canceled", /cancell?ed/i],
  ["invalid_input", /invalid|unsupported|validation|malformed|\b422\b|bad.?request/i],
];

/**
 * Returns the failure as clients see it: the code is `upstream_error`, and the message is the provider's text or,
 * without a text, the provider's error code or job state. When clients may not read the provider's texts, the
 * message is a generic one. Ids of requests, which the message leaves out, are kept for the operator.
 */
export function failureOf(
  state: string,
  error: UpstreamError | null,
  errorText: ErrorText,
): UpstreamFailure {
  const code = error?.code ?? null;
  const text = error?.text ?? null;
  const report = `${state} ${code ?? ""} ${text ?? ""}`.slice(0, MAX_CHARS_READ);
  const category = error?.category ?? categoryOf(report);
  const isRetryable = RETRYABLE.includes(category) && !UNPAID.test(report);
  const ownText = text ?? (code === null ? `The task ended upstream as "${state}".` : `"${code}"`);
  return {
    status: "failed",
    error: { code: "upstream_error", message: messageOf(ownText, errorText) },
    failure: {
      category,
      retryable: isRetryable,
      ...requestIdsOf(text),
    },
  };
}

function requestIdsOf(text: string | null): Pick<Failure, "requestIds"> {
  const requestIds = text === null ? [] : requestIdsIn(text.slice(0, MAX_CHARS_READ));
  return requestIds.length > 0 ? { requestIds } : {};
}

function messageOf(text: string, { isGeneric, secrets }: ErrorText): string {
  return (isGeneric ? "" : publicText(text, secrets)) || GENERIC;
}

function categoryOf(report: string): FailureCategory {
  return CATEGORIES.find(([, pattern]) => pattern.test(report))?.[0] ?? "provider";
}
