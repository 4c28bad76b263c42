import type { PollAnswer } from "../../src/core/events/event.ts";
import { isOpen, type OpenTask, type TaskRecord } from "../../src/core/record/task.ts";
import type { PollPlan } from "../../src/core/record/poll-plan.ts";
import { type Job, sameJob } from "../../src/core/record/upstream.ts";
import { firstViolation } from "./change.ts";
import { MINUTE } from "../core/builders.ts";
import { askingState, cancelDueTime } from "./cancel-times.ts";
import type { Alarm } from "./disk.ts";
import { isPollable } from "./end-rules.ts";
import type { SharedState } from "./object-host.ts";
import {
  endTime,
  isReplacedByRead,
  isUrgentAt,
  plannedPollTime,
  urgentTime,
} from "./poll-times.ts";
import { type Setting, settingFor } from "./setting.ts";
import type { SimulatedObject, Subject } from "./simulated-object.ts";

/** An instance's memory of its last poll. Times are in Unix milliseconds. */
export interface LastPoll {
  /** Time at which the poll was sent; -Infinity when its connection has deferred it. */
  readonly at: number;
  readonly job: Job;
  /** False once a job, which may be the same one, was attached after the poll. */
  readonly isOfAttachedJob: boolean;
  /** Time before which the answer forbids another poll; 0 when it forbids none. */
  readonly retryAt: number;
  /** Time until which its connection has deferred the poll; 0 when it has not. */
  readonly turnAt: number;
  /** Time at which the poll has ended; -Infinity while it goes on, or when its connection has deferred it. */
  readonly endedAt: number;
  /** Time at which the poll asked for its turn, if its connection has deferred it; Infinity if not. */
  readonly deferredAt: number;
}

const NO_TIMES = { retryAt: 0, turnAt: 0, endedAt: -Infinity, deferredAt: Infinity };
const NO_POLL = { at: -Infinity, job: null, isOfAttachedJob: false, ...NO_TIMES };

/** Builds the last poll of an instance that polls a job now. */
export function newPoll(job: Job, now: number): LastPoll {
  return { at: now, job, isOfAttachedJob: true, ...NO_TIMES };
}

/** Returns the last poll with its answer added. */
export function answeredPoll(
  last: LastPoll | null,
  answer: PollAnswer,
  now: number,
): LastPoll | null {
  if (last === null) return null;
  if (answer.kind === "deferred") {
    const turnAt = now + answer.waitMs;
    return { ...last, at: -Infinity, retryAt: turnAt, turnAt, deferredAt: last.at };
  }
  return { ...last, retryAt: now + namedWaitMs(answer), endedAt: now };
}

function namedWaitMs(answer: PollAnswer): number {
  return "retryAfterMs" in answer ? (answer.retryAfterMs ?? 0) : 0;
}

/** Returns the last poll of an instance to which a client's read of a job has brought an answer. */
export function lastPollWithRead(
  last: LastPoll | null,
  { job, askedAt }: { readonly job: Job; readonly askedAt: number },
  answer: PollAnswer,
  now: number,
): LastPoll {
  const retryAt = now + namedWaitMs(answer);
  const read = { ...newPoll(job, askedAt), retryAt, endedAt: askedAt };
  if (last === null) return read;
  // A poll that goes on or is deferred stays the last one, and no read makes the last one older.
  if (last.endedAt === -Infinity || askedAt <= last.at) {
    return { ...last, retryAt: Math.max(last.retryAt, retryAt) };
  }
  return { ...read, endedAt: Math.max(askedAt, last.endedAt) };
}

/** Returns the last poll of an instance that has replaced the record `before` by `after`. */
export function lastPollAfter(
  last: LastPoll | null,
  before: TaskRecord | null,
  after: TaskRecord,
): LastPoll | null {
  if (last === null || !isOpen(after)) return last;
  const isSame = before !== null && isOpen(before) && attachmentOf(before) === attachmentOf(after);
  return isSame ? last : { ...last, isOfAttachedJob: false };
}

/** Returns what an attachment determines, as a text that can be compared. */
function attachmentOf({ upstream, tracking }: OpenTask): string {
  const { connection, job } = upstream ?? {};
  return JSON.stringify([connection, job?.id, job?.endpoint, tracking.poll?.attachedAt]);
}

/**
 * Checks that a poll which is about to be sent is planned, is the only one and keeps the provider's limits.
 */
export function askFault(
  { job, isUrgent }: Subject<"poll">,
  caller: SimulatedObject,
  { disk, setting: given, outside, hadFault, now }: SharedState,
): string | null {
  const { record } = disk.durable;
  const setting = settingFor(record, given);
  const { limits, isPaused } = setting;
  if (record === null || !isOpen(record)) return "only an open task is polled";
  const { poll: plan } = record.tracking;
  if (plan === null || limits === null || isPaused) return "a poll needs a job and a key";
  const last = caller.lastPoll ?? NO_POLL;
  // For a job that is attached again, the polls begin anew.
  const isSameJob = sameJob(last.job, job) && last.isOfAttachedJob;
  const isLate = endTime(record) <= now;
  // A turn is not awaited by a poll that has become urgent since it was deferred.
  const isUrgentSince = urgentTime(record, plan, last.deferredAt) <= now;
  // The end of a named wait is no planned time for an instance that knows which polls it has made.
  const isPlanned = timeAfter(last, record, plan, setting) <= now;
  return firstViolation({
    "only the attached job is polled": sameJob(record.upstream?.job ?? null, job),
    "a task has one poll at a time": outside.of(caller).every(({ what }) => what !== "poll"),
    // A fault of the storage may have lost the answer that named the wait.
    "a poll keeps the wait that the provider has named":
      now >= plan.notBefore && (!isSameJob || hadFault || now >= last.retryAt || isUrgentSince),
    "a poll that must not wait behind others says so": isUrgent === isUrgentAt(record, plan, now),
    "a poll keeps the gap of the provider": now >= Math.max(last.at, caller.readAt) + limits.gapMs,
    "each planned time leads to one poll": !isSameJob || hadFault || isLate || isPlanned,
  });
}

/** Returns the first time after an instance's last poll for which a poll is planned, in Unix milliseconds. */
function timeAfter(
  { at, endedAt }: Pick<LastPoll, "at" | "endedAt">,
  task: OpenTask,
  plan: PollPlan,
  setting: Setting,
): number {
  return plannedPollTime(task, { ...plan, notBefore: 0 }, setting, at, endedAt);
}

/**
 * Tells whether an alarm was set for a poll, and not as a watchdog of running work, under another
 * configuration, or for something else that is due.
 * @param living the instance that handles the alarm; null when none is alive.
 */
export function isForPoll(
  { disk, setting: given, outside, hadFault, now }: SharedState,
  { at, armedAt, under, by, rowVersion }: Alarm,
  living: SimulatedObject | null,
): boolean {
  const { record } = disk.durable;
  const setting = settingFor(record, given);
  const { limits } = setting;
  if (record === null || !isOpen(record) || record.tracking.poll === null) return false;
  // The handler of the alarm may have been running when another job was attached, and the clock put back since.
  if (record.tracking.poll.attachedAt > armedAt) return false;
  // A new instance does not know of earlier planned polls when a hook has moved the next one.
  if (by.isDead && (record.tracking.poll.postponedTo ?? 0) > now) return false;
  // The answer to a call that cancels the job may end the task before the poll.
  if (cancelDueTime(record) <= now) return false;
  const { version, indexRow } = record;
  const isWritten = !setting.isIndexed || indexRow.version === version || rowVersion === version;
  const isForNotice =
    setting.isOperatorNotified && record.notices.some(({ retryAt }) => retryAt === at);
  const isAhead = at > armedAt + 1 && at !== armedAt + 15_000;
  const isIdle = outside.openCalls.length === 0 && under === given;
  const mayPoll = isPollable(record, setting, now) && !setting.isPaused;
  // A client's read counts as a poll, also when another instance than that of the alarm has got its answer.
  const readAt = Math.max(by.readAt, living?.readAt ?? -Infinity);
  // Other work for which the alarm was set may have been done since, polls among it.
  const knownAt = Math.max(armedAt, by.lastPoll?.at ?? 0, readAt);
  const { poll: plan } = record.tracking;
  // The end of a named wait is no planned time for an instance that knows which polls it has made.
  const isOwnKnown = !by.isDead && by.lastPoll !== null && by.lastPoll.at !== -Infinity;
  const isPollKnown = isOwnKnown || (living?.readAt ?? -Infinity) !== -Infinity;
  const due = isPollKnown ? { ...plan, notBefore: 0 } : plan;
  // The alarm may come between the end of a poll and the end of its run, which sets the next alarm.
  const endedAt = by.isDead ? -Infinity : by.lastPoll?.endedAt;
  const plannedAt =
    limits === null ? Infinity : plannedPollTime(record, due, setting, knownAt, endedAt);
  // A deferred poll waits for its turn, but not past a deadline that has come since it was deferred.
  const { lastPoll } = by;
  const isDeferred = lastPoll?.at === -Infinity;
  const endAt = isDeferred && lastPoll.deferredAt >= endTime(record) ? Infinity : endTime(record);
  // A hook that has postponed the next poll since the alarm was set leaves the alarm as it is.
  const isPostponed = (plan.postponedTo ?? 0) >= armedAt + 2 * MINUTE;
  const turnAt = isDeferred ? lastPoll.retryAt : -Infinity;
  const isReplaced = isDeferred && isReplacedByRead(record, setting, readAt, lastPoll.deferredAt);
  // The first poll of a job that was attached since the deferral keeps its planned time.
  // A new order to cancel ends the polls that the answer to the one before has caused.
  const isAsking = askingState(record.cancellation) !== null;
  const isTurn = isDeferred && lastPoll.isOfAttachedJob && !isPostponed && !isReplaced && !isAsking;
  const pollAt = Math.min(isTurn ? turnAt : Math.max(plannedAt, turnAt), endAt);
  // Neither does an answer that has named a longer wait since then, nor the gap after the last poll, which counts only
  // once a job is attached: the alarm may have been set for a job that only a hook had named.
  const gapEndsAt = Math.max(lastPoll?.at ?? -Infinity, readAt) + (limits?.gapMs ?? 0);
  const isPlanned = pollAt <= at && plan.notBefore <= at && gapEndsAt <= at;
  return isPlanned && isWritten && !isForNotice && isAhead && isIdle && mayPoll && !hadFault;
}
