import type { PollLimits } from "./record/tracking.ts";

/** The configured decisions that the core follows. Durations in milliseconds. */
export interface Policy {
  /** Wait before each attempt, counted from the end of the one before; its length is the number of attempts. */
  readonly scheduleMs: readonly number[];
  readonly taskDeadlineMs: number;
  readonly retentionMs: number;
  /** While the relay is paused nothing is sent before this time; 0 when it is not. */
  readonly pausedUntil: number;
  /** The connections that can be asked, by name. */
  readonly polls: ReadonlyMap<string, PollLimits>;
  /** From 0 to 1, another one for each instance, so that a crowd of tasks does not poll in step. */
  readonly jitter: number;
  /** Whether there is an index to write to. */
  readonly isIndexed: boolean;
  /** Whether the operator wants to be told of trouble. */
  readonly isOperatorTold: boolean;
}

/**
 * Wait before the attempt at `index` (from 0) of a series. A series that an operator orders starts at
 * once; where it is longer than the schedule, the last wait repeats.
 */
export function waitBeforeMs(policy: Policy, index: number, ordered: boolean): number {
  if (ordered && index === 0) return 0;
  return policy.scheduleMs[index] ?? policy.scheduleMs.at(-1) ?? 0;
}
