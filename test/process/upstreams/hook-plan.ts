import type { JobState } from "./apis.ts";

export interface PlannedHook {
  /** After the submission; of a late hook, after the final one was answered. */
  readonly afterMs: number;
  readonly state: JobState;
  /** The sender knows the URL, but not the provider's key. */
  readonly isForged: boolean;
}

type End = "completed" | "failed";

/** The course of a job, and its hooks. */
export interface HookPlan {
  readonly isKeyed: boolean;
  readonly end: End;
  readonly attachAfterMs: number;
  readonly finishAfterMs: number;
  /** Sent before the job has ended. */
  readonly early: readonly PlannedHook[];
  /** The first genuine hook with the job's end; null when all are lost. */
  readonly final: PlannedHook | null;
  /** Repetitions, contradictions and reordered hooks. */
  readonly late: readonly PlannedHook[];
}

/**
 * Draws a plan. Without a key only hooks end the task, so that one genuine hook precedes contradictions.
 * With a key all hooks may be lost, and then few come before: each one triggers a poll, and the wait for
 * the next poll doubles.
 */
export function hookPlan(random: () => number, isBodySigned: boolean): HookPlan {
  const within = (ms: number) => Math.round(random() * ms);
  const happens = (share: number, isPossible = true) => random() < share && isPossible;
  const maybe = (share: number, withinMs: number, state: JobState, isForged = false) =>
    happens(share) ? [{ afterMs: within(withinMs), state, isForged }] : [];

  const isKeyed = happens(0.6);
  const isLost = happens(0.4, isKeyed);
  const isSuccess = happens(0.8);
  const end: End = isSuccess ? "completed" : "failed";
  const other: End = isSuccess ? "failed" : "completed";
  const finishAfterMs = 300 + within(4_000);
  // An unsigned hook of a connection without a key is trusted, so a forged one would win.
  const forgedShare = isKeyed || isBodySigned ? 0.3 : 0;
  const early = [
    maybe(0.6, finishAfterMs, "processing"),
    maybe(forgedShare, finishAfterMs, other, true),
  ].flat();
  const late = [
    maybe(0.4, 2_000, end),
    maybe(0.2, 100, end),
    maybe(0.4, 2_000, "processing"),
    maybe(0.4, 2_000, other),
  ].flat();
  const finalAfterMs = finishAfterMs + within(2_000);
  return {
    isKeyed,
    end,
    attachAfterMs: happens(0.3) ? 1_500 + within(3_000) : within(1_000),
    finishAfterMs,
    early: early.slice(0, isLost ? 1 : 2),
    final: isLost ? null : { afterMs: finalAfterMs, state: end, isForged: false },
    late: isLost ? [] : late,
  };
}
