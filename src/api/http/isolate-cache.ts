import QuickLRU from "quick-lru";
import { MINUTE_MS } from "../../core/time.ts";

/**
 * Creates a cache that lives as long as the isolate and keeps each value for a minute. Another isolate does
 * not see a change until its own value expires.
 */
export function isolateCache<V>(): Map<string, V> {
  return new QuickLRU({ maxSize: 10_000, maxAge: MINUTE_MS });
}
