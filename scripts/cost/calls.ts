import { writesOf } from "./outputs.ts";
import { ASSUMED, attemptUse, gbMonths, OBJECT_GB, type Usage } from "./usage.ts";

/** A call whose client does not wait, and which is answered with one picture. */
export interface CallUse {
  /** Time from the request of the relay to the end of the upstream's answer, in seconds. */
  readonly callS: number;
  /** Size of the picture in MB. */
  readonly pictureMb: number;
  /** `OUTPUT_DAYS`: how long the picture is kept. */
  readonly outputDays: number;
  /** Time until a receiver answers, in milliseconds. */
  readonly receiverMs: number;
}

/**
 * Consumption of such a call in its whole life, on a relay without an index: it is submitted with JSON of less than
 * 1 MiB, made, answered and called back, its answer and its picture are each read once, and it expires
 * (test/outputs/call-cost.test.ts counts it). Its receiver answers at once, so that no attempt is reported.
 */
export const CALLED = {
  workerRequests: 3,
  objectRequests: 14,
  rowsWritten: 25,
  logLines: 1,
  /** Objects in the bucket: the answer without the picture, and the picture. */
  stored: 2,
  /** Calls of the bucket that read the answer, and the whole picture. */
  bucketReads: 2,
} as const;

/** Rows that a body of 1 MiB or more adds: a mark and an alarm, and for each MiB one that stores and one that deletes it. */
export const LARGE_BODY = { rowsOnce: 2, rowsPerMib: 2 } as const;

/** Returns what one call uses in its whole life. */
export function callUsage({ callS, pictureMb, outputDays, receiverMs }: CallUse): Usage {
  const { workerRequests, rowsWritten, logLines } = CALLED;
  const attempt = attemptUse(receiverMs);
  const objectRequests = CALLED.objectRequests + attempt.reports;
  const awakeS = attempt.seconds + objectRequests * ASSUMED.secondsPerObjectRequest;
  const seconds = callS + awakeS;
  const { objectBytes, objectDays } = ASSUMED;
  return {
    workerRequests,
    cpuMs: workerRequests * ASSUMED.cpuMsPerRequest + ASSUMED.cpuMsPerAttempt,
    objectRequests,
    durationGbS: seconds * OBJECT_GB,
    rowsWritten,
    objectGbMonths: gbMonths(objectBytes, objectDays) + gbMonths(objectBytes, outputDays),
    logLines,
    r2ClassA: CALLED.stored - 1 + writesOf({ outputMb: pictureMb, isChunked: true }),
    r2ClassB: CALLED.bucketReads,
    r2GbMonths: gbMonths(pictureMb * 1e6, outputDays),
  };
}
