/** News about a job that came after its task had failed at the deadline. Times are Unix milliseconds. */
export interface LateJob {
  /**
   * Time of the last unverified hook that claimed the success of the job and caused a poll. Null when there was
   * none.
   */
  readonly hintAt: number | null;
  /** Time at which the relay learned that the job has succeeded. Null while it has not learned this. */
  readonly resultAt: number | null;
}

export const NOTHING_LATE: LateJob = { hintAt: null, resultAt: null };
