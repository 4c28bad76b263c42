/** The check that a callback has failed. */
export type VerificationFailure =
  /** `header` is not there. */
  | "missing_header"
  /** `header` cannot be read. */
  | "malformed_header"
  /** The callback was sent more than five minutes ago, by this machine's clock. */
  | "too_old"
  /** The callback claims a time more than five minutes ahead of this machine's clock. */
  | "too_new"
  /** No signature fits the body and one of the keys. */
  | "no_matching_signature"
  /** The body was read or parsed before, so that its bytes are gone. */
  | "body_already_read"
  /** The signature is right, but the body is not JSON. */
  | "not_json"
  /** The signature is right, but the body is no finished task. */
  | "not_a_task";

interface Details {
  readonly header?: string;
  readonly ageS?: number;
}

/** A callback that must not be trusted. Answer 401; it contains neither a secret nor the body. */
export class VerificationError extends Error {
  override readonly name = "VerificationError";
  readonly failure: VerificationFailure;
  /** Name of the header that is missing or malformed; null for other failures. */
  readonly header: string | null;
  /** Age of the timestamp in seconds, negative when it is ahead; null for other failures. */
  readonly ageS: number | null;

  constructor(failure: VerificationFailure, message: string, { header, ageS }: Details = {}) {
    super(message);
    this.failure = failure;
    this.header = header ?? null;
    this.ageS = ageS ?? null;
  }
}
