import type { Failure } from "./upstream.ts";

/**
 * Classes of the answers by which an upstream refuses a submission; it has then started no job:
 *
 * - `busy`: too many jobs of the account are in flight; one of them has to end first.
 * - `rate`: too many calls within a time, or more load than the upstream takes at the moment.
 * - `funds`: the account at the upstream has no money left, or has reached its own spending limit.
 * - `key`: the upstream does not accept the key, or does not permit this call with it.
 * - `final`: the upstream will never accept this request.
 */
export const REFUSAL_CLASSES = ["busy", "rate", "funds", "key", "final"] as const;
export type RefusalClass = (typeof REFUSAL_CLASSES)[number];

/**
 * Value of `error.code` for a task whose submission was refused because the account at the upstream has too little
 * money.
 */
const UPSTREAM_FUNDS_CODE = "upstream_funds";
const UPSTREAM_KEY_CODE = "upstream_key";

/**
 * Error message for an account whose submission was refused because of the operator's balance or key at the upstream.
 */
export const NOT_SERVED =
  "The service takes no jobs of this kind at the moment. Nothing was started.";

/** The members `error` and `failure` of a task that fails because its submission was refused. */
export interface RefusedEnd {
  readonly error: { readonly code: string; readonly message: string };
  readonly failure: Failure;
}

/**
 * Tells whether an upstream has refused a call because of the account that calls it (no money, no valid key) and not
 * because of the call itself.
 */
export function isAboutAccount(refusal: RefusalClass): refusal is "funds" | "key" {
  return refusal === "funds" || refusal === "key";
}

/**
 * Returns the error and the failure of a task whose submission was refused. A refusal because of the balance or the key
 * at the upstream is no fault of the input. The error message then names neither, because the task and that balance or
 * key may belong to different people.
 */
export function endOfRefusal(refusal: RefusalClass, statusCode: number): RefusedEnd {
  const message = `The upstream refused the submission with HTTP status ${statusCode}.`;
  const error = { code: "upstream_error", message };
  switch (refusal) {
    case "busy":
    case "rate":
      return { error, failure: { category: "rate_limited", retryable: true } };
    case "funds":
    case "key": {
      const code = refusal === "funds" ? UPSTREAM_FUNDS_CODE : UPSTREAM_KEY_CODE;
      const failure: Failure = { category: "provider", retryable: false };
      return { error: { code, message: NOT_SERVED }, failure };
    }
    case "final": {
      const isOfServer = statusCode >= 500;
      const category = isOfServer ? "provider" : "invalid_input";
      return { error, failure: { category, retryable: isOfServer } };
    }
  }
}
