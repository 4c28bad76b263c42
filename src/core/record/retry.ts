import { backoff } from "../backoff.ts";
import { MINUTE_MS, SECOND_MS } from "../time.ts";

/** Plan of the next try of a call that is repeated until it is answered. */
export interface Retry {
  /** Time of the next try, in Unix milliseconds. */
  readonly retryAt: number;
  readonly tries: number;
}

const FIRST_RETRY_MS = 5 * SECOND_MS;
const MAX_RETRY_MS = 5 * MINUTE_MS;

/**
 * Returns the plan of the next try after a call that was not answered. The wait is 5 s after the first try, doubles
 * with every further try, and is at most 5 minutes.
 */
export function planRetry({ tries }: Retry, now: number): Retry {
  const waitMs = backoff(FIRST_RETRY_MS, tries, MAX_RETRY_MS);
  return { retryAt: now + waitMs, tries: tries + 1 };
}
