import {
  type Decision,
  changed,
  conflict,
  erase,
  unchanged,
  UNKNOWN_TASK,
} from "./events/decision.ts";
import type { AttemptEndedEvent, RedeliverEvent, TaskEvent } from "./events/event.ts";
import { finishAtDeadline, finishCanceled } from "./events/finish.ts";
import { applyHook, attach } from "./events/hooks.ts";
import { register, report } from "./events/intake.ts";
import { endNotice, endPublication, republish } from "./events/outbox.ts";
import { endPoll } from "./events/polling.ts";
import { endCharge, endRefund } from "./events/settlement.ts";
import type { Policy } from "./policy.ts";
import { type Callback, endAttempt, orderedSeries, startAttempt } from "./record/callback.ts";
import { noticeOf, withNotice } from "./record/notice.ts";
import {
  isOpen,
  isSettled,
  isTerminal,
  nextVersion,
  type TaskRecord,
  type TerminalTask,
} from "./record/task.ts";

/**
 * Decides what an event does to a task: the only place where a task changes. Events from outside come
 * first, then those of the work loop.
 * @param record the task as it is stored at this moment; null when there is none.
 * @param now the loop's clock, in Unix milliseconds.
 */
export function transition(
  record: TaskRecord | null,
  event: TaskEvent,
  policy: Policy,
  now: number,
): Decision {
  switch (event.type) {
    case "register":
      return register(record, event, policy, now);
    case "report":
      return report(record, event, policy, now);
    case "attach":
      return attach(record, event, policy, now);
    case "hook":
      return applyHook(record, event, policy, now);
    case "redeliver":
      return redeliver(record, event, policy, now);
    case "republish":
      return republish(record);
    case "cancel":
      return cancel(record, policy, now);
    case "erase":
      return eraseSettled(record);
    case "deadline":
      return passDeadline(record, policy, now);
    case "attempt_started":
      return changeCallback(record, policy, now, (callback) => startAttempt(callback, policy, now));
    case "attempt_ended":
      return finishAttempt(record, event, policy, now);
    case "charge_ended":
      return endCharge(record, event, policy, now);
    case "poll_ended":
      return endPoll(record, event, policy, now);
    case "refund_ended":
      return endRefund(record, event, policy, now);
    case "publish_ended":
      return endPublication(record, event, now);
    case "notice_ended":
      return endNotice(record, event, now);
  }
}

function passDeadline(record: TaskRecord | null, policy: Policy, now: number): Decision {
  if (record === null || !isOpen(record) || record.deadlineAt > now) return unchanged(record);
  return changed(finishAtDeadline(record, policy, now));
}

/** Records the result of an attempt. A series that ends without success is reported to the operator. */
function finishAttempt(
  record: TaskRecord | null,
  event: AttemptEndedEvent,
  policy: Policy,
  now: number,
): Decision {
  const decision = changeCallback(record, policy, now, (callback) =>
    endAttempt(callback, event.number, event, policy, now),
  );
  if (decision.kind !== "changed" || !policy.isOperatorNotified) return decision;
  const { record: next } = decision;
  if (!isTerminal(next) || next.callback?.state.kind !== "failed") return decision;
  const notice = noticeOf("callback.failed", next.version, now);
  return changed({ ...next, notices: withNotice(next.notices, notice) });
}

/** @param change returns the next state of the callback; null when the event does not apply to it. */
function changeCallback(
  record: TaskRecord | null,
  policy: Policy,
  now: number,
  change: (callback: Callback) => Callback | null,
): Decision {
  if (record === null || !isTerminal(record) || record.callback === null) return unchanged(record);
  const callback = change(record.callback);
  if (callback === null) return unchanged(record);
  return changed(withCallback(record, callback, policy, now));
}

function redeliver(
  record: TaskRecord | null,
  event: RedeliverEvent,
  policy: Policy,
  now: number,
): Decision {
  if (record === null || record.status === "charging") return UNKNOWN_TASK;
  if (!isTerminal(record)) return conflict("task_open", record);
  const { callback } = record;
  const { idempotencyKey } = event;
  const isRepeat = idempotencyKey !== null && callback?.lastOrderKey === idempotencyKey;
  if (isRepeat) return unchanged(record);
  if (!isSettled(record)) return conflict("series_running", record);
  const url = event.callbackUrl ?? callback?.url ?? null;
  if (url === null) return conflict("no_callback", record);
  const next = orderedSeries(callback, url, event, policy, now);
  return changed(withCallback(record, next, policy, now));
}

function cancel(record: TaskRecord | null, policy: Policy, now: number): Decision {
  if (record === null || record.status === "charging") return UNKNOWN_TASK;
  if (isTerminal(record)) return conflict("task_settled", record);
  return changed(finishCanceled(record, policy, now));
}

function eraseSettled(record: TaskRecord | null): Decision {
  if (record === null || record.status === "charging") return UNKNOWN_TASK;
  if (!isTerminal(record)) return conflict("task_open", record);
  return isSettled(record) ? erase(record, "settled") : conflict("series_running", record);
}

/** Returns the task with its next callback. Every change starts the retention again. */
function withCallback(
  record: TerminalTask,
  callback: Callback,
  policy: Policy,
  now: number,
): TerminalTask {
  const version = nextVersion(record, now);
  return { ...record, version, callback, expiresAt: now + policy.retentionMs };
}
