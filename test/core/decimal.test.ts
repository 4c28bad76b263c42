import { expect, it } from "vitest";
import { ceilOfProduct } from "../../src/core/decimal.ts";

it.each([
  [0.1, 3, 1, 1n],
  [0.1, 3, 0.1, 3n],
  [0.1, 0.2, 0.02, 1n],
  [3, 1, 2, 2n],
  [-3, 1, 2, -1n],
  [3, -1, 2, -1n],
  [-3, 1, -2, 2n],
  [-3, -1, 2, 2n],
  [4, 1, 2, 2n],
  [0, 5, 3, 0n],
  [0, 5, -3, 0n],
  [1e21, 1, 1, 1_000_000_000_000_000_000_000n],
  [1.5e21, 2, 1, 3_000_000_000_000_000_000_000n],
  [1e-7, 1, 1e-7, 1n],
  [1.5e-7, 1, 1e-7, 2n],
])(
  "ceilOfProduct calculates %d × %d ÷ %d exactly, rounded up to an integer: %d",
  (a, b, divisor, expected) => {
    expect(ceilOfProduct(a, b, divisor)).toBe(expected);
  },
);

it.each([
  [NaN, 1, 1],
  [1, Infinity, 1],
  [1, 1, -Infinity],
  [1, 1, 0],
])("ceilOfProduct throws a RangeError for %d × %d ÷ %d", (a, b, divisor) => {
  expect(() => ceilOfProduct(a, b, divisor)).toThrow(RangeError);
});
