import { expect, it } from "vitest";
import { faultsOf, ownPatterns, patternsIn } from "./patterns.ts";

const { patterns, unreadable } = ownPatterns();

it("no regular expression of the relay, the scripts of its pages or the client is put together at run time, which would keep tests from examining it", () => {
  expect(patterns.length).toBeGreaterThan(150);
  expect(unreadable).toEqual([]);
});

it("a quick examination finds no regular expression in the relay, its pages or the client that takes more than linear time", () => {
  expect(faultsOf(patterns, "quick")).toEqual([]);
});

it.each([
  ["a literal", String.raw`const counts = text.matchAll(/(\w+):(\d{1,9})/g);`],
  ["a text", String.raw`const counts = new RegExp("(\\w+):(\\d{1,9})", "g");`],
  ["a template", "const counts = globalThis.RegExp(`(\\\\w+):(\\\\d{1,9})`, `g`);"],
])(
  "a quick examination of regular expressions finds a planted one of quadratic time, written as %s, with its file, its line and a text that shows it",
  (_, code) => {
    const planted = patternsIn("planted.ts", `const before = 1;\n${code}`).patterns;
    expect(planted).toEqual([
      { at: "planted.ts:2", source: String.raw`(\w+):(\d{1,9})`, flags: "g" },
    ]);
    const [fault] = faultsOf(planted, "quick");
    expect(fault).toMatch(/^planted\.ts:2: .* takes 2nd degree polynomial time for '.'\.repeat\(/);
  },
);

it("a quick examination of regular expressions finds a planted one of exponential time in the pattern attribute of an HTML input", () => {
  const planted = patternsIn("planted.tsx", `const field = <input pattern="(a+)+b" />;`).patterns;
  expect(faultsOf(planted, "quick")).toEqual([expect.stringContaining("exponential time")]);
});

it("a quick examination of regular expressions finds a planted one of exponential time with a lookahead, which can be examined only by trying texts", () => {
  const planted = patternsIn("planted.ts", String.raw`const sent = /(?=\w)(\w+\s?)+;/;`).patterns;
  expect(faultsOf(planted, "quick")).toEqual([expect.stringContaining("exponential (fuzz) time")]);
});

it("a planted regular expression whose text is put together at run time is reported as one that cannot be examined", () => {
  const code = "const field = (name: string) => new RegExp(`${name}=(a+)+b`);";
  expect(patternsIn("planted.ts", code)).toEqual({ patterns: [], unreadable: ["planted.ts:1"] });
});
