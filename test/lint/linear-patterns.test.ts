import { expect, it } from "vitest";
import { faultOf, patternsIn, patternsOf } from "./patterns.ts";

const { patterns, unreadable } = patternsOf("src/**/*.{ts,tsx,js}", "client/src/**/*.ts");

it("every regular expression of the relay, the scripts of its pages and the client is written where it can be examined", () => {
  expect(patterns.length).toBeGreaterThan(150);
  expect(unreadable).toEqual([]);
});

it(
  "no regular expression of the relay, the scripts of its pages or the client takes more than linear time for any text",
  { timeout: 600_000 },
  () => {
    const distinct = new Map(patterns.map((each) => [`/${each.source}/${each.flags}`, each]));
    const faults = Array.from(distinct.values(), faultOf).filter((fault) => fault !== null);
    expect(faults).toEqual([]);
  },
);

it.each([
  ["a literal", String.raw`const counts = text.matchAll(/(\w+):(\d{1,9})/g);`],
  ["a text", String.raw`const counts = new RegExp("(\\w+):(\\d{1,9})", "g");`],
  ["a template", "const counts = globalThis.RegExp(`(\\\\w+):(\\\\d{1,9})`, `g`);"],
])(
  "a planted pattern of quadratic time, written as %s, is found with its file, its line and a text that shows it",
  (_, code) => {
    const [pattern] = patternsIn("planted.ts", `const before = 1;\n${code}`).patterns;
    expect(pattern).toEqual({
      at: "planted.ts:2",
      source: String.raw`(\w+):(\d{1,9})`,
      flags: "g",
    });
    const fault = pattern === undefined ? null : faultOf(pattern);
    expect(fault).toMatch(/^planted\.ts:2: .* takes 2nd degree polynomial time for '.'\.repeat\(/);
  },
);

it("a planted pattern of exponential time in the attribute of a field is found", () => {
  const [pattern] = patternsIn("planted.tsx", `const field = <input pattern="(a+)+b" />;`).patterns;
  expect(pattern === undefined ? null : faultOf(pattern)).toContain("exponential time");
});

it("a planted pattern that is put together at run time is named as one that cannot be examined", () => {
  const code = "const field = (name: string) => new RegExp(`${name}=(a+)+b`);";
  expect(patternsIn("planted.ts", code)).toEqual({ patterns: [], unreadable: ["planted.ts:1"] });
});
