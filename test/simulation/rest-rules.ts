import { isOpen, isSettled, isTerminal, type TaskRecord } from "../../src/core/record/task.ts";
import { sameJob } from "../../src/core/record/upstream.ts";
import { taskView } from "../../src/core/views/task-view.ts";
import { MINUTE } from "../core/builders.ts";
import { firstViolation } from "./change.ts";
import { isWaitingLate } from "./late-rules.ts";
import type { Alarm, Stored } from "./disk.ts";
import { isPollable } from "./end-rules.ts";
import type { SharedState } from "./object-host.ts";
import type { SimulatedObject } from "./simulated-object.ts";
import { askingState } from "./cancel-times.ts";
import { dueTime } from "./due-time.ts";
import type { LastPoll } from "./poll-rules.ts";
import { isReplacedByRead, urgentTime } from "./poll-times.ts";
import { settingFor } from "./setting.ts";

/**
 * Checks promises 2 and 6 whenever the object is idle: if its instance died now, an alarm would continue the
 * work on the task in time. @param living instance that is alive; null when there is none.
 */
export function restFault(shared: SharedState, living: SimulatedObject | null): string | null {
  const { disk, outside, runningAlarmAt } = shared;
  const { record, alarm } = disk.durable;
  if (record === null) {
    const isAlone = alarm === null || alarm.isRepeat || shared.hadFault;
    return firstViolation({ "an erased task has no alarm": isAlone });
  }
  const calls = living === null ? [] : outside.of(living);
  const callback = isTerminal(record) ? record.callback : null;
  const running = callback?.state.kind === "in_flight" ? callback.state.number : null;
  const isOwnAttempt = running !== null && living?.opened === running;
  const isSent = shared.checker.history?.posts.some(({ number }) => number === running) === true;
  // The loop sends this attempt after the one whose call is still open. Its end was reported by the sender of an earlier
  // task, whose attempt had the same number and start.
  const isSending = calls.some(({ what }) => what === "send");
  if (isOwnAttempt && !shared.hadFault && !isSent && !isSending) {
    return "an attempt that was opened is sent at once";
  }
  // An alarm whose handler is running fires again when the handler does not end.
  if (alarm === null) return firstViolation({ "a task has an alarm": runningAlarmAt !== null });
  const isIdle =
    living !== null && alarm.by === living && calls.length === 0 && runningAlarmAt === null;
  const isAtRest = isIdle && !shared.hadFault;
  // An alarm that was set before the last poll may serve for the next one.
  const knownAt = Math.max(alarm.armedAt, alarm.by.lastPoll?.at ?? 0);
  // It may also serve for what follows the last write to the index.
  const { rowTriedAt, isDead } = alarm.by;
  // An order to write the row again is lost with an instance that dies before it is stored.
  const rowVersion = Math.max(alarm.by.rowVersion, isDead ? alarm.rowVersion : 0);
  // An overdue call starts now at the earliest. The clock may have been put back since the alarm was set.
  const startsAt = Math.max(alarm.armedAt, shared.now);
  const deferredTo = deferralOf(alarm);
  const known = { lastPoll: pollOf(alarm), rowTriedAt, rowVersion, deferredTo, startsAt };
  const owed = dueTime(record, alarm.under, knownAt, known);
  // The next poll may have to wait for the gap after the last one or after a client's read, or for its turn.
  const { limits } = settingFor(record, alarm.under);
  const gapMs = isOpen(record) ? (limits?.gapMs ?? 0) : 0;
  const isStillDue = isAtRest && isDeferred(record, alarm, shared);
  const askedAt = Math.max(knownAt, isOpen(record) ? alarm.by.readAt : -Infinity);
  const gapEndsAt = askedAt + gapMs + 1;
  // The gap after a client's read is long when the clock has been put back since the read was sent.
  const limit = isAtRest ? gapEndsAt : Math.max(gapEndsAt, watchdogLimit(record, alarm, shared));
  const latest = Math.max(limit, turnTime(record, alarm));
  if (alarm.at <= Math.max(isStillDue ? 0 : owed, latest)) return null;
  return `the alarm is in time (${alarm.at - owed} ms after what is owed, ${alarm.at - alarm.armedAt} ms after it was set)`;
}

/**
 * Returns the last poll of the instance that set an alarm, by which it knows which planned polls it made; all polls
 * of a job that was attached since are planned for later. A client's read counts as one while the last poll is deferred.
 * Null when the instance has made no poll.
 */
function pollOf({ by }: Alarm): Pick<LastPoll, "endedAt"> | null {
  if (by.lastPoll !== null && by.lastPoll.at > -Infinity) return by.lastPoll;
  return by.readAt > -Infinity ? { endedAt: -Infinity } : null;
}

/** Returns the time until which the last poll of the instance that set an alarm was deferred; 0 when it was not. */
function deferralOf({ by }: Alarm): number {
  return by.lastPoll?.at === -Infinity ? by.lastPoll.retryAt : 0;
}

/**
 * Returns the time at which a deferred poll has its turn or has become urgent, in Unix milliseconds; 0 when the
 * last poll was not deferred.
 */
function turnTime(record: TaskRecord, { by }: Alarm): number {
  if (by.lastPoll?.at !== -Infinity) return 0;
  const { retryAt, deferredAt } = by.lastPoll;
  if (!isOpen(record)) return isTerminal(record) && isWaitingLate(record) ? retryAt : 0;
  const { poll: plan, keptHooks } = record.tracking;
  if (plan === null) return keptHooks.some(({ jobId }) => jobId !== null) ? retryAt : 0;
  return Math.min(retryAt, urgentTime(record, plan, deferredAt));
}

/** Tells whether a poll is due that waits only because its connection has deferred it. */
function isDeferred(
  record: TaskRecord,
  { by }: Alarm,
  { setting: given, now }: SharedState,
): boolean {
  const setting = settingFor(record, given);
  if (by.lastPoll?.at !== -Infinity || !isOpen(record)) return false;
  const { job, isOfAttachedJob, retryAt, deferredAt } = by.lastPoll;
  const isSame =
    sameJob(record.upstream?.job ?? null, job) && record.tracking.poll?.postponedTo === null;
  // A new order to cancel ends the polls that the answer to the one before has caused.
  if (askingState(record.cancellation) !== null) return false;
  // A client's read may have taken the place of the poll, or its answer have named a wait.
  const isReplaced = isReplacedByRead(record, setting, by.readAt, deferredAt);
  const isOwed = !isReplaced && (record.tracking.poll?.notBefore ?? 0) <= now;
  // The deferred poll may belong to an erased task with the same id and job.
  return (
    isSame && isOwed && isOfAttachedJob && !setting.isPaused && isPollable(record, setting, retryAt)
  );
}

/**
 * Returns whether the platform would not repeat an earlier alarm of a task, because it knows that another one
 * is set. A task for which a client waits does not rely on this.
 */
export function isSuperseded({ record, alarm }: Stored, living: SimulatedObject | null): boolean {
  return record !== null && !isClientWaiting(record) && alarm?.by !== living;
}

/** Tells whether a client waits for a callback, a refund or the charge of a task. */
function isClientWaiting(record: TaskRecord): boolean {
  return isTerminal(record) ? !isSettled(record) : !isOpen(record);
}

/**
 * Returns the latest time of the watchdog alarm for running work, in Unix milliseconds. An alarm that was set
 * before may serve as one, up to a minute later where no client waits.
 */
function watchdogLimit(record: TaskRecord, { armedAt, by }: Alarm, shared: SharedState): number {
  const watchdogMs = shared.hadFault ? MINUTE + 1 : 15_000;
  // The clock may have been put back since the last change, and since the instance judged the alarm.
  return (
    Math.max(armedAt, by.latest, shared.now, record.version) +
    watchdogMs +
    (isClientWaiting(record) ? 0 : MINUTE)
  );
}

/** Checks promise 5: a reader sees the state that was written last. */
export function readFault(read: TaskRecord | null, written: TaskRecord | null): string | null {
  const isLast = read === written || shown(read) === shown(written);
  return firstViolation({ "a reader sees the last write": isLast });
}

/** Checks that a read writes nothing where it is certain that nothing is overdue. */
export function readWriteFault(
  { disk, setting, now }: SharedState,
  { record, alarm }: Stored,
): string | null {
  const isStill = disk.written.record === record && disk.written.alarm === alarm;
  if (record === null) return firstViolation({ "a read creates nothing": isStill });
  const isLate = isTerminal(record) && isWaitingLate(record);
  // During a pause, an order to copy outputs may leave before the next check whether the pause is over.
  const isOrderVague = setting.isPaused && isTerminal(record) && record.outputs?.order != null;
  // While an attempt is planned, a release may be due or wait for its result.
  const isReleaseVague =
    isTerminal(record) && record.credits?.state.kind === "releasing" && record.callback !== null;
  const isWorkVague = isOpen(record) || isLate || isOrderVague || isReleaseVague;
  const isVague = isWorkVague || setting.isIndexed || setting.isOperatorNotified;
  const isOverdue = dueTime(record, setting, now) < now;
  return firstViolation({ "a read writes nothing": isVague || isOverdue || isStill });
}

function shown(record: TaskRecord | null): string {
  if (record === null || record.status === "charging") return String(record?.version);
  return `${record.version} ${taskView(record, "operator")}`;
}
