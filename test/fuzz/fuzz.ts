import * as fc from "fast-check";
import { expect, it } from "vitest";

declare const process: { readonly env: Readonly<Record<string, string | undefined>> };

interface Property<T> {
  readonly inputs: fc.Arbitrary<T>;
  /** Returns whether the input was accepted. @throws when the property does not hold for it. */
  readonly check: (input: T) => boolean | Promise<boolean>;
  /** Number of inputs at full scale. */
  readonly cases?: number;
  /**
   * Smallest share of the inputs that must be accepted, and also refused; with less of one kind the test would
   * show little.
   */
  readonly leastShare?: number;
}

const SEED = Number(process.env["FUZZ_SEED"] ?? 20_261_121);
/** Share of the cases that run; 1 runs all of them. */
const SCALE = Number(process.env["FUZZ_SCALE"] ?? 0.05);

/** Defines a test of one property. A failure shows the seed, the path to the case and the smallest input found. */
export function fuzz<T>(title: string, property: Property<T>): void {
  const { inputs, check, cases = 100_000, leastShare = 0.01 } = property;
  const numRuns = Math.ceil(cases * SCALE);
  it(title, async () => {
    let accepted = 0;
    const checked = fc.asyncProperty(inputs, async (input) => {
      if (await check(input)) accepted++;
    });
    await fc.assert(checked, { seed: SEED, numRuns, unbiased: true });
    expect(accepted / numRuns).toBeGreaterThanOrEqual(leastShare);
    expect(accepted / numRuns).toBeLessThanOrEqual(1 - leastShare);
  });
}

/** Generates one of the choices, as often as its weight says. */
export function weighted<T>(
  ...choices: readonly (readonly [weight: number, arbitrary: fc.Arbitrary<T>])[]
): fc.Arbitrary<T> {
  return fc.oneof(...choices.map(([weight, arbitrary]) => ({ weight, arbitrary })));
}

/** Generates `inputs` in `percent` of a hundred cases, and null in the other cases. */
export function rarely<T>(percent: number, inputs: fc.Arbitrary<T>): fc.Arbitrary<T | null> {
  return weighted<T | null>([100 - percent, fc.constant(null)], [percent, inputs]);
}

/** Generates `value` after up to `max` changes, often after none. */
export function changed<T>(
  value: fc.Arbitrary<T>,
  change: fc.Arbitrary<(value: T) => T>,
  max: number,
): fc.Arbitrary<T> {
  return fc
    .tuple(value, fc.array(change, { maxLength: max }))
    .map(([before, changes]) => changes.reduce((current, apply) => apply(current), before));
}
