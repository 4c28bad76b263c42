import { setTimeout as sleep } from "node:timers/promises";
import * as z from "zod";
import { withDeadline } from "../../../../src/lib/timeout.ts";
import { ARK_TASKS } from "../../submit/fake-ark.ts";
import type { Order } from "./orders.ts";
import type { Door, FinalAnswer } from "./submitting.ts";

/** Time limit for one answer in milliseconds, longer than the relay waits for the upstream. */
const ANSWER_WITHIN_MS = 15_000;
/** Time in milliseconds after which a client no longer waits for its job. */
const GIVE_UP_AFTER_MS = 150_000;
/** States in which a job has ended (https://www.volcengine.com/docs/82379/1521309). */
const FINAL_STATES: ReadonlySet<string | null> = new Set([
  "succeeded",
  "failed",
  "cancelled",
  "expired",
]);

/** What a client was answered when it read its job. */
export interface JobAnswer {
  readonly status: number;
  /** Id of the task in the header `Relay-Task-Id`; null when it is missing. */
  readonly taskId: string | null;
  /** Id and state of the job in the body; null where the body has no job. */
  readonly jobId: string | null;
  readonly state: string | null;
  /** Link to the output of the job; null when the body has none. */
  readonly output: string | null;
}

/** One read of a job by the client that has submitted it. */
export interface JobRead {
  /** Times of the call, and of its answer or failure, in Unix milliseconds. */
  readonly askedAt: number;
  readonly endedAt: number;
  /** Null when the connection failed, or no answer came in time. */
  readonly answer: JobAnswer | null;
}

const Job = z.object({
  id: z.string(),
  status: z.string(),
  content: z.object({ video_url: z.string() }).optional(),
});

/**
 * Waits for the job of a submission as an SDK of the upstream does: reads it at the upstream's own path below the relay,
 * first at once, until it has ended, and repeats what fails by the connection or with a 5xx. Any other error ends the
 * wait.
 * @returns all reads in their order; none for a client that does not wait, or has got no job.
 */
export async function waitForJob(
  door: Door,
  { readEveryMs }: Order,
  submitted: FinalAnswer | null,
): Promise<readonly JobRead[]> {
  const reads: JobRead[] = [];
  const jobId = submitted?.jobId ?? null;
  if (readEveryMs === null || jobId === null) return reads;
  const giveUpAt = Date.now() + GIVE_UP_AFTER_MS;
  while (Date.now() < giveUpAt) {
    const askedAt = Date.now();
    const answer = await readOnce(door, jobId).catch(() => null);
    reads.push({ askedAt, endedAt: Date.now(), answer });
    if (answer !== null && (isEnd(answer) || isRefusal(answer))) break;
    await sleep(readEveryMs);
  }
  return reads;
}

/** Tells whether an answer says that the job has ended. */
export function isEnd({ status, state }: JobAnswer): boolean {
  return status === 200 && FINAL_STATES.has(state);
}

/** Tells whether an answer is an error that clients do not repeat. SDKs repeat 429, which asks them to wait. */
export function isRefusal({ status }: JobAnswer): boolean {
  return status !== 200 && status !== 429 && status < 500;
}

function readOnce({ url, key }: Door, jobId: string): Promise<JobAnswer> {
  return withDeadline(ANSWER_WITHIN_MS, async (signal) => {
    const response = await fetch(`${url}/v1/submit/ark${ARK_TASKS}/${jobId}`, {
      headers: { Authorization: `Bearer ${key}` },
      signal,
    });
    const job = Job.safeParse(await response.json()).data;
    return {
      status: response.status,
      taskId: response.headers.get("Relay-Task-Id"),
      jobId: job?.id ?? null,
      state: job?.status ?? null,
      output: job?.content?.video_url ?? null,
    };
  });
}
