import type { Freshness } from "../freshness.ts";
import { SECOND_MS } from "../time.ts";

/**
 * For how long an isolate uses the list of paused hosts that it has read. So no attempt starts more than ten seconds
 * after a pause was ordered. A failed reading counts as one, so that callbacks do not wait again and again.
 */
export const PAUSE_FRESHNESS: Freshness = {
  readAfterMs: 5 * SECOND_MS,
  waitAfterMs: 10 * SECOND_MS,
  retryAfterMs: 0,
};
