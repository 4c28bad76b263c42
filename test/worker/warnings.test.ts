import { env } from "cloudflare:workers";
import { expect, it, vi } from "vitest";
import { parseConfig } from "../../src/config/config.ts";
import { warningsOf } from "../../src/config/warnings.ts";
import { callWith } from "./client.ts";

const PUBLIC_URL = "https://relay.example.com";
const others =
  "API_BASE_URL AWS_API_KEY AI_API_KEY XI_API_KEY SITE_BASE_URL STRIPE_WEBHOOK_SECRET".split(" ");
const odd = { CALLBACK_SCHEDULE_SECONDS: "0", RELAY_SECRETS: "x", GREETING: "hello" };

const CASES: readonly (readonly [string, readonly string[], object])[] = [
  [
    "a valid configuration with misspelt names, without PUBLIC_URL, and with PAUSED and local callbacks",
    ["PAUSED", "ALLOW_LOCAL_CALLBACKS", "PUBLIC_URL", "CALLBACK_SCHEDULE_SECONDS", "RELAY_SECRETS"],
    { ...odd, PAUSED: "true", ALLOW_LOCAL_CALLBACKS: "true" },
  ],
  ["a configuration with PUBLIC_URL", [], { PUBLIC_URL }],
  [
    "a configuration with variables of other Workers",
    [],
    { PUBLIC_URL, ...Object.fromEntries(others.map((name) => [name, "x"])) },
  ],
  [
    "misspelt variables of connections",
    ["CONNECTION", "CONECTIONS_2", "ARK_APIKEY", "MINMAX_BASE_URL"],
    { PUBLIC_URL, CONNECTION: "{}", CONECTIONS_2: "{}", ARK_APIKEY: "x", MINMAX_BASE_URL: "x" },
  ],
  ["an invalid configuration", ["MAX_BODY_KB"], { MAX_BODY_KB: "large", PAUSED: "true" }],
];

it.each(CASES.map(([what, ...row]) => [what, row[0].join(", ") || "none", ...row] as const))(
  "for %s the relay warns about exactly these variables: %s",
  (_what, _names, expected, changes) => {
    const vars = { ...env, ...changes };
    const found = warningsOf(vars, parseConfig(vars, Cloudflare.compatibilityFlags));
    expect(found.map(({ path }) => path)).toEqual(expected);
  },
);

it("the relay logs a warning about a variable once per isolate", async () => {
  const warned = vi.spyOn(console, "warn").mockImplementation(() => undefined);
  for (let i = 0; i < 2; i++) await callWith({ ...env, CALLBACK_SCHEDULE_SECOND: "0" }, "/healthz");
  const lines = warned.mock.calls.map(([line]) => JSON.parse(String(line)));
  const warnings = lines.filter(({ variable }) => variable === "CALLBACK_SCHEDULE_SECOND");
  const detail = "is not known: CALLBACK_SCHEDULE_S is";
  expect(warnings).toMatchObject([{ event: "config.warning", detail }]);
});
