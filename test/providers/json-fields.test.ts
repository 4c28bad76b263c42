import * as fc from "fast-check";
import { expect, it } from "vitest";
import { parseJson } from "../../src/core/json.ts";
import {
  at,
  booleanAt,
  decimalOf,
  firstAt,
  idAt,
  integerAt,
  isoMsAt,
  isoMsOf,
  jsonAt,
  listAt,
  numberAt,
  seedAt,
  textAt,
  urlsOf,
} from "../../src/providers/json-fields.ts";

// A right change must not fail by chance.
fc.configureGlobal({ seed: 20_261_121 });

const ISO = "2026-01-01T00:00:00.500Z";
const ISO_MS = 1_767_225_600_500;

it.each([
  [{ a: [{ b: 1 }] }, ["a", 0, "b"], 1],
  [JSON.parse('{"__proto__": 1}'), ["__proto__"], 1],
  [{}, ["constructor"], undefined],
  [null, ["a", "b"], undefined],
  [undefined, ["a", "b"], undefined],
  ["text", ["a", "b"], undefined],
  [7, ["a", "b"], undefined],
  [{ a: null }, ["a", "b"], undefined],
  [[], ["a", "b"], undefined],
])(
  "at(), which reads a value in JSON by a path of member names, finds in %j at the path %j the value %j",
  (value, path, found) => {
    expect(at(value, ...path)).toBe(found);
  },
);

it.each([
  ['"0042"', "0042"],
  ["205258526306433", "205258526306433"],
  ["9007199254740991", "9007199254740991"],
  ["9007199254740993", "9007199254740993"],
  ["115334141465231361", "115334141465231361"],
  ["-115334141465231361", "-115334141465231361"],
  ["1e30", null],
  ["1.5", null],
])(
  "idAt, which reads an id that is a text or an integer, keeps all its digits: it returns for the JSON value %s the value %j",
  (json, id) => {
    expect(idAt(parseJson(`{"id":${json}}`), "id")).toBe(id);
  },
);

it.each([
  [5, 5, 5],
  [5.041, 5.041, 5],
  [4.97, 4.97, 5],
  ["5", 5, 5],
  ["5.1", 5.1, 5],
  ["5s", 5, 5],
  [" 5 s ", 5, 5],
  ["-1", -1, -1],
])(
  'numberAt, which reads a number or a text like "5s", reads %j as %d, and integerAt rounds that to %d',
  (a, number, integer) => {
    expect([numberAt({ a }, "a"), integerAt({ a }, "a")]).toEqual([number, integer]);
  },
);

it.each([
  ["42", 42],
  ['"42"', 42],
  ["5.04", 5],
  ["196619188014358660", "196619188014358660"],
  ['"18446744073709551615"', "18446744073709551615"],
  ["-9223372036854775808", "-9223372036854775808"],
  ['"random"', null],
  ["1e30", null],
  ["null", null],
])(
  "seedAt, which reads a seed, returns for the JSON value %s a number, or the digits that a number cannot hold: %j",
  (json, seed) => {
    expect(seedAt(parseJson(`{"seed":${json}}`), "seed")).toBe(seed);
  },
);

it('numberAt and integerAt, which read a number or a text like "5s", return null for other texts, other types and huge numbers', () => {
  const values = ["", "s", "five", "5 m", "1e3", true, null, [5], NaN, 1e308, "9".repeat(400)];
  const found = values.flatMap((a) => [numberAt({ a }, "a"), integerAt({ a }, "a")]);
  expect(found.filter((number) => number !== null)).toEqual([]);
});

it("decimalOf, which reads a plain decimal number or text, returns null for texts that JavaScript would convert to a number", () => {
  expect([7, -0.5, "7", "-0.5", " 5.041 "].map(decimalOf)).toEqual([7, -0.5, 7, -0.5, 5.041]);
  const others = ["", " ", "0x10", "1e3", "Infinity", "5s", "+5", ".5", "5.", true, null, [5]];
  expect(others.map(decimalOf).filter((number) => number !== null)).toEqual([]);
});

it("firstAt, which reads a field that has several names, returns the value of the first name that has one, also zero", () => {
  const names = ["a", "b"];
  const values = [{ a: "x", b: 2 }, { b: 2, a: 0 }, { b: 3 }, {}];
  expect(values.map((value) => firstAt(value, names, numberAt))).toEqual([2, 0, 3, null]);
});

it("listAt, which reads a field as a list, returns a list of one for a value that is not a list, and an empty list for a missing field", () => {
  const values = [{ a: [1, 2] }, { a: "x" }, { a: null }, {}];
  expect(values.map((value) => listAt(value, "a"))).toEqual([[1, 2], ["x"], [], []]);
});

it("urlsOf, which filters a list, keeps http and https URLs in their order, and drops all other values", () => {
  const other = ["ftp://a.example", "data:,x", 7, null];
  const values = ["https://a.example/1", ...other, "http://b.example"];
  expect(urlsOf(values)).toEqual(["https://a.example/1", "http://b.example"]);
});

it.each<[string, string, (value: unknown, key: string) => unknown, unknown[], unknown[]]>([
  ["textAt", "a text that is not empty", textAt, ["x", "", 7, null, ["x"], {}], ["x"]],
  ["booleanAt", "true and false", booleanAt, [true, false, "true", 0, null], [true, false]],
  [
    "isoMsAt",
    "a time in ISO 8601 as Unix milliseconds",
    isoMsAt,
    [ISO, "yesterday", "5", 1767225600, ISO.slice(0, -1)],
    [ISO_MS],
  ],
  [
    "jsonAt",
    "the parsed value of a JSON text",
    jsonAt,
    ['{"b":[1]}', '{"b":', { b: 1 }],
    [{ b: [1] }],
  ],
])(
  "%s, which reads a field of a JSON object, returns %s, and no value for anything else",
  (_name, _what, read, values, found) => {
    const rest = values.slice(found.length).map(() => (read === jsonAt ? undefined : null));
    expect(values.map((a) => read({ a }, "a"))).toEqual([...found, ...rest]);
  },
);

const NOON_MS = Date.UTC(2026, 0, 1, 12);

it.each<[string, string | null, number | null]>([
  ["2026-01-01T12:00:00Z", null, NOON_MS],
  ["2026-01-01T12:00:00.500000Z", "+08:00", NOON_MS + 500],
  ["2026-01-01T20:00:00+08:00", "Z", NOON_MS],
  ["2026-01-01T20:00:00+0800", null, NOON_MS],
  ["2026-01-01T04:00-08", null, NOON_MS],
  ["2026-01-01 12:00:00 UTC", null, NOON_MS],
  ["2026-01-01T12:00:00", null, null],
  ["2026-01-01 12:00:00", null, null],
  ["2026-01-01 12:00:00", "Z", NOON_MS],
  ["2026-01-01 20:00:00", "+08:00", NOON_MS],
  ["2026-01-01T20:00:00.000", "+08:00", NOON_MS],
  ["2026-01-01T99:00:00Z", null, null],
  ["2026-01-01", "Z", null],
  ["5", "Z", null],
])(
  "isoMsOf, which reads a time, returns for %j with the default time zone %j the time %j: without a zone there is no time",
  (text, zone, ms) => {
    expect(isoMsOf(text, zone)).toBe(ms);
  },
);

const urlsAt = (value: unknown, key: string) => urlsOf(listAt(value, key));

it("textAt, numberAt and the other functions that read a field of JSON never throw, whatever JSON value the field has", () => {
  const readers = [textAt, idAt, numberAt, integerAt, seedAt, booleanAt, isoMsAt, jsonAt, urlsAt];
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      for (const read of readers) expect(() => read({ value }, "value")).not.toThrow();
    }),
  );
});
