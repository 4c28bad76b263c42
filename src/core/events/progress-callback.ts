import type { Policy } from "../policy.ts";
import { progressBody } from "../record/callback-body.ts";
import { takes } from "../record/callback-events.ts";
import { endpointOf } from "../record/callback-terms.ts";
import type { EndpointCopy } from "../record/endpoint-copy.ts";
import { type Account, isOpen, type OpenTask, type TaskRecord } from "../record/task.ts";
import { type Trace, traceMember } from "../record/trace.ts";
import { SECOND_MS } from "../time.ts";
import type { TaskEvent } from "./event.ts";

/** Shortest time between the starts of two progress callbacks of a task, in milliseconds. */
const PROGRESS_GAP_MS = 10 * SECOND_MS;

/**
 * A progress callback: one request that tells the receiver of a task's callback how far the job is. It is sent once and
 * never again, and nothing of it is stored.
 */
export interface ProgressCallback {
  readonly taskId: string;
  /** Account whose secrets sign the callback; null when the relay's own secrets sign it. */
  readonly account: Account | null;
  readonly body: string;
  readonly url: string;
  /** Endpoint at the URL. Absent when the receiver is a URL alone. */
  readonly endpoint?: EndpointCopy;
  /** Origin of the relay as the creator of the task addressed it, e.g. `https://relay.example.com`. */
  readonly origin: string;
  /** Creation time of the task's record, by which tasks with the same id are told apart, in Unix milliseconds. */
  readonly recordedAt: number;
  /** Progress of the job in percent, from 0 to 100; null when it is not known. */
  readonly percent: number | null;
  readonly startedAt: number;
  /** Absent when the task was created without a trace context. */
  readonly trace?: Trace;
}

/** The latest progress callback that an instance of a task's object has started. */
export interface LatestProgress extends Pick<ProgressCallback, "percent" | "startedAt"> {
  /** States that its receiver has not answered yet. */
  readonly isRunning: boolean;
}

/**
 * Returns the progress callback that follows from an event: when the job is first known to run, and when its upstream
 * states another percentage than that of the latest one. A callback for which it is too early is not made up for: the
 * next percentage tells more. Null when none is due, e.g. while the relay is paused.
 * @param before the task before the event.
 * @param after the task as it is stored after the event.
 * @param latest null when this instance of the task's object has started none.
 */
export function progressCallbackOf(
  before: TaskRecord | null,
  event: TaskEvent,
  after: TaskRecord | null,
  latest: LatestProgress | null,
  { pausedAt }: Pick<Policy, "pausedAt">,
  now: number,
): ProgressCallback | null {
  if (pausedAt !== null || !isFollowed(after)) return null;
  const percent = percentIn(event, after);
  const isNews = before?.status !== "processing" || (percent !== null && isOther(percent, latest));
  if (!isNews || !isFree(latest, now)) return null;
  const { id: taskId, account, callbackUrl: url, origin, recordedAt, trace } = after;
  const receiver = { account, url, ...endpointOf(after.callbackTerms), origin };
  const message = { taskId, ...receiver, recordedAt, ...traceMember(trace) };
  return { ...message, body: progressBody(after, percent), percent, startedAt: now };
}

/** A task whose job runs, and whose receiver asks for progress. */
type FollowedTask = OpenTask & { readonly callbackUrl: string };

function isFollowed(record: TaskRecord | null): record is FollowedTask {
  if (record === null || !isOpen(record) || record.status !== "processing") return false;
  return record.callbackUrl !== null && takes(record.callbackTerms?.events, "progress");
}

/**
 * Tells whether a progress callback may still be sent: the task has not ended since, and is not another one with the
 * same id.
 */
export function isStillRunning(
  record: TaskRecord | null,
  { recordedAt }: Pick<ProgressCallback, "recordedAt">,
): boolean {
  return record !== null && isOpen(record) && record.recordedAt === recordedAt;
}

/** Tells whether no progress callback is running, and the latest one began long enough ago. */
function isFree(latest: LatestProgress | null, now: number): boolean {
  return latest === null || (!latest.isRunning && now >= latest.startedAt + PROGRESS_GAP_MS);
}

function isOther(percent: number, latest: LatestProgress | null): boolean {
  return latest === null || latest.percent !== percent;
}

/**
 * Returns the percentage that an answer to a poll or a signed hook states about the job of a task. Null for any other
 * event.
 */
function percentIn(event: TaskEvent, { upstream }: OpenTask): number | null {
  const jobId = upstream?.job?.id;
  if (event.type === "hook") {
    return event.isSigned && event.jobId === jobId ? (event.progress ?? null) : null;
  }
  if (event.type !== "poll_ended" || event.answer.kind !== "news") return null;
  return event.job.id === jobId ? (event.answer.progress ?? null) : null;
}
