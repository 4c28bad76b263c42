import QuickLRU from "quick-lru";
import { MINUTE_MS } from "../../core/time.ts";

/**
 * Creates a cache in the memory of this isolate that keeps each value for a minute. After a change, other
 * isolates go on using their copy of the old value until it expires.
 */
export function isolateCache<V>(): QuickLRU<string, V> {
  return new QuickLRU({ maxSize: 10_000, maxAge: MINUTE_MS });
}
