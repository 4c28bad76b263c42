import { afterEach, beforeEach, vi } from "vitest";
import { pass } from "./clock.ts";

/** The waits of the Worker during one test. They take no real time. */
export interface HeldWaits {
  /** Length of each wait so far, in milliseconds. */
  readonly pauses: number[];
  /**
   * Runs during each wait, with its number from 1. When it returns true, a change of the task ends the wait, and
   * not its time.
   */
  between: (wait: number) => Promise<unknown>;
  /** Returns the time that all waits have taken, in milliseconds. */
  readonly waitedMs: () => number;
}

/** Replaces the waits of the Worker in each test of a file. */
export function useHeldWaits(): HeldWaits {
  const pauses: number[] = [];
  const waits: HeldWaits = {
    pauses,
    between: () => Promise.resolve(),
    waitedMs: () => pauses.reduce((sum, ms) => sum + ms, 0),
  };
  beforeEach(() => {
    pauses.length = 0;
    waits.between = () => Promise.resolve();
    vi.spyOn(scheduler, "wait").mockImplementation(async (ms, options) => {
      pauses.push(ms);
      const { promise: aborted, resolve } = Promise.withResolvers<void>();
      options?.signal?.addEventListener("abort", () => resolve());
      const isNews = (await waits.between(pauses.length)) === true;
      if (isNews) await aborted;
      else pass(ms);
    });
  });
  afterEach(() => vi.restoreAllMocks());
  return waits;
}
