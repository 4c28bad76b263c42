import type { JobState } from "./api.ts";

/** One hook, so many milliseconds after the submission. */
export interface PlannedHook {
  readonly afterMs: number;
  readonly state: JobState;
  /** From somebody who knows the URL, but not the provider's key. */
  readonly isForged: boolean;
}

type End = "completed" | "failed";

/** The life of a job, and what becomes of its hooks. */
export interface HookPlan {
  readonly isKeyed: boolean;
  readonly end: End;
  readonly attachAfterMs: number;
  readonly finishAfterMs: number;
  /** While the job is at work. */
  readonly early: readonly PlannedHook[];
  /** The first true word of the end; null: it is lost. */
  readonly told: PlannedHook | null;
  /** After that one was answered: repetitions, contradictions, and what should have come before. */
  readonly late: readonly PlannedHook[];
}

/**
 * A seeded life. Without a key only hooks tell the end, so one true word gets through before any
 * contradiction. With one, everything may be lost; but whatever is lost, few hooks come before it, since
 * each makes the relay ask, and the wait for its next question doubles.
 */
export function hookPlan(random: () => number, isBodySigned: boolean): HookPlan {
  const within = (ms: number) => Math.round(random() * ms);
  const sometimes = (share: number, isPossible = true) => random() < share && isPossible;
  const maybe = (share: number, withinMs: number, state: JobState): readonly PlannedHook[] =>
    sometimes(share) ? [{ afterMs: within(withinMs), state, isForged: false }] : [];

  const isKeyed = sometimes(0.6);
  const isLost = sometimes(0.4, isKeyed);
  const isSuccess = sometimes(0.8);
  const end: End = isSuccess ? "completed" : "failed";
  const other: End = isSuccess ? "failed" : "completed";
  const finishAfterMs = 300 + within(4_000);
  const early = maybe(0.6, finishAfterMs, "processing");
  // What nobody signs, and what cannot be asked after, is believed: there a forgery would win.
  const forged = maybe(isKeyed || isBodySigned ? 0.3 : 0, finishAfterMs, other);
  const late = [
    maybe(0.4, 2_000, end),
    maybe(0.2, 100, end),
    maybe(0.4, 2_000, "processing"),
    maybe(0.4, 2_000, other),
  ];
  const toldAfterMs = finishAfterMs + within(2_000);
  return {
    isKeyed,
    end,
    attachAfterMs: sometimes(0.3) ? 1_500 + within(3_000) : within(1_000),
    finishAfterMs,
    early: [...early, ...forged.map((hook) => ({ ...hook, isForged: true }))].slice(
      0,
      isLost ? 1 : 2,
    ),
    told: isLost ? null : { afterMs: toldAfterMs, state: end, isForged: false },
    late: isLost ? [] : late.flat(),
  };
}
