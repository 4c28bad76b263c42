/**
 * State of a task's index row, the field `publication` of the stored record. A failed write to the index is not
 * recorded, because each change of the record is a write to the storage, which costs money.
 */
export interface IndexRowState {
  /** Version of the task's record in the row that was written last; 0 when no row was written. */
  readonly version: number;
  /**
   * Time at which the index row became older than the task, in Unix milliseconds; the times of the next writes
   * are computed from it. 0 when the index has the present version.
   */
  readonly retryAt: number;
  /**
   * Unused number, always 0. Earlier releases count failed writes to the index in it, and require the
   * field.
   */
  readonly tries: number;
}

export const NO_INDEX_ROW: IndexRowState = { version: 0, retryAt: 0, tries: 0 };
