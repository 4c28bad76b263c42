import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  appendMembers,
  isLongInteger,
  jsonEqual,
  type JsonValue,
  parseJson,
  parseJsonAsSent,
} from "../../src/core/json.ts";

// A right change must not fail by chance.
fc.configureGlobal({ seed: 20_261_121 });

function parsed(text: string): JsonValue {
  return JSON.parse(text);
}

function isList(value: JsonValue): value is readonly JsonValue[] {
  return Array.isArray(value);
}

function shuffled(value: JsonValue): JsonValue {
  if (typeof value !== "object" || value === null) return value;
  if (isList(value)) return value.map(shuffled);
  const entries = Object.entries(value).toReversed();
  return Object.fromEntries(entries.map(([key, item]) => [key, shuffled(item)]));
}

const json = fc.json({ maxDepth: 4 });

describe("jsonEqual", () => {
  it.each([
    ["null", "null"],
    ["0", "-0"],
    ["1", "1.0"],
    ['"a"', '"\\u0061"'],
    ["[]", "[]"],
    ["{}", "{}"],
    ['{"a":1,"b":2}', '{"b":2,"a":1}'],
    ['[{"a":[1,{"b":null}]}]', '[{"a":[1,{"b":null}]}]'],
    ['{"__proto__":{"a":1}}', '{"__proto__":{"a":1}}'],
  ])("jsonEqual, which compares JSON values, finds %s and %s equal", (a, b) => {
    expect(jsonEqual(parsed(a), parsed(b))).toBe(true);
  });

  it.each([
    ["null", "0"],
    ["null", "false"],
    ["null", "{}"],
    ["null", "[]"],
    ["0", "false"],
    ["0", '"0"'],
    ["1", "2"],
    ['""', "[]"],
    ["[]", "{}"],
    ["[0]", '{"0":0}'],
    ["[1,2]", "[2,1]"],
    ["[1]", "[1,2]"],
    ["[null]", "[]"],
    ["[]", "[null]"],
    ['{"a":1}', '{"a":2}'],
    ['{"a":1}', '{"b":1}'],
    ['{"a":null}', "{}"],
    ['{"a":null}', '{"b":null}'],
    ['{"a":1}', '{"a":1,"b":1}'],
    ['{"__proto__":{"a":1}}', '{"__proto__":{"a":2}}'],
    ['{"__proto__":{}}', "{}"],
    ['{"toString":null}', '{"a":null}'],
    ['{"constructor":1}', '{"a":1}'],
  ])(
    "jsonEqual, which compares JSON values, finds %s and %s different, in either order",
    (a, b) => {
      expect(jsonEqual(parsed(a), parsed(b))).toBe(false);
      expect(jsonEqual(parsed(b), parsed(a))).toBe(false);
    },
  );

  it("jsonEqual, which compares JSON values, ignores the order of keys at any depth", () => {
    fc.assert(fc.property(json, (text) => jsonEqual(parsed(text), shuffled(parsed(text)))));
  });

  it("jsonEqual, which compares JSON values, is symmetric and agrees with an independent comparison on random values", () => {
    fc.assert(
      fc.property(json, json, (a, b) => {
        const same = canonical(parsed(a)) === canonical(parsed(b));
        expect(jsonEqual(parsed(a), parsed(b))).toBe(same);
        expect(jsonEqual(parsed(b), parsed(a))).toBe(same);
      }),
    );
  });
});

describe("parseJson", () => {
  it.each([
    ["the first half of a pair as an escape", String.raw`"a\ud83d"`, "a\ufffd"],
    ["the second half in capitals", String.raw`"\uDE00a"`, "\ufffda"],
    ["two halves in the wrong order", String.raw`"\ude00\ud83d"`, "\ufffd\ufffd"],
    ["an unescaped half of a surrogate pair", '"a\ud83d"', "a\ufffd"],
    ["U+0000", String.raw`"a\u0000b"`, "a\ufffdb"],
    ["a name with half a pair", String.raw`{"a\ud83d":1}`, { "a\ufffd": 1 }],
    [
      "a name with U+0000",
      String.raw`{"__proto__":{"\u0000":[]}}`,
      parsed('{"__proto__":{"\ufffd":[]}}'),
    ],
    [
      "a text in a list in an object",
      String.raw`{"a":[{"b":["\u0000"]}]}`,
      { a: [{ b: ["\ufffd"] }] },
    ],
  ])(
    "parseJson, which reads JSON from outside, puts U+FFFD in place of characters that strict parsers refuse: %s",
    (_, text, value) => {
      expect(parseJson(text)).toStrictEqual(value);
    },
  );

  it.each([
    ["a pair as two escapes", String.raw`"\ud83d\ude00"`, "😀"],
    ["an unescaped surrogate pair", '"😀"', "😀"],
    ["a backslash before u0000", String.raw`"\\u0000 \\ud83d"`, String.raw`\u0000 \ud83d`],
    ["other control characters", String.raw`"\u0001\u001f"`, "\u0001\u001f"],
    ["U+FFFE", String.raw`"\ufffe"`, "\ufffe"],
  ])(
    "parseJson, which reads JSON from outside, leaves well-formed texts as they are: %s",
    (_, text, value) => {
      expect(parseJson(text)).toStrictEqual(value);
    },
  );

  it.each([
    ["9007199254740991", 9_007_199_254_740_991],
    ["-9007199254740991", -9_007_199_254_740_991],
    ["9007199254740992", "9007199254740992"],
    ["9007199254740993", "9007199254740993"],
    ["-9007199254740993", "-9007199254740993"],
    ["18446744073709551615", "18446744073709551615"],
    ['{"id":115334141465231361}', { id: "115334141465231361" }],
    ['{"id": 115334141465231361 ,"b":1}', { id: "115334141465231361", b: 1 }],
    ["[1,115334141465231361]", [1, "115334141465231361"]],
    ["[115334141465231361\n]", ["115334141465231361"]],
    [
      '{"a":{"b":[{"seed":\t-115334141465231361}]}}',
      { a: { b: [{ seed: "-115334141465231361" }] } },
    ],
    ['{"__proto__":115334141465231361}', parsed('{"__proto__":"115334141465231361"}')],
    ["1.5e300", 1.5e300],
    ["[115334141465231361.5]", [115_334_141_465_231_360]],
    ["[115334141465231361e0]", [115_334_141_465_231_360]],
    ["[0.1234567890123456789]", [0.123_456_789_012_345_68]],
    [
      "[115334141465231361,0.1234567890123456789]",
      ["115334141465231361", 0.123_456_789_012_345_68],
    ],
    [
      '["115334141465231361", ":1153341414652313610"]',
      ["115334141465231361", ":1153341414652313610"],
    ],
  ])(
    "parseJson, which reads JSON from outside, reads an integer beyond 2^53 as a text with all its digits, and other values as JSON.parse does: %s as %j",
    (text, value) => {
      expect(parseJson(text)).toStrictEqual(value);
      expect(parseJsonAsSent(text)).toStrictEqual(value);
    },
  );

  it.each(["", "{", "undefined", "NaN", "1153341414652313610,", String.raw`"\ud83d`, "[1n]"])(
    "parseJson, which reads JSON from outside, reads %j, which is not JSON, as undefined",
    (text) => {
      expect(parseJson(text)).toBeUndefined();
    },
  );

  it.each([
    ["half a pair", String.raw`"\ud83d"`],
    ["a long number", "1153341414652313610"],
  ])(
    "parseJson, which reads JSON from outside, does not throw for 200,000 nested lists around %s",
    (_, inner) => {
      const deep = `${"[".repeat(200_000)}${inner}${"]".repeat(200_000)}`;
      expect(() => parseJson(deep)).not.toThrow();
    },
  );

  it("parseJson reads any JSON as JSON.parse does, where all texts are well formed and no integer is beyond 2^53", () => {
    fc.assert(
      fc.property(fc.jsonValue({ stringUnit: "grapheme" }), (value) => {
        const text = JSON.stringify(value).replaceAll(String.raw`\u0000`, "");
        fc.pre(!/\d{16}/.test(text));
        expect(parseJson(text)).toStrictEqual(JSON.parse(text));
      }),
    );
  });
});

it("parseJsonAsSent, which reads the JSON in a client's request, leaves lone surrogates and U+0000 as they are, because the relay can refuse the request", () => {
  const text = String.raw`{"a\u0000":"\ud83d"}`;
  expect(parseJsonAsSent(text)).toStrictEqual({ "a\0": "\ud83d" });
});

it.each<[unknown, boolean]>([
  ["9007199254740993", true],
  ["-9007199254740993", true],
  ["9007199254740991", false],
  ["0.9007199254740993", false],
  ["a9007199254740993", false],
  ["9007199254740993a", false],
  ["09007199254740993", false],
  [9_007_199_254_740_992, false],
  [null, false],
])(
  "isLongInteger tells the text of an integer that no JavaScript number represents exactly from other values: %j, %s",
  (value, isLong) => {
    expect(isLongInteger(value)).toBe(isLong);
  },
);

it.each([
  ["{}", "{}", "{}"],
  ["{}", '{"b":2}', '{"b":2}'],
  ['{"a":1}', "{}", '{"a":1}'],
  ['{ "a": 1.0 }', '{"b":2}', '{ "a": 1.0 ,"b":2}'],
])(
  "appendMembers joins the JSON objects %s and %s to one with the members of both, %s, in which each member has its original text",
  (object, members, text) => {
    expect(appendMembers(object, members)).toBe(text);
  },
);

/** Returns the JSON text of a value with sorted keys. */
function canonical(value: JsonValue): string {
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  if (isList(value)) return `[${value.map(canonical).join(",")}]`;
  const members = Object.entries(value).map(([k, v]) => `${JSON.stringify(k)}:${canonical(v)}`);
  return `{${members.toSorted().join(",")}}`;
}
