import * as fc from "fast-check";
import { expect, it } from "vitest";
import { firstChars, isWellFormed, wellFormed } from "../../src/core/text.ts";

// A right change must not fail by chance.
fc.configureGlobal({ seed: 20_261_121 });

it("wellFormed, which makes a text fit for strict parsers, replaces each lone surrogate and each U+0000 by U+FFFD and nothing else", () => {
  expect(wellFormed("\0a\ud83d😀\ude00\u0001")).toBe("\ufffda\ufffd😀\ufffd\u0001");
});

it("isWellFormed is true exactly for the texts that wellFormed leaves as they are: those that UTF-8 can carry and that have no U+0000", () => {
  fc.assert(
    fc.property(
      fc.string({ unit: "binary" }),
      fc.constantFrom("", "\0", "\ud83d", "😀"),
      (text, odd) => {
        const given = text + odd;
        const bytes = new TextEncoder().encode(given);
        const isCarried = new TextDecoder().decode(bytes) === given && !bytes.includes(0);
        expect(isWellFormed(given)).toBe(isCarried);
        expect(wellFormed(given) === given).toBe(isCarried);
        expect(isWellFormed(wellFormed(given))).toBe(true);
      },
    ),
  );
});

it.each([
  ["ab", 3, "ab"],
  ["ab", 2, "ab"],
  ["abc", 2, "ab"],
  ["a😀", 2, "a"],
  ["a😀", 3, "a😀"],
  ["a😀b", 3, "a😀"],
])(
  "firstChars cuts the text %j to at most %i UTF-16 units without leaving half of a surrogate pair: it returns %j",
  (text, max, cut) => {
    expect(firstChars(text, max)).toBe(cut);
  },
);
