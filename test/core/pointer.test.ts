import { expect, test } from "vitest";
import { jsonPointer, nameOfSegment, namesIn, segmentOf } from "../../src/core/pointer.ts";

test.each([
  ["", []],
  ["/", [""]],
  ["/input/prompt", ["input", "prompt"]],
  ["/a~1b/c~0d", ["a/b", "c~d"]],
  ["/~01/~00", ["~1", "~0"]],
])("the JSON Pointer %s leads by the names %j, and back", (pointer, names) => {
  expect(namesIn(pointer)).toEqual(names);
  expect(jsonPointer(names)).toBe(pointer);
  expect(names.map(segmentOf).map(nameOfSegment)).toEqual(names);
});

test("the JSON Pointer of a field within a list has the index of its item", () => {
  expect(jsonPointer(["images", 2, "url"])).toBe("/images/2/url");
});
