/**
 * Names of the rate limit bindings (`[[ratelimits]]` in wrangler.toml); each binding is optional. `LIMIT_TESTS`,
 * `LIMIT_BULK`, `LIMIT_LISTS` and `LIMIT_SUBMITS` count requests of an account. `LIMIT_LINKS` counts, for each IP
 * address, requests with one status link, and requests with links to the outputs of one task. `LIMIT_REFUSALS` counts
 * requests with invalid credentials from an IP address.
 */
export const RATE_LIMITS = [
  "LIMIT_TESTS",
  "LIMIT_BULK",
  "LIMIT_LISTS",
  "LIMIT_SUBMITS",
  "LIMIT_LINKS",
  "LIMIT_REFUSALS",
] as const;
export type RateLimitName = (typeof RATE_LIMITS)[number];

/**
 * Number of submissions within a minute that `LIMIT_SUBMITS` in `wrangler.toml` allows to an account. A binding does
 * not state its number.
 */
export const SUBMISSIONS_PER_MINUTE = 60;
