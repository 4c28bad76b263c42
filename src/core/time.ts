export const SECOND_MS = 1_000;
export const MINUTE_MS = 60 * SECOND_MS;
export const HOUR_MS = 60 * MINUTE_MS;
export const DAY_MS = 24 * HOUR_MS;

/** Returns a time in Unix milliseconds as whole Unix seconds, rounded down. */
export function toSeconds(ms: number): number {
  return Math.floor(ms / SECOND_MS);
}
