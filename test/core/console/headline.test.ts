import { expect, it } from "vitest";
import { headlineOf } from "../../../src/console/overview/headline.ts";

const QUIET = {
  problems: [{ severity: "notice" }],
  failedOfDay: { count: 0, isCapped: false },
  successRate: 0.99,
  range: "24 h",
  failingUpstreams: [],
};

it.each([
  ["without a problem or a failure", {}, "ok", "All quiet"],
  ["without an index", { failedOfDay: null, successRate: null }, "ok", "All quiet"],
  ["with an error", { problems: [{ severity: "error" }] }, "bad", "1 problem"],
  ["with a warning", { problems: [{ severity: "warning" }] }, "warn", "1 problem"],
  [
    "with one failed callback",
    { failedOfDay: { count: 1, isCapped: false } },
    "warn",
    "1 callback failed in 24 h",
  ],
  [
    "with more failed callbacks than were read",
    { failedOfDay: { count: 110, isCapped: true } },
    "warn",
    "110 callbacks or more failed in 24 h",
  ],
  [
    "with less than 99 % delivered in 7 days",
    { successRate: 0.982, range: "7 d" },
    "warn",
    "98.2 % delivered in 7 d",
  ],
  ["with an upstream that fails", { failingUpstreams: ["fal"] }, "warn", "Jobs of fal fail"],
  ["with two such", { failingUpstreams: ["fal", "ark"] }, "warn", "2 upstreams fail"],
] as const)("%s, the headline of the overview says so: %j, %s, '%s'", (_, seen, tone, word) => {
  expect(headlineOf({ ...QUIET, ...seen })).toMatchObject({ tone, word });
});
