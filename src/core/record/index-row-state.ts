/**
 * State of a task's index row, as the record of the task has it. Each change of the record is a billed write. Therefore
 * the success of a write of the row is stored only with the next change of the task, and of several failures only the
 * first is stored. The record of a settled task usually lacks the success of the last write, because no change follows;
 * only the task's alarm, set for the end of the retention, then shows that no write is due.
 */
export interface IndexRowState {
  /** Version of the task's record in the last write of the row whose success is stored; 0 when no success is stored. */
  readonly version: number;
  /**
   * Time at which the index row stopped showing the present state of the task, in Unix milliseconds; the times of the
   * next writes are computed from it. Null when the row shows the present version of the record.
   */
  readonly outdatedAt: number | null;
  /** True when a write of the row is known to have failed since `outdatedAt`. */
  readonly hasFailed: boolean;
}

export const NO_INDEX_ROW: IndexRowState = { version: 0, outdatedAt: null, hasFailed: false };
