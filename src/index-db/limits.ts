/**
 * Sizes in bytes at which D1 refuses to add rows to a database, by plan of the Cloudflare account
 * (https://developers.cloudflare.com/d1/platform/limits/).
 */
export const MAX_INDEX_BYTES = { paid: 10_000_000_000, free: 500_000_000 } as const;

/**
 * Share of the largest size of a database of the index from which the operator can see that the database fills up. There
 * is then still time to shorten the retention of rows or to split the index.
 */
export const FILLING_SHARE = 0.6;

/** Share of the largest size of a database of the index from which the operator is alerted that it is almost full. */
export const ALMOST_FULL_SHARE = 0.8;
