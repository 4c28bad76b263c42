import { expect, it } from "vitest";
import { amountsAt, usageOf } from "../../src/providers/usage.ts";

it.each<[string, unknown, object]>([
  [
    "numbers in their order",
    { total: 2, cost: 0.5, refund: -1, none: 0 },
    { total: 2, cost: 0.5, refund: -1, none: 0 },
  ],
  [
    "numbers of nested objects, to three levels",
    { a: { b: { c: 1, d: { e: 2 } } }, f: 3 },
    { "a.b.c": 1, f: 3 },
  ],
  [
    "texts that are plain decimal numbers",
    { tokens: "108900", refund: "-0.5", deep: { SR: "720" } },
    { tokens: 108_900, refund: -0.5, "deep.SR": 720 },
  ],
  [
    "no other text, boolean, list or null",
    { a: "", b: " ", c: "0x10", d: "1e3", e: "5s", f: "1,000", g: ".5", h: true, i: [1], j: null },
    {},
  ],
  [
    "no number that may have been rounded",
    { id: 2 ** 53, huge: 1e308, odd: NaN, text: "9007199254740993" },
    {},
  ],
  [
    "no amount whose name is empty, too long or no single word",
    { "a red fox": 1, "https://x.example/?key=1": 2, "": 3, "7": 4, ["x".repeat(65)]: 5 },
    {},
  ],
  [
    "nothing from the member __proto__",
    JSON.parse('{"__proto__": {"cost": 1}, "cost": 2}'),
    { cost: 2 },
  ],
  ["nothing from a list", [1, 2], {}],
  ["nothing from a text", "108900", {}],
])(
  "amountsAt and usageOf read a job's usage from JSON and keep only exact numbers that have a one-word name: they keep %s",
  (_what, usage, kept) => {
    const expected = Object.keys(kept).length === 0 ? {} : { usage: kept };
    expect(usageOf(amountsAt({ usage }, "usage"))).toEqual(expected);
  },
);

it("usageOf keeps the first amounts of a job's usage, as many as fit into 1 KB of JSON, and leaves out the rest", () => {
  const names = Array.from({ length: 100 }, (_, index) => `amount_${index + 100}`);
  const { usage = {} } = usageOf(Object.fromEntries(names.map((name) => [name, 1])));
  const kept = Object.keys(usage);
  expect(kept).toEqual(names.slice(0, kept.length));
  expect(JSON.stringify(usage).length).toBeLessThanOrEqual(1024);
  expect(JSON.stringify({ ...usage, amount_1: 1, amount_2: 1 }).length).toBeGreaterThan(1024);
});

it("usageOf leaves out an amount that the provider's adapter could not read", () => {
  expect(usageOf({ credits: null, cost: 2 })).toEqual({ usage: { cost: 2 } });
});
