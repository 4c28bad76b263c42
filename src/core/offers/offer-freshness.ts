import { SECOND_MS } from "../time.ts";

/** Age in milliseconds from which on the offers of an isolate are read again, beside the request. */
const READ_AFTER_MS = 30 * SECOND_MS;
/**
 * Age in milliseconds from which on a request waits until the offers are read again. So a change is seen everywhere
 * within this time.
 */
export const WAIT_AFTER_MS = 60 * SECOND_MS;
/** Time in milliseconds after a failed reading before the next one, while older offers are known. */
const RETRY_AFTER_MS = 5 * SECOND_MS;

/** When an isolate has read the offers, in Unix milliseconds. */
export interface ReadingTimes {
  /** Time at which the latest successful reading began. Null when there was none. */
  readonly readAt: number | null;
  /** Time at which the latest reading has failed. Null when none has. */
  readonly failedAt: number | null;
}

/**
 * Decides whether a request reads the offers.
 * - `none`: it uses those that the isolate has read.
 * - `beside`: it uses them too, and has them read again meanwhile.
 * - `wait`: it waits until they are read.
 */
export function readingNeeded(
  { readAt, failedAt }: ReadingTimes,
  now: number,
): "none" | "beside" | "wait" {
  if (readAt === null) return "wait";
  // After a step of the clock into the past, the age is not known.
  const age = now < readAt ? Infinity : now - readAt;
  if (age < READ_AFTER_MS) return "none";
  if (failedAt !== null && Math.abs(now - failedAt) < RETRY_AFTER_MS) return "none";
  return age < WAIT_AFTER_MS ? "beside" : "wait";
}
