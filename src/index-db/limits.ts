/**
 * Sizes in bytes at which D1 refuses to add rows to a database, by plan of the Cloudflare account
 * (https://developers.cloudflare.com/d1/platform/limits/).
 */
export const MAX_INDEX_BYTES = { paid: 10_000_000_000, free: 500_000_000 } as const;

/**
 * Returns the size at which a database of the index refuses to add rows, in bytes. That of an object has no limit but
 * the disk.
 */
export function maxIndexBytes({
  plan,
  isIndexInObject,
}: {
  readonly plan: keyof typeof MAX_INDEX_BYTES;
  readonly isIndexInObject: boolean;
}): number {
  return isIndexInObject ? Infinity : MAX_INDEX_BYTES[plan];
}

/**
 * Share of the largest size of a database of the index from which the operator can see that the database fills up. There
 * is then still time to shorten the retention of rows or to split the index.
 */
export const FILLING_SHARE = 0.6;

/** Share of the largest size of a database of the index from which the operator is alerted that it is almost full. */
export const ALMOST_FULL_SHARE = 0.8;
