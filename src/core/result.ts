/** The result of an operation that may fail in an expected way. The caller has to handle both cases. */
export type Result<T, E> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly error: E };

/** Returns a successful result with this value. */
export function success<T>(value: T): Result<T, never> {
  return { ok: true, value };
}

/** Returns an unsuccessful result with this error. */
export function failure<E>(error: E): Result<never, E> {
  return { ok: false, error };
}
