/** Way in which the relay learned the result of a task, and its lateness. */
export interface Finding {
  readonly by: FoundBy;
  /**
   * Time from the end of the job, as the upstream states it, to the acceptance of the result, in
   * milliseconds; null when the upstream does not state it.
   */
  readonly lateMs: number | null;
}

/**
 * Source of a result: the upstream's hook, the relay's poll of the upstream, or an event that the operator
 * reported. A poll that a hook has caused counts as a poll.
 */
export type FoundBy = (typeof FOUND_BY)[number];

export const FOUND_BY = ["hook", "poll", "report"] as const;

/**
 * The fields of a reported result that `findingOf` reads; a completion may state the time at which the job
 * ended.
 */
type Ended = { readonly status: string; readonly completedAt?: number | null };

/**
 * Describes how, and how late, a result was found at `now`. The lateness is 0 when the upstream's clock is
 * ahead of the relay's.
 */
export function findingOf({ completedAt = null }: Ended, by: FoundBy, now: number): Finding {
  return { by, lateMs: completedAt === null ? null : Math.max(0, now - completedAt) };
}
