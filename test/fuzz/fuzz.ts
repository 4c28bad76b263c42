import * as fc from "fast-check";
import { expect, it } from "vitest";

declare const process: { readonly env: Readonly<Record<string, string | undefined>> };

interface Property<T, S> {
  readonly inputs: fc.Arbitrary<T>;
  /** Code whose property is tested. */
  readonly subject: S;
  /**
   * Versions of the code with a planted defect, each under a description of the defect. Each must be noticed
   * in the same cases in which the real code has no fault.
   */
  readonly defects: Readonly<Record<string, S>>;
  /** Returns whether the input was accepted. @throws when the property does not hold for it. */
  readonly check: (input: T, subject: NoInfer<S>) => boolean | Promise<boolean>;
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

/**
 * Defines a test of one property. A failure shows the seed, the path to the case and the smallest input found.
 * The test also fails when the check does not notice one of the planted defects.
 */
export function fuzz<T, S>(title: string, property: Property<T, S>): void {
  const { inputs, subject, check, cases = 100_000, leastShare = 0.01 } = property;
  const numRuns = Math.ceil(cases * SCALE);
  it(title, async () => {
    let accepted = 0;
    const checked = fc.asyncProperty(inputs, async (input) => {
      if (await check(input, subject)) accepted++;
    });
    await fc.assert(checked, { seed: SEED, numRuns, unbiased: true });
    expect(await unnoticedOf(property, numRuns), "defects that the check misses").toEqual([]);
    expect(accepted / numRuns).toBeGreaterThanOrEqual(leastShare);
    expect(accepted / numRuns).toBeLessThanOrEqual(1 - leastShare);
  });
}

/** Lists the defects that the check of a property does not notice within so many cases. */
async function unnoticedOf<T, S>(
  { inputs, defects, check }: Property<T, S>,
  numRuns: number,
): Promise<readonly string[]> {
  const unnoticed: string[] = [];
  for (const [defect, broken] of Object.entries(defects)) {
    const checked = fc.asyncProperty(inputs, async (input) => void (await check(input, broken)));
    const options = { seed: SEED, numRuns, unbiased: true, endOnFailure: true };
    const { failed } = await fc.check(checked, options);
    if (!failed) unnoticed.push(defect);
  }
  return unnoticed;
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
