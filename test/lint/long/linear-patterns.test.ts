import { expect, it } from "vitest";
import { faultsOf, ownPatterns } from "../patterns.ts";

it("a full examination finds no regular expression of the relay, its pages or the client that takes more than linear time", () => {
  expect(faultsOf(ownPatterns().patterns, "full")).toEqual([]);
});
