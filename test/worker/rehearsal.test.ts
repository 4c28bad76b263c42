import { env } from "cloudflare:workers";
import { expect, it, vi } from "vitest";
import { OBJECT_CLASSES } from "../../src/config/object-bindings.ts";
import { rehearse } from "../../src/rehearsal.ts";
import { OPERATOR_KEY } from "./client.ts";
import { started } from "./started.ts";

const INDEXED = {
  INDEX_DB: { prepare: () => null },
  OPERATOR_CALLBACK_URL: "https://operator.example.com/",
  PAUSED: "true",
  CALLBACK_SCHEDULE_SECOND: "0",
};

it.each<[string, object]>([
  ["the default configuration", {}],
  ["JURISDICTION and LOCATION_HINT", { JURISDICTION: "eu", LOCATION_HINT: "weur" }],
  ["an index, operator events, a pause and a misspelt variable", INDEXED],
])(
  "with %s, an isolate rehearses a registration at its start, without a log line, a call of a Durable Object, a timer or a random id",
  async (_, vars) => {
    const called = vi.fn();
    const namespaces = Object.fromEntries(
      Object.keys(OBJECT_CLASSES).map((name) => [
        name,
        { getByName: called, jurisdiction: called },
      ]),
    );
    const isolate = await started({ ...env, ...namespaces, ...vars });
    const effects = [
      called,
      ...(["log", "warn", "error"] as const).map((level) => vi.spyOn(console, level)),
      vi.spyOn(globalThis, "setTimeout"),
      vi.spyOn(crypto, "randomUUID"),
    ];
    expect(await rehearse(isolate)).toBe(true);
    for (const effect of effects) expect(effect).not.toHaveBeenCalled();
  },
);

it("when no operator key may register tasks, an isolate starts without rehearsing a registration, and calls no rate limit", async () => {
  const limited = vi.fn();
  const read = { OPERATOR_KEYS: `read:${OPERATOR_KEY}`, LIMIT_REFUSALS: { limit: limited } };
  expect(await rehearse(await started({ ...env, ...read }))).toBe(false);
  expect(limited).not.toHaveBeenCalled();
});

it("an isolate with an invalid configuration starts without rehearsing a registration", async () => {
  expect(await rehearse(await started({ ...env, RELAY_SECRET: "" }))).toBe(false);
});
