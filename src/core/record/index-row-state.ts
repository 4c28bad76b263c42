/**
 * What the record of a task states about the task's index row. Each change of the record is a billed write. Therefore
 * the success of a write of the row is stored only with the next change of the task, and of several failures only the
 * first is stored. The record of a settled task may not state that its row is written; its alarm is then set for the
 * end of its retention.
 */
export interface IndexRowState {
  /**
   * Version of the task's record that the row showed when it was last written, if the record states it; 0 when it
   * states none.
   */
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
