import QuickLRU from "quick-lru";
import { MINUTE_MS } from "../core/time.ts";

/**
 * Creates a cache in the memory of this isolate. When a value changes, other isolates use their copy of the old value
 * until it expires. The cache has at least the `maxSize` entries that were used last, unless they have expired, and at
 * most twice as many entries.
 */
export function isolateCache<V>(
  maxSize = 10_000,
  maxAgeMs: number = MINUTE_MS,
): QuickLRU<string, V> {
  return new QuickLRU({ maxSize, maxAge: maxAgeMs });
}

/**
 * Cache, in the memory of this isolate, of values whose computation reads many rows of the index, such as the
 * statistics of a day. Each `env` object of the Worker has its own values. All callers get the same value, so a value
 * must not depend on who asks for it.
 */
export class EnvCache<V> {
  readonly #caches = new WeakMap<object, QuickLRU<string, V>>();
  readonly #keepMsOf: (value: V) => number;
  readonly #maxSize: number;

  /**
   * Creates an empty cache.
   * @param keepMsOf returns for how many milliseconds a value stays in the cache, counted from the moment when its
   * reading began.
   * @param maxSize number of values that stay for each `env` object; at most twice as many are in memory.
   */
  constructor(keepMsOf: (value: V) => number, maxSize = 1) {
    this.#keepMsOf = keepMsOf;
    this.#maxSize = maxSize;
  }

  /**
   * Returns the value in the cache. When there is none, calls `read` and stores its result. When `read` throws, nothing
   * is stored.
   * @param read gets the current time, in Unix milliseconds.
   * @param key name of the value, when the cache has more than one.
   */
  async get(env: object, read: (now: number) => Promise<V>, key = ""): Promise<V> {
    const cache = this.#cacheOf(env);
    const kept = cache.get(key);
    if (kept !== undefined) return kept;
    const now = Date.now();
    const value = await read(now);
    cache.set(key, value, { maxAge: now + this.#keepMsOf(value) - Date.now() });
    return value;
  }

  #cacheOf(env: object): QuickLRU<string, V> {
    const known = this.#caches.get(env);
    if (known !== undefined) return known;
    const cache = isolateCache<V>(this.#maxSize, Infinity);
    this.#caches.set(env, cache);
    return cache;
  }
}
