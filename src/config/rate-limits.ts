import { failure, type Result, success } from "../core/result.ts";

/**
 * Names of the rate limits. Each is a binding (`[[ratelimits]]` in wrangler.toml) or is counted in the isolate
 * (`RATE_LIMITS`); without either it limits nothing. `LIMIT_TESTS`, `LIMIT_BULK`, `LIMIT_LISTS` and `LIMIT_SUBMITS` count
 * requests of an account. `LIMIT_LINKS` counts, for each IP address, requests with one status link, and requests with
 * links to the outputs of one task. `LIMIT_REFUSALS` counts requests with invalid credentials from an IP address.
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

/** Requests within a minute that each rate limit permits by `RATE_LIMITS=default`, the same as in wrangler.toml. */
export const DEFAULT_RATE_LIMITS: Readonly<Record<RateLimitName, number>> = {
  LIMIT_TESTS: 10,
  LIMIT_BULK: 6,
  LIMIT_LISTS: 60,
  LIMIT_SUBMITS: 60,
  LIMIT_LINKS: 120,
  LIMIT_REFUSALS: 60,
};

const MAX_LIMIT = 1_000_000;
const MESSAGE = `must be off, or default and NAME=number, space-separated, with each of ${RATE_LIMITS.join(", ")} at most once and numbers from 1 to ${MAX_LIMIT}`;

/**
 * Parses `RATE_LIMITS`: `off`, or the word `default` and entries such as `LIMIT_LISTS=60`, separated by white space. An
 * entry sets the number of its rate limit; `default` sets all that have no entry.
 * @returns the requests within a minute that each rate limit permits. One without a number is not counted.
 */
export function parseRateLimits(value: string): Result<ReadonlyMap<RateLimitName, number>, string> {
  if (value === "off") return success(new Map());
  const words = value.split(/\s+/);
  const entries = words.filter((word) => word !== "default").map(entryOf);
  const known = entries.filter((entry) => entry !== null);
  const named = new Map(known);
  if (known.length < entries.length || named.size < known.length) return failure(MESSAGE);
  const isDefault = words.length > entries.length;
  return success(
    new Map(
      RATE_LIMITS.flatMap((name) => {
        const limit = named.get(name) ?? (isDefault ? DEFAULT_RATE_LIMITS[name] : null);
        return limit === null ? [] : [[name, limit] as const];
      }),
    ),
  );
}

/** Returns the rate limit and the number of an entry, such as `LIMIT_LISTS=60`; null when it is malformed. */
function entryOf(entry: string): readonly [RateLimitName, number] | null {
  const [, given, digits = ""] = /^(\w+)=(\d{1,7})$/.exec(entry) ?? [];
  const name = RATE_LIMITS.find((each) => each === given);
  const limit = Number(digits);
  return name === undefined || limit < 1 || limit > MAX_LIMIT ? null : [name, limit];
}
