/** How the relay learned the result of a task (by a hook, a poll or an event), and how late. */
export interface Finding {
  readonly by: FoundBy;
  /**
   * Time from the end of the job, as the upstream states it, to the acceptance of the result by the relay, in
   * milliseconds. Null when the upstream does not state when the job ended.
   */
  readonly lateMs: number | null;
}

/**
 * Source of a result: a hook of the upstream, a poll by the relay, or an event that the operator reported. A poll
 * that was made because of a hook counts as a poll.
 */
export type FoundBy = (typeof FOUND_BY)[number];

export const FOUND_BY = ["hook", "poll", "report"] as const;

/** The fields of a result that `findingOf` reads. If the job has completed, the result may state when it ended. */
type Ended = { readonly status: string; readonly completedAt?: number | null };

/**
 * Returns how the result of a job was found at the time `now`, and how late. The lateness is 0 when the stated end of
 * the job is later than `now`, because the upstream's clock is ahead of the relay's.
 */
export function findingOf({ completedAt = null }: Ended, by: FoundBy, now: number): Finding {
  return { by, lateMs: completedAt === null ? null : Math.max(0, now - completedAt) };
}
