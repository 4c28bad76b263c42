import type { UpstreamNews } from "./upstream.ts";

/**
 * Plan of the polls of the attached job. Regular polls follow from the age of the job (polls/cadence.ts), so
 * their times are not stored. The plan stores only what delays a poll or causes an additional one. Times are
 * in Unix milliseconds.
 */
export interface PollPlan {
  /**
   * Time at which the task got its job, by the registration, a call or a hook. The age of the job, from which
   * its polls follow, counts from here.
   */
  readonly attachedAt: number;
  /**
   * Age of the job in milliseconds at which its hook is late; 0 when polls do not wait for it, null when no
   * hook is expected.
   */
  readonly hookWaitMs: number | null;
  /** Time to which a hook has postponed the next poll; null when the age of the job alone decides it. */
  readonly at: number | null;
  /** Earliest time of the next poll, which the provider named with `Retry-After`. */
  readonly notBefore: number;
  /**
   * Job states (queued, running) that hooks have reported; only the first hook of each state postpones the
   * next poll.
   */
  readonly heard: readonly HeardStatus[];
  /** Latest unverified hook that claimed the end of the job; null when there was none. */
  readonly hint: Hint | null;
  /** Kind of the upstream's latest answer to a poll; null while there was none. */
  readonly answer: UpstreamAnswer | null;
  /**
   * Time of the first of the unanswered polls since the latest answer, in Unix milliseconds; null when the most
   * recent poll was answered.
   */
  readonly unansweredSince: number | null;
}

export type HeardStatus = Extract<UpstreamNews["status"], "queued" | "processing">;

export interface Hint {
  readonly at: number;
  readonly status: UpstreamNews["status"];
}

/**
 * Kind of the upstream's answers to the latest polls. It is stored only when an answer is of another kind than
 * the one before.
 */
export interface UpstreamAnswer {
  readonly kind: (typeof ANSWER_KINDS)[number];
  /** Time of the first answer of this kind, in Unix milliseconds. */
  readonly since: number;
  /** HTTP status of the first answer of the kind `unclear` (not understood); null for other kinds. */
  readonly statusCode: number | null;
  /**
   * State of the job that the first answer of the kind `unclear` names and the relay does not know; null when
   * it names none, and for other kinds.
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
