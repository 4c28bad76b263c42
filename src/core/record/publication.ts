/** The state of the task's row in the index. Failed writes are not stored, because each would cost a row. */
export interface Publication {
  /** Version of the task in the row that was written last; 0 when no row was written. */
  readonly version: number;
  /**
   * Time since which the index lacks the present version, in Unix milliseconds, from which the times of the
   * next writes are computed; 0 when the index lacks nothing.
   */
  readonly retryAt: number;
  /** Unused number, always 0: earlier builds, which require the field, count failed writes in it. */
  readonly tries: number;
}

export const UNPUBLISHED: Publication = { version: 0, retryAt: 0, tries: 0 };
