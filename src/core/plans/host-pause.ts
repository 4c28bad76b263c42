import type { Freshness } from "../freshness.ts";
import { SECOND_MS } from "../time.ts";

/** A receiver's host to which no callbacks are sent, because the operator has paused it. */
export interface HostPause {
  /** The host as `hostOf` returns it. */
  readonly host: string;
  /** End of the pause, in Unix milliseconds. */
  readonly until: number;
  /** Time of the order, in Unix milliseconds. */
  readonly since: number;
  /** Name of the API key that ordered the pause. Null when it has none. */
  readonly by: string | null;
}

/** Largest number of hosts that are paused at the same time, because every isolate reads all of them again and again. */
export const MAX_PAUSES = 200;

/**
 * For how long an isolate uses the list of paused hosts that it has read. So no attempt starts more than ten seconds
 * after a pause was ordered. A failed reading counts as one, so that callbacks do not wait again and again.
 */
export const PAUSE_FRESHNESS: Freshness = {
  readAfterMs: 8 * SECOND_MS,
  waitAfterMs: 10 * SECOND_MS,
  retryAfterMs: 0,
};
