import { isolateCache } from "./isolate-cache.ts";

/** Least number of keys whose counts are kept. The count of a key that is forgotten begins again at 0. */
const MAX_KEYS = 20_000;

/**
 * Rate limit that counts in the memory of this isolate, with the interface of Cloudflare's binding. The minute of a key
 * begins with its first request.
 */
export class IsolateRateLimit implements RateLimit {
  readonly #limit: number;
  readonly #counts = isolateCache<{ requests: number }>(MAX_KEYS);

  /** @param limit requests of one key that are permitted within a minute. */
  constructor(limit: number) {
    this.#limit = limit;
  }

  async limit({ key }: RateLimitOptions): Promise<RateLimitOutcome> {
    const known = this.#counts.get(key);
    const count = known ?? { requests: 0 };
    if (known === undefined) this.#counts.set(key, count);
    count.requests += 1;
    return { success: count.requests <= this.#limit };
  }
}
