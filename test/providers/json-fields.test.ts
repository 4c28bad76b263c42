import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  at,
  booleanAt,
  idAt,
  integerAt,
  isoMsAt,
  jsonAt,
  listAt,
  numberAt,
  textAt,
  urlsOf,
} from "../../src/providers/json-fields.ts";

describe("at", () => {
  it("follows keys and indices", () => {
    expect(at({ a: [{ b: 1 }] }, "a", 0, "b")).toBe(1);
  });

  it.each([[null], [undefined], ["text"], [7], [{ a: null }], [[]]])(
    "finds nothing where %j ends early",
    (value) => {
      expect(at(value, "a", "b")).toBeUndefined();
    },
  );

  it("finds only what was written, nothing inherited", () => {
    expect(at({}, "constructor")).toBeUndefined();
    expect(at(JSON.parse('{"__proto__": 1}'), "__proto__")).toBe(1);
  });
});

describe("textAt", () => {
  it("takes text with something in it", () => {
    expect(textAt({ a: "x" }, "a")).toBe("x");
  });

  it.each([[""], [7], [null], [["x"]], [{}]])("counts %j as absent", (a) => {
    expect(textAt({ a }, "a")).toBeNull();
  });
});

describe("idAt", () => {
  it("takes text as it is and numbers as their digits", () => {
    expect(idAt({ id: "0042" }, "id")).toBe("0042");
    expect(idAt({ id: 205258526306433 }, "id")).toBe("205258526306433");
    expect(idAt({ id: 2 ** 53 - 1 }, "id")).toBe("9007199254740991");
  });

  it.each([["9007199254740993"], ["115334141465231361"], ["1e30"], ["1.5"]])(
    "counts the number %s as absent, because parsing may have changed it",
    (digits) => {
      expect(idAt(JSON.parse(`{"id":${digits}}`), "id")).toBeNull();
    },
  );
});

describe("numberAt and integerAt", () => {
  it.each([
    [5, 5],
    [5.041, 5.041],
    ["5", 5],
    ["5.1", 5.1],
    ["5s", 5],
    [" 5 s ", 5],
    ["-1", -1],
  ])("reads %j as %d", (a, expected) => {
    expect(numberAt({ a }, "a")).toBe(expected);
  });

  it.each([
    [""],
    ["s"],
    ["five"],
    ["5 m"],
    ["1e3"],
    [true],
    [null],
    [[5]],
    [NaN],
    [1e308],
    ["9".repeat(400)],
  ])("reads no number in %j", (a) => {
    expect(numberAt({ a }, "a")).toBeNull();
    expect(integerAt({ a }, "a")).toBeNull();
  });

  it("rounds a measured length to what was asked for", () => {
    expect(integerAt({ a: "5.041" }, "a")).toBe(5);
    expect(integerAt({ a: 4.97 }, "a")).toBe(5);
  });
});

describe("booleanAt", () => {
  it("takes true and false, not what looks like them", () => {
    expect(booleanAt({ a: false }, "a")).toBe(false);
    expect(booleanAt({ a: "true" }, "a")).toBeNull();
    expect(booleanAt({ a: 0 }, "a")).toBeNull();
  });
});

describe("listAt and urlsOf", () => {
  it("takes a single value for a list of one and nothing for an empty one", () => {
    expect(listAt({ a: [1, 2] }, "a")).toEqual([1, 2]);
    expect(listAt({ a: "x" }, "a")).toEqual(["x"]);
    expect(listAt({ a: null }, "a")).toEqual([]);
    expect(listAt({}, "a")).toEqual([]);
  });

  it("keeps http and https URLs only, in their order", () => {
    const values = [
      "https://a.example/1",
      "ftp://a.example",
      "data:,x",
      7,
      null,
      "http://b.example",
    ];
    expect(urlsOf(values)).toEqual(["https://a.example/1", "http://b.example"]);
  });
});

describe("isoMsAt and jsonAt", () => {
  it("reads a time as Unix milliseconds", () => {
    expect(isoMsAt({ a: "2026-01-01T00:00:00.500Z" }, "a")).toBe(1767225600500);
    expect(isoMsAt({ a: "yesterday" }, "a")).toBeNull();
    expect(isoMsAt({ a: 1767225600 }, "a")).toBeNull();
  });

  it("reads JSON inside of JSON", () => {
    expect(jsonAt({ a: '{"b":[1]}' }, "a")).toEqual({ b: [1] });
    expect(jsonAt({ a: '{"b":' }, "a")).toBeUndefined();
    expect(jsonAt({ a: { b: 1 } }, "a")).toBeUndefined();
  });
});

it("no reader throws, whatever the JSON", () => {
  const readers = [
    textAt,
    idAt,
    numberAt,
    integerAt,
    booleanAt,
    isoMsAt,
    jsonAt,
    (value: unknown, key: string) => urlsOf(listAt(value, key)),
  ];
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      for (const read of readers) expect(() => read({ value }, "value")).not.toThrow();
    }),
  );
});
