/**
 * Size in bytes at which D1 refuses to add rows to a database on the paid plan; on the Free plan this is 500
 * MB.
 */
export const MAX_INDEX_BYTES = 10_000_000_000;

/**
 * Size of a database of the index, in bytes, from which the operator can see that the database fills up. There is then
 * still time to shorten the retention of rows or to split the index.
 */
export const FILLING_BYTES = 0.6 * MAX_INDEX_BYTES;

/** Size of a database of the index, in bytes, from which the operator is alerted that the database is almost full. */
export const ALMOST_FULL_BYTES = 0.8 * MAX_INDEX_BYTES;
