import type { Freshness } from "../freshness.ts";
import { SECOND_MS } from "../time.ts";

/** For how long an isolate uses the offers that it has read. */
export const OFFER_FRESHNESS: Freshness = {
  readAfterMs: 30 * SECOND_MS,
  waitAfterMs: 60 * SECOND_MS,
  retryAfterMs: 5 * SECOND_MS,
};
