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

/** The classes of those refusals that are about the account at the upstream: its balance, or its key. */
export type AccountRefusal = Extract<RefusalClass, "funds" | "key">;

/**
 * Values of `error.code` for a task that fails because the account at the upstream has too little money, or because the
 * upstream does not accept its key.
 */
const ACCOUNT_CODES = { funds: "upstream_funds", key: "upstream_key" } as const;

const NOTHING_STARTED = "Nothing was started.";
/** Error message for a task whose job has failed because of the balance or the key at the upstream. */
const NO_JOBS = "The service takes no jobs of this kind at the moment.";
/**
 * Error message for an account whose submission was refused because of the operator's balance or key at the upstream.
 */
export const NOT_SERVED = `${NO_JOBS} ${NOTHING_STARTED}`;
/** Error messages for a customer whose own key or balance the upstream has refused. */
const OF_CUSTOMER = {
  funds: "The upstream has refused the balance of the account whose API key the call came with.",
  key: "The upstream has refused the API key that the call came with.",
} as const;

/** The members `error` and `failure` of a task that fails because its submission was refused. */
export interface RefusedEnd {
  readonly error: { readonly code: string; readonly message: string };
  readonly failure: Failure;
}

/**
 * Tells whether an upstream has refused a call because of the account that calls it (no money, no valid key) and not
 * because of the call itself. False for null, i.e. without a refusal.
 */
export function isAboutAccount(refusal: RefusalClass | null): refusal is AccountRefusal {
  return refusal === "funds" || refusal === "key";
}

/**
 * Returns the error and the failure of a task that fails because of the balance or the key at the upstream. This is no
 * fault of the input. The error message names neither, because the task and that balance or key may belong to different
 * people.
 */
export function endForAccount(refusal: AccountRefusal, message = NO_JOBS): RefusedEnd {
  const error = { code: ACCOUNT_CODES[refusal], message };
  return { error, failure: { category: "provider", retryable: false } };
}

/** Returns the class of the refusal for which `error.code` of a failed task stands. Null for any other code. */
export function accountRefusalOf(code: string): AccountRefusal | null {
  return (["funds", "key"] as const).find((refusal) => ACCOUNT_CODES[refusal] === code) ?? null;
}

/**
 * Returns the error of a task as the customer may read it with whose own key its job was submitted: if the upstream has
 * refused this key, or the balance behind it, the message says so. Any other error is returned unchanged.
 */
export function errorForCustomer(error: RefusedEnd["error"]): RefusedEnd["error"] {
  const refusal = accountRefusalOf(error.code);
  return refusal === null ? error : { ...error, message: OF_CUSTOMER[refusal] };
}

/**
 * Returns the error and the failure of a task whose submission was refused.
 * @param isOfCustomer true when the call came with a customer's own key.
 */
export function endOfRefusal(
  refusal: RefusalClass,
  statusCode: number,
  isOfCustomer: boolean,
): RefusedEnd {
  const message = `The upstream refused the submission with HTTP status ${statusCode}.`;
  const error = { code: "upstream_error", message };
  switch (refusal) {
    case "busy":
    case "rate":
      return { error, failure: { category: "rate_limited", retryable: true } };
    case "funds":
    case "key":
      return endForAccount(
        refusal,
        isOfCustomer ? `${OF_CUSTOMER[refusal]} ${NOTHING_STARTED}` : NOT_SERVED,
      );
    case "final": {
      const isOfServer = statusCode >= 500;
      const category = isOfServer ? "provider" : "invalid_input";
      return { error, failure: { category, retryable: isOfServer } };
    }
  }
}
