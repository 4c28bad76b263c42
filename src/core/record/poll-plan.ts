import type { UpstreamNews } from "./upstream.ts";

/**
 * Plan of the polls of the attached job. The times of regular polls are not stored, because they follow from the age of
 * the job (polls/cadence.ts). The plan stores only what delays a poll or causes an additional one. Times are in Unix
 * milliseconds.
 */
export interface PollPlan {
  /**
   * Time at which the job was attached to the task: by the registration, by a request of the operator, or by a hook.
   * The times of polls are computed from the age of the job, which is counted from this time.
   */
  readonly attachedAt: number;
  /**
   * Age of the job in milliseconds from which its expected hook counts as late. 0 when polls do not wait for the
   * hook. Null when no hook is expected.
   */
  readonly hookWaitMs: number | null;
  /** Time to which a hook has postponed the next poll. Null when no hook has postponed it. */
  readonly postponedTo: number | null;
  /**
   * Time before which the provider allows no poll, from its header `Retry-After`; 0 when the provider has named no such
   * time.
   */
  readonly notBefore: number;
  /** True when a hook has said that the job is running. Only the first such hook postpones the next poll. */
  readonly hasHeardRunning: boolean;
  /** Latest unverified hook that claimed the end of the job; null when there was none. */
  readonly hint: Hint | null;
  /** Kind of the upstream's latest answer to a poll. Null when no poll was answered yet. */
  readonly answer: UpstreamAnswer | null;
  /** Time since when no poll was answered, in Unix milliseconds. Null when the latest poll was answered. */
  readonly unansweredSince: number | null;
}

export interface Hint {
  readonly at: number;
  readonly status: UpstreamNews["status"];
}

/**
 * Kind of the upstream's latest answers to polls. It is stored only when an answer is of another kind than the previous
 * one.
 */
export interface UpstreamAnswer {
  readonly kind: (typeof ANSWER_KINDS)[number];
  /** Time of the first of the latest answers that are all of this kind, in Unix milliseconds. */
  readonly since: number;
  /** HTTP status of the first answer that was not understood (kind `unclear`). Null for other kinds. */
  readonly statusCode: number | null;
  /**
   * Name of a job state that the relay does not know, from the first answer that was not understood (kind `unclear`).
   * Null when that answer names no state. Null also for any other kind of answer.
   */
  readonly word: string | null;
}

export const ANSWER_KINDS = [
  "queued",
  "processing",
  "no_output",
  "limited",
  "unauthorized",
  "unclear",
] as const;
