import { expect, it } from "vitest";
import WRANGLER_TOML from "../../wrangler.toml?raw";
import { DEFAULT_RATE_LIMITS, parseRateLimits } from "../../src/config/rate-limits.ts";

const read = (value: string) => {
  const parsed = parseRateLimits(value);
  return parsed.ok ? Object.fromEntries(parsed.value) : parsed.error;
};

it("RATE_LIMITS=default permits as many requests within a minute as the bindings of wrangler.toml", () => {
  const blocks = WRANGLER_TOML.matchAll(
    /^\[\[ratelimits\]\]\nname = "(\w+)"\n.*\nsimple = \{ limit = (\d+), period = 60 \}$/gm,
  );
  const bound = Object.fromEntries(
    Array.from(blocks, ([, name = "", limit]) => [name, Number(limit)]),
  );
  expect(DEFAULT_RATE_LIMITS).toEqual(bound);
  expect(read("default")).toEqual(bound);
});

it("RATE_LIMITS changes the number of each rate limit that it names, limits the others by the word default, and limits nothing by the word off", () => {
  expect(read("default LIMIT_SUBMITS=600")).toEqual({ ...DEFAULT_RATE_LIMITS, LIMIT_SUBMITS: 600 });
  expect(read("LIMIT_SUBMITS=600 LIMIT_LISTS=1000000")).toEqual({
    LIMIT_LISTS: 1_000_000,
    LIMIT_SUBMITS: 600,
  });
  expect(read("off")).toEqual({});
});

it.each([
  "on",
  "LIMIT_SUBMITS",
  "LIMIT_SUBMITS=0",
  "LIMIT_SUBMITS=1000001",
  "LIMIT_SUBMITS=-1",
  "LIMIT_SUBMITS=1.5",
  "LIMIT_SUBMITS=5 LIMIT_SUBMITS=6",
  "LIMIT_SUBMIT=5",
  "default off",
  "default,LIMIT_SUBMITS=5",
])("RATE_LIMITS=%s is refused with the form that it must have", (value) => {
  expect(read(value)).toMatch(/^must be off, or default and NAME=number, .*LIMIT_SUBMITS/);
});
