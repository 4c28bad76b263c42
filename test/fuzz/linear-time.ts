import { expect } from "vitest";

/** Function that prepares an input of the given length, and returns the work on this input. */
export type Work = (length: number) => () => unknown;

/**
 * Largest factor by which the time may grow when the input gets 4 times as long: linear work takes 4 times as
 * long, quadratic work 16 times.
 */
const MAX_GROWTH = 12;
const RUNS = 3;
const ROUNDS = 25;
/** Time in milliseconds below which two durations cannot be compared. */
const LEAST_MS = 0.05;

/**
 * Expects that the time is proportional to the length. Compares the shortest of several times, so that a busy
 * machine does not make the test fail.
 */
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

const CHARACTER_NAMES: Readonly<Record<string, string>> = {
  " ": "a space",
  "\n": "a line break",
  "\t": "a tab",
  '"': "a quotation mark",
  "'": "an apostrophe",
  "\\": "a backslash",
  "\u00ad": "a soft hyphen",
  "\ufffd": "the replacement character",
  "\n ": "a line break and a space",
  "\n v1,": 'a line break and " v1,"',
  '\\"': "a backslash and a quotation mark",
};

/** Pairs each text with a name for the title of a test, which has characters that are hard to see in words. */
export function withNames(parts: readonly string[]): [name: string, part: string][] {
  return parts.map((part) => [CHARACTER_NAMES[part] ?? `"${part}"`, part]);
}

/** Repeats a text until it has the given length. */
export function repeated(part: string, length: number): string {
  return part.repeat(Math.ceil(length / part.length));
}
