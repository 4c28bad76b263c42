import { expect, it } from "vitest";
import { expectLinear, repeated } from "./linear.ts";

const searches = (pattern: RegExp) => (length: number) => {
  const text = repeated("a", length);
  return () => pattern.test(text);
};

it("the measurement of linear time lets a linear search pass and fails for a pattern that takes cubic time on the same texts", () => {
  expectLinear(searches(/b/), 128);
  expect(() => expectLinear(searches(/a+a+b/), 128)).toThrow("less than");
});
