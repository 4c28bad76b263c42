import { expect, it } from "vitest";
import { pathOf } from "../../../src/console/session/return-to.ts";
import { codeTokens } from "../../../src/console/parts/code.tsx";
import {
  countText,
  durationText,
  percentText,
  relativeText,
  utcText,
} from "../../../src/console/parts/format.ts";
import { signerText } from "../../../src/console/task/doctor-page.tsx";
import type { SignerName } from "../../../src/security/signers.ts";
import { textParts } from "../../../src/console/parts/hostile.tsx";

const AT = Date.UTC(2026, 8, 2, 14, 31, 7, 41);

it.each([
  ["the duration 4 ms", "4 ms", durationText(4)],
  ["the duration 9,940 ms", "9.9 s", durationText(9_940)],
  ["the duration 10,000 ms", "10 s", durationText(10_000)],
  ["the duration 180,000 ms", "3 min", durationText(180_000)],
  ["the duration 128,300 ms", "2 min 8 s", durationText(128_300)],
  ["the duration 7,500,000 ms", "2 h 5 min", durationText(7_500_000)],
  ["the duration 90,000,000 ms", "1 d 1 h", durationText(90_000_000)],
  ["a time 3,000 ms ago", "3 s ago", relativeText(AT - 3_000, AT)],
  ["a time 125,000 ms ahead", "in 2 min", relativeText(AT + 125_000, AT)],
  ["a time 40 ms ago", "now", relativeText(AT - 40, AT)],
  ["the time 2026-09-02T14:31:07.041Z", "02 Sep 14:31:07", utcText(AT)],
  [
    "the time 2026-09-02T14:31:07.041Z to the millisecond",
    "02 Sep 14:31:07.041",
    utcText(AT, "ms"),
  ],
  ["the share 0.99996", "99.9 %", percentText(0.99996)],
  ["the share 1", "100 %", percentText(1)],
  ["the share 0.0002", "0.1 %", percentText(0.0002)],
  ["the count 12403", "12,403", countText(12_403)],
])(
  "the console writes durations, times, shares and counts in a short form for people: %s is written as %j",
  (_, expected, text) => {
    expect(text).toBe(expected);
  },
);

it("in a text that others have written, the console shows the names of invisible characters (U+202E), and it shows at most 2,000 characters of the text", () => {
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

it("in a text that others have written, the console names at most 100 invisible characters, and states how many characters follow", () => {
  const parts = textParts(`a${"\u202E".repeat(150)}b`);
  expect(parts).toHaveLength(102);
  expect(parts.filter(({ kind }) => kind === "hidden")).toHaveLength(100);
  expect(parts.at(-1)).toEqual({ kind: "rest", text: "… 51 more characters" });
  expect(textParts("\u202E".repeat(100)).map(({ kind }) => kind)).not.toContain("rest");
});

it("codeTokens, by which the console colours JSON, divides a text into tokens of types such as key, string and number, which together are the same text", () => {
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

it("codeTokens, by which the console colours JSON, reads a string without its closing quotation mark as one that reaches to the end of the text", () => {
  expect(codeTokens('["a", "b \\" c\n')).toEqual([
    { kind: "plain", text: "[" },
    { kind: "string", text: '"a"' },
    { kind: "plain", text: ", " },
    { kind: "string", text: '"b \\" c\n' },
  ]);
});

it("a link of a console page to the page's own path begins with one slash even if the URL's path began with two, which would lead to another host", () => {
  const url = new URL("https://relay.example.com//evil.example/?page=2");
  expect(pathOf(url)).toBe("/evil.example/?page=2");
});

it.each<[string, Partial<SignerName>, string | undefined]>([
  ["the relay's current secret", {}, undefined],
  ["secret no. 2 of acme (current)", { generation: 2 }, "acme"],
  ["secret no. 2 (current)", { generation: 2 }, undefined],
  ["secret no. 2 of the endpoint orders (current)", { generation: 2, endpoint: "orders" }, "acme"],
])("the console describes a secret that has signed as: %s", (text, facts, account) => {
  expect(signerText({ scheme: "v1", age: "current", ...facts }, account)).toBe(text);
});
