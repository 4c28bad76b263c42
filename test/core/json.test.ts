import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { appendMembers, jsonEqual, type JsonValue } from "../../src/core/json.ts";

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
  ])("jsonEqual, which compares JSON values, treats %s and %s as equal", (a, b) => {
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
    "jsonEqual, which compares JSON values, treats %s and %s as different, in either order",
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

it.each([
  ["{}", "{}", "{}"],
  ["{}", '{"b":2}', '{"b":2}'],
  ['{"a":1}', "{}", '{"a":1}'],
  ['{ "a": 1.0 }', '{"b":2}', '{ "a": 1.0 ,"b":2}'],
])(
  "appendMembers joins the JSON objects %s and %s to one with the members of both, %s, and keeps their text",
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
