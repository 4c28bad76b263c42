import * as fc from "fast-check";
import { changed, rarely, weighted } from "./fuzz.ts";
import { byteChange } from "./mutations.ts";
import { textChange } from "./text.ts";

/** Names that the members of generated objects have, often several times. */
export const NAMES = ["model", "metadata", "id", "", "a/b~c", "__proto__", "é", "😀"];

const NUMBERS = ["0", "-0", "1", "-1.50", "10E+2", "1e400", "5e-324", "9007199254740993"];
const LONG_NUMBER = `-${"1234567890".repeat(3)}.${"0".repeat(5)}e-07`;
const WORDS = ["true", "false", "null"];
const LETTERS = ["a", "é", "€", "😀", "\u2028", "\u007f", "\ufeff", " ", "{", "}", "]", ",", "/*"];
const ESCAPES = ["n", '"', "\\", "/", "b", "u00e9", "uD83D", "ude00", "u0000"];
const CHARACTERS = [...LETTERS, ...ESCAPES.map((escape) => `\\${escape}`)];

const blanks = weighted([5, fc.constant("")], [1, fc.constantFrom(" ", "\n", "\t", "\r\n  ")]);
const stringText = weighted(
  [20, fc.array(fc.constantFrom(...CHARACTERS), { maxLength: 6 }).map((chars) => chars.join(""))],
  [1, fc.constantFrom("x".repeat(1_023), "é\\u0061😀".repeat(400), "\\u0062".repeat(1_025))],
).map((chars) => `"${chars}"`);

/** Generator of a name, of which any characters are spelt as escapes. */
const nameText = fc
  .tuple(fc.constantFrom(...NAMES), weighted([3, fc.constant(0)], [1, fc.nat(255)]))
  .map(([name, escaped]) => {
    const units = name.split("");
    const isWhole = (escaped & 1) === 0;
    // Half of a surrogate pair as it is and half as an escape would not be UTF-8.
    const isEscaped = (i: number) => (name === "😀" ? !isWhole : ((escaped >> i) & 1) === 1);
    return `"${units.map((unit, i) => (isEscaped(i) ? escapeOf(unit) : unit)).join("")}"`;
  });

/** Generator of the text of an object in any spelling, with names that stand in it several times. */
const objectText: fc.Arbitrary<string> = fc.letrec<{ value: string; object: string }>((tie) => ({
  value: weighted(
    [3, fc.constantFrom(...NUMBERS, ...WORDS, LONG_NUMBER)],
    [3, stringText],
    [3, tie("object")],
    [1, listOf(tie("value"), "[", "]")],
  ),
  object: listOf(
    fc
      .tuple(nameText, blanks, blanks, tie("value"))
      .map(([name, before, after, value]) => `${name}${before}:${after}${value}`),
    "{",
    "}",
  ),
})).object;

const ODD_CHARACTERS = Array.from("'\\#`\u00a0\ufeff\u0000\u000b\u2028\t\n");
const SYNTAX = Array.from(',:{}[]"0-+.e');
const PIECES = ["//x\n", "/**/", "NaN", "null", "\\u00e", "\\x41", '"model":1,', "{}", "[1]"];
/** Generator of one change of a text that matters to a reader of JSON. */
const hostileChange = fc
  .tuple(
    fc.nat(),
    fc.constantFrom(0, 0, 1),
    fc.constantFrom("", ...ODD_CHARACTERS, ...SYNTAX, ...PIECES),
  )
  .map(([position, removed, inserted]) => (text: string) => {
    const at = position % (text.length + 1);
    return text.slice(0, at) + inserted + text.slice(at + removed);
  });

/** Generator of objects with a value in so many lists, around the limit of 256 levels. */
const nestedText = fc
  .tuple(fc.integer({ min: 250, max: 260 }), objectText)
  .map(([levels, value]) => `{"id":${"[".repeat(levels)}${value}${"]".repeat(levels)}}`);

/** Generator of the bytes of an object, and of texts that resemble one. */
export const bodyBytes: fc.Arbitrary<Uint8Array<ArrayBuffer>> = fc
  .tuple(
    changed(
      weighted([40, objectText], [1, nestedText]),
      weighted([8, hostileChange], [1, textChange]),
      2,
    ),
    rarely(4, byteChange),
    rarely(2, fc.constant("\ufeff")),
  )
  .map(([text, damage, mark]) => {
    const bytes = new Uint8Array(new TextEncoder().encode((mark ?? "") + text));
    return damage?.(bytes) ?? bytes;
  });

function listOf(items: fc.Arbitrary<string>, open: string, close: string): fc.Arbitrary<string> {
  return fc
    .tuple(fc.array(items, { maxLength: 4 }), blanks, blanks)
    .map(
      ([texts, before, after]) => open + before + texts.join(`${after},${before}`) + after + close,
    );
}

function escapeOf(unit: string): string {
  return `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`;
}
