/** Name of the check that a callback did not pass. */
export type VerificationFailure =
  /** The header named by `header` is missing. */
  | "missing_header"
  /** The header named by `header` cannot be read. */
  | "malformed_header"
  /** The callback was sent more than five minutes ago by the clock of this machine. */
  | "too_old"
  /** The timestamp of the callback is more than five minutes ahead of the clock of this machine. */
  | "too_new"
  /** No signature in the header is valid for the body under one of the keys. */
  | "no_matching_signature"
  /** The body was read or parsed before, so that its bytes are gone. */
  | "body_already_read"
  /** The signature is valid, but the body is not JSON. */
  | "not_json"
  /** The signature is valid, but the body is not a finished task. */
  | "not_a_task";

interface Details {
  readonly header?: string;
  readonly ageS?: number;
}

/**
 * Error for a callback that must not be trusted; answer it with 401. The error contains neither a secret nor
 * the body.
 */
export class VerificationError extends Error {
  override readonly name = "VerificationError";
  readonly failure: VerificationFailure;
  /** Name of the header that is missing or malformed; null for other failures. */
  readonly header: string | null;
  /**
   * Age of a timestamp that is too old or too new, in seconds; negative when it is ahead. Null for other failures.
   */
  readonly ageS: number | null;

  constructor(failure: VerificationFailure, message: string, { header, ageS }: Details = {}) {
    super(message);
    this.failure = failure;
    this.header = header ?? null;
    this.ageS = ageS ?? null;
  }
}
