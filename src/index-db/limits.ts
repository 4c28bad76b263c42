/** Size in bytes at which D1 refuses to write more rows; 500 MB on the Free plan. */
export const MAX_INDEX_BYTES = 10_000_000_000;

/** Size in bytes from which the operator is alerted. */
export const ALMOST_FULL_BYTES = 0.8 * MAX_INDEX_BYTES;
