import { expect, it } from "vitest";
import { codeTokens } from "../../../src/console/code-tokens.ts";
import {
  countText,
  durationText,
  percentText,
  relativeText,
  utcText,
} from "../../../src/console/format.ts";
import { textParts } from "../../../src/console/hostile-text.ts";

const AT = Date.UTC(2026, 8, 2, 14, 31, 7, 41);

it.each([
  [durationText(4), "4 ms"],
  [durationText(9_940), "9.9 s"],
  [durationText(10_000), "10 s"],
  [durationText(180_000), "3 min"],
  [durationText(128_300), "2 min 8 s"],
  [durationText(7_500_000), "2 h 5 min"],
  [durationText(90_000_000), "1 d 1 h"],
  [relativeText(AT - 3_000, AT), "3 s ago"],
  [relativeText(AT + 125_000, AT), "in 2 min"],
  [relativeText(AT - 40, AT), "now"],
  [utcText(AT), "02 Sep 14:31:07"],
  [utcText(AT, "ms"), "02 Sep 14:31:07.041"],
  [percentText(0.99996), "99.9 %"],
  [percentText(1), "100 %"],
  [percentText(0.0002), "0.1 %"],
  [countText(12_403), "12,403"],
])("a duration, a time, a share or a count is written as %s, expected %s", (text, expected) => {
  expect(text).toBe(expected);
});

it("text of strangers is divided at characters that cannot be seen, which are named, and cut at 2,000 characters", () => {
  expect(textParts("a\u202Eb\u0000\nc\ud800")).toEqual([
    { kind: "text", text: "a" },
    { kind: "hidden", text: "U+202E" },
    { kind: "text", text: "b" },
    { kind: "hidden", text: "U+0000" },
    { kind: "text", text: "\nc" },
    { kind: "hidden", text: "U+D800" },
  ]);
  expect(textParts("😀".repeat(3_500))).toEqual([
    { kind: "text", text: "😀".repeat(2_000) },
    { kind: "rest", text: "… 1,500 more characters" },
  ]);
});

it("the tokens of a JSON text are together that text, and tell keys from strings", () => {
  const text = '{"a": "b \\" c", "n": [-1.5e3, true, null]}';
  const tokens = codeTokens(text);
  expect(tokens.map((token) => token.text).join("")).toBe(text);
  expect(tokens.filter(({ kind }) => kind !== "plain")).toEqual([
    { kind: "key", text: '"a"' },
    { kind: "string", text: '"b \\" c"' },
    { kind: "key", text: '"n"' },
    { kind: "number", text: "-1.5e3" },
    { kind: "word", text: "true" },
    { kind: "word", text: "null" },
  ]);
});
