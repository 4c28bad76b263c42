import { type Meters, READERS } from "./lives.ts";
import { ASSUMED, type Usage, usageOf } from "./usage.ts";

/** Silence in seconds after which a stream gets a comment, for which its Worker wakes. */
const COMMENT_S = 15;
/** Longest time that a stream lasts, in seconds; its reader then connects again. */
const STREAM_S = 900;

/** Returns the usage of one reader of one task. @param streamS time for which a stream is open, in seconds. */
export function readerUsage(meters: Meters, streamS = 0): Usage {
  const usage = usageOf(meters, { receiverMs: 0, isQueued: false });
  const comments = Math.floor(streamS / COMMENT_S);
  const cpuMs = (usage.cpuMs ?? 0) + comments * ASSUMED.cpuMsPerComment;
  return { ...usage, cpuMs, objectGbMonths: 0 };
}

/** Returns the usage of one reader who holds a stream of a task from its registration on for `jobS` seconds. */
export function streamUsage(jobS: number): Usage {
  const counted = READERS["stream of 10 minutes"];
  const again = Math.ceil(jobS / STREAM_S) - 1;
  // A reader who connects again costs a request, a read of the task and a WebSocket.
  const { workerRequests, objectRequests } = counted;
  const meters = {
    ...counted,
    workerRequests: workerRequests + again,
    objectRequests: objectRequests + 2 * again,
  };
  return readerUsage(meters, jobS);
}

/** Seconds for which each reader of docs/cost.md holds a stream; 0 for those who hold none. */
export const STREAM_SECONDS: Readonly<Record<keyof typeof READERS, number>> = {
  "`?wait=30`, no result by then": 0,
  "`?wait=60`, until the result": 0,
  "stream of 110 s": 110,
  "stream of 10 minutes": 600,
  "status page open for 110 s": 0,
  "status page open for 10 minutes": 0,
  "console's page of the task open for 110 s": 0,
};
