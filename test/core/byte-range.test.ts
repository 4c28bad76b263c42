import { describe, expect, it } from "vitest";
import { onlyKnownTag, selectionOf } from "../../src/api/outputs/byte-range.ts";

const ETAG = '"5d41402abc4b2a76b9719d911017c592"';
const VIDEO = { size: 1000, etag: ETAG };

function get(headers: Record<string, string>, representation = VIDEO) {
  return selectionOf(new Headers(headers), true, representation);
}

describe("a header Range", () => {
  it.each([
    ["the first byte", "bytes=0-0", 0, 1],
    ["the first half", "bytes=0-499", 0, 500],
    ["everything", "bytes=0-", 0, 1000],
    ["the last byte", "bytes=999-", 999, 1],
    ["a part that ends behind the end", "bytes=900-4999", 900, 100],
    ["the last 300 bytes", "bytes=-300", 700, 300],
    ["more last bytes than the output has", "bytes=-4999", 0, 1000],
    ["a part, with blanks and in capitals", "BYTES= 1-2 ", 1, 2],
  ])(
    "a header Range that asks for %s gets this part of the output",
    (_what, range, offset, length) => {
      expect(get({ Range: range })).toEqual({ kind: "part", offset, length });
    },
  );

  it.each([
    ["begins at the end", "bytes=1000-", 1000],
    ["begins behind the end", "bytes=5000-6000", 1000],
    ["asks for the last 0 bytes", "bytes=-0", 1000],
    ["asks for the first byte of nothing", "bytes=0-0", 0],
    ["asks for the last byte of nothing", "bytes=-1", 0],
  ])("a header Range that %s is not satisfiable", (_what, range, size) => {
    expect(get({ Range: range }, { size, etag: ETAG })).toEqual({ kind: "unsatisfiable" });
  });

  it.each([
    ["ends before it begins", "bytes=2-1"],
    ["names two ranges", "bytes=0-0,-1"],
    ["names no range", "bytes="],
    ["has only a dash", "bytes=-"],
    ["has another unit", "items=0-1"],
    ["has no unit", "0-1"],
    ["has a sign", "bytes=+1-2"],
    ["has more digits than a size", `bytes=0-${"9".repeat(16)}`],
    ["is empty", ""],
  ])("a header Range that %s is ignored", (_what, range) => {
    expect(get({ Range: range })).toEqual({ kind: "whole" });
  });

  it("a header Range is ignored by every method but GET", () => {
    const headers = new Headers({ Range: "bytes=0-0" });
    expect(selectionOf(headers, false, VIDEO)).toEqual({ kind: "whole" });
  });
});

describe("a request for a part of an output (Range) under a condition (If-Range)", () => {
  it("a request for a part of an output gets the part when its If-Range is the entity tag of the output", () => {
    expect(get({ Range: "bytes=0-0", "If-Range": ETAG })).toEqual({
      kind: "part",
      offset: 0,
      length: 1,
    });
  });

  it.each([
    ["another entity tag", '"another"'],
    ["the same entity tag as a weak one", `W/${ETAG}`],
    ["a date", "Sun, 06 Nov 1994 08:49:37 GMT"],
    ["any tag (*)", "*"],
    ["nothing", ""],
  ])(
    "a request for a part of an output gets the whole output when its If-Range is %s",
    (_what, condition) => {
      expect(get({ Range: "bytes=0-0", "If-Range": condition })).toEqual({ kind: "whole" });
      expect(get({ Range: "bytes=5000-", "If-Range": condition })).toEqual({ kind: "whole" });
    },
  );
});

describe("the headers If-Match and If-None-Match in a request for an output", () => {
  it.each([
    ["If-None-Match with the tag", { "If-None-Match": ETAG }, "not_modified"],
    ["If-None-Match with the weak tag", { "If-None-Match": `W/${ETAG}` }, "not_modified"],
    ["If-None-Match with a list", { "If-None-Match": `"a", ${ETAG}` }, "not_modified"],
    ["If-None-Match with any tag", { "If-None-Match": "*" }, "not_modified"],
    ["If-None-Match with another tag", { "If-None-Match": '"a"' }, "whole"],
    ["If-Match with the tag", { "If-Match": ETAG }, "whole"],
    ["If-Match with any tag", { "If-Match": "*" }, "whole"],
    ["If-Match with another tag", { "If-Match": '"a"' }, "precondition_failed"],
    ["If-Match with the weak tag", { "If-Match": `W/${ETAG}` }, "precondition_failed"],
    ["If-Match with no tag", { "If-Match": "" }, "precondition_failed"],
  ])(
    "a request for an output with %s (%j) gets %s; if that is the whole output, an additional header Range selects a part of it",
    (_what, headers, kind) => {
      expect(get(headers)).toEqual({ kind });
      const ranged = kind === "whole" ? { kind: "part", offset: 0, length: 1 } : { kind };
      expect(get({ ...headers, Range: "bytes=0-0" })).toEqual(ranged);
    },
  );
});

it.each([
  ["one entity tag", ETAG, ETAG.slice(1, -1)],
  ["one weak entity tag", `W/${ETAG}`, ETAG.slice(1, -1)],
  ["several entity tags", `${ETAG}, "other"`, null],
  ["any entity tag", "*", null],
  ["an asterisk as its entity tag", '"*"', null],
  ["no entity tag", "other", null],
])(
  "the bucket is asked to compare the entity tag of If-None-Match only when the header has a single one: here it has %s",
  (_what, header, tag) => {
    expect(onlyKnownTag(new Headers({ "If-None-Match": header }))).toBe(tag);
  },
);
