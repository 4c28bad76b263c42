/** For how long an isolate uses what it has read, in milliseconds. */
export interface Freshness {
  /** Age from which on the isolate reads again, beside its work. */
  readonly readAfterMs: number;
  /** Age from which on work waits until the isolate has read again. So a change is seen everywhere within this time. */
  readonly waitAfterMs: number;
  /** Time after a failed reading before the next one, while something older is known. */
  readonly retryAfterMs: number;
}

/** When an isolate has read something, in Unix milliseconds. */
export interface ReadingTimes {
  /** Time at which the latest successful reading began. Null when there was none. */
  readonly readAt: number | null;
  /** Time at which the latest reading has failed. Null when none has. */
  readonly failedAt: number | null;
}

/**
 * Decides whether an isolate reads again what it has read.
 * - `none`: it uses what it has read.
 * - `beside`: it uses that too, and reads again meanwhile.
 * - `wait`: it waits until it has read again.
 */
export function readingNeeded(
  { readAt, failedAt }: ReadingTimes,
  { readAfterMs, waitAfterMs, retryAfterMs }: Freshness,
  now: number,
): "none" | "beside" | "wait" {
  if (readAt === null) return "wait";
  // After a step of the clock into the past, the age is not known.
  const age = now < readAt ? Infinity : now - readAt;
  if (age < readAfterMs) return "none";
  if (failedAt !== null && Math.abs(now - failedAt) < retryAfterMs) return "none";
  return age < waitAfterMs ? "beside" : "wait";
}
