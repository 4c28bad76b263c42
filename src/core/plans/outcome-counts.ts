import { type Attempt, type Callback, MAX_ATTEMPTS_KEPT } from "../record/callback.ts";
import { type OutcomeCounts, OUTCOMES } from "../record/outcome.ts";

/**
 * Returns how many attempts of a callback ended with each outcome, including attempts that are no longer stored in the
 * record.
 */
export function outcomesOf({ attempts, droppedOutcomes }: Callback): OutcomeCounts {
  return plus(droppedOutcomes, attempts);
}

/**
 * Returns the callback with one more ended attempt. When there are more than `MAX_ATTEMPTS_KEPT`, the oldest one is
 * removed; only its outcome is still counted.
 */
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
