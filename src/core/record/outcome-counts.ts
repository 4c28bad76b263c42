import { type Attempt, type Callback, MAX_ATTEMPTS_KEPT } from "./callback.ts";
import { type Outcome, OUTCOMES } from "./outcome.ts";

/** Numbers of ended attempts, by outcome, in the order of `OUTCOMES`; an outcome without attempts is missing. */
export type OutcomeCounts = Readonly<Partial<Record<Outcome, number>>>;

/** Counts all attempts of a callback that have ended, by outcome, also those that the record has dropped. */
export function outcomesOf({ attempts, droppedOutcomes }: Callback): OutcomeCounts {
  return plus(droppedOutcomes, attempts);
}

/** Adds an attempt that has ended to a callback, and drops the oldest attempt beyond `MAX_ATTEMPTS_KEPT`. */
export function withAttempt(callback: Callback, ended: Attempt): Callback {
  const all = [...callback.attempts, ended];
  const dropped = all.slice(0, -MAX_ATTEMPTS_KEPT);
  const attempts = all.slice(-MAX_ATTEMPTS_KEPT);
  return { ...callback, attempts, droppedOutcomes: plus(callback.droppedOutcomes, dropped) };
}

function plus(counts: OutcomeCounts, attempts: readonly Attempt[]): OutcomeCounts {
  const sums = OUTCOMES.map((outcome) => {
    const further = attempts.filter((attempt) => attempt.outcome === outcome).length;
    return [outcome, (counts[outcome] ?? 0) + further] as const;
  });
  return Object.fromEntries(sums.filter(([, sum]) => sum > 0));
}
