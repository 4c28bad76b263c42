import { SECOND_MS } from "./time.ts";

/** The largest `CALLBACK_TIMEOUT_S`, in milliseconds. */
export const MAX_CALLBACK_TIMEOUT_MS = 25 * SECOND_MS;

/** The configured decisions that the core follows. Durations in milliseconds. */
export interface Policy {
  /**
   * Wait before each attempt, counted from the end of the attempt before; the length is the number of
   * attempts.
   */
  readonly scheduleMs: readonly number[];
  readonly taskDeadlineMs: number;
  readonly retentionMs: number;
  /** Nothing is sent before this time, in Unix milliseconds; 0 unless the relay is paused. */
  readonly pausedUntil: number;
  /** Limits of the connections that can be polled, by name. */
  readonly polls: ReadonlyMap<string, PollLimits>;
  /** From 0 to 1, different in each instance, so that many tasks do not poll at the same moment. */
  readonly jitter: number;
  /** True when an index is bound. */
  readonly isIndexed: boolean;
  /** True when the operator has configured a URL for notices. */
  readonly isOperatorNotified: boolean;
}

/** How often a provider may be polled. */
export interface PollLimits {
  /** From the attachment to the first poll; each later wait is twice as long, at most 5 minutes. */
  readonly firstMs: number;
  /** Least time between two polls of one task. */
  readonly gapMs: number;
  /** Age at which the provider has forgotten a job; null when it never does. */
  readonly maxAgeMs: number | null;
}

/**
 * Returns the wait before the attempt at `index` (from 0) of a series. An ordered series starts at once;
 * where it is longer than the schedule, the last wait repeats.
 * @param isOrdered whether the series is a redelivery.
 */
export function waitBeforeMs(policy: Policy, index: number, isOrdered: boolean): number {
  if (isOrdered && index === 0) return 0;
  return policy.scheduleMs[index] ?? policy.scheduleMs.at(-1) ?? 0;
}
