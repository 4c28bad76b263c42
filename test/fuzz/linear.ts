import { expect } from "vitest";

/** Work for input of a given length. */
export type Work = (length: number) => () => unknown;

/** Linear work takes 4 times as long for input of 4 times the length, quadratic work 16 times. */
const MAX_GROWTH = 9;
const RUNS = 3;
const ROUNDS = 5;
/** Shorter times, in milliseconds, cannot be compared. */
const LEAST_MS = 0.05;

/** Expects time in proportion to the length. The shortest times count, so a busy machine does no harm. */
export function expectLinear(work: Work, length: number): void {
  const [small, large] = [work(length), work(4 * length)];
  let growth = Infinity;
  for (let round = 0; round < ROUNDS && growth > MAX_GROWTH; round++) {
    growth = Math.min(growth, shortestMs(large) / Math.max(shortestMs(small), LEAST_MS));
  }
  expect(growth).toBeLessThan(MAX_GROWTH);
}

function shortestMs(work: () => unknown): number {
  const times = Array.from({ length: RUNS }, () => {
    const startedAt = performance.now();
    work();
    return performance.now() - startedAt;
  });
  return Math.min(...times);
}

/** Repeats a text to a given length. */
export function repeated(part: string, length: number): string {
  return part.repeat(Math.ceil(length / part.length));
}
