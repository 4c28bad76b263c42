import { RecentMap } from "../../recent-map.ts";
import { MINUTE_MS } from "../../core/time.ts";

/**
 * Creates a cache in the memory of this isolate that keeps each value for a minute. After a change, other
 * isolates go on using their copy of the old value until it expires.
 */
export function isolateCache<V>(): RecentMap<V> {
  return new RecentMap(10_000, MINUTE_MS);
}
