import type { Attempt, Callback } from "../../src/core/record/callback.ts";
import { SECOND } from "../core/builders.ts";

const AFTER_FIRST_INTERRUPTION_MS = 5 * SECOND;

/**
 * Returns the wait after the last attempt of a callback, if that failed, in milliseconds. The first
 * interrupted attempt of a series is followed after 5 s; every other attempt is followed after the next wait
 * of the schedule.
 */
export function waitAfterLastMs(callback: Callback, scheduleMs: readonly number[]): number {
  const waitsMs = scheduleMs.slice(1);
  let isFirst = true;
  let waitMs = 0;
  for (const { outcome } of ownAttempts(callback)) {
    const isSpared = isFirst && outcome === "interrupted";
    waitMs = isSpared ? AFTER_FIRST_INTERRUPTION_MS : (waitsMs.shift() ?? scheduleMs.at(-1) ?? 0);
    if (isSpared) isFirst = false;
  }
  return waitMs;
}

/** Returns names of the facts about crashes that the plan of the next attempt shows. */
export function observedWaits(callback: Callback | null): readonly string[] {
  if (callback === null) return [];
  const interrupted = ownAttempts(callback).filter(({ outcome }) => outcome === "interrupted");
  if (callback.state.kind !== "due" || interrupted.length === 0) return [];
  if (callback.attempts.at(-1) !== interrupted.at(-1)) return ["a series goes on after a crash"];
  return interrupted.length > 1 ? ["a series is interrupted again"] : [];
}

/** Returns the attempts of the latest series. */
function ownAttempts({ attempts, series }: Callback): readonly Attempt[] {
  return attempts.filter((attempt) => attempt.series === series.number);
}
