/** The outcome of something that may fail in an expected way, which the caller has to handle. */
export type Result<T, E> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly error: E };

/** Builds a successful result. */
export function success<T>(value: T): Result<T, never> {
  return { ok: true, value };
}

/** Builds a failed result. */
export function failure<E>(error: E): Result<never, E> {
  return { ok: false, error };
}
