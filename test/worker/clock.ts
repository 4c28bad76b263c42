import { afterEach, beforeEach, vi } from "vitest";

/**
 * Start of the clock, so far in the future that no alarm fires by the real clock during a test; deliberately
 * not a whole second.
 */
export const START = Date.UTC(2050, 0, 1, 12) + 250;
export const START_S = Math.floor(START / 1000);
export const DAY_MS = 86_400_000;

/** Gives the test and the objects a clock that stands still until the test calls `pass`. */
export function useClock(): void {
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ["Date"], now: START });
  });
  afterEach(() => {
    vi.useRealTimers();
    vi.restoreAllMocks();
  });
}

/** Moves the clock forward; alarms that fall due do not run by themselves. */
export function pass(ms: number): void {
  vi.setSystemTime(Date.now() + ms);
}

/** Waits in real time until the condition holds. */
export async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  for (let tries = 0; tries < 10_000; tries++) {
    if (await condition()) return;
    await realMs(2);
  }
  throw new Error(`timed out waiting for: ${condition.toString()}`);
}

export function realMs(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
