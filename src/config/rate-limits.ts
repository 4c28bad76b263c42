/**
 * Names of the rate limit bindings (`[[ratelimits]]` in wrangler.toml), each optional. The first three count
 * the requests of an account; `LIMIT_LINKS` counts the requests from an IP address with one status link;
 * `LIMIT_REFUSALS` counts the requests from an IP address whose credentials were not valid.
 */
export const RATE_LIMITS = [
  "LIMIT_TESTS",
  "LIMIT_BULK",
  "LIMIT_LISTS",
  "LIMIT_LINKS",
  "LIMIT_REFUSALS",
] as const;
export type RateLimitName = (typeof RATE_LIMITS)[number];
