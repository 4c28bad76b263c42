import { endAttempt, orderedSeries, startAttempt } from "./record/callback.ts";
import type { Callback } from "./record/callback.ts";
import { type Decision, changed, conflict, unchanged, UNKNOWN_TASK } from "./events/decision.ts";
import type { RedeliverEvent, TaskEvent } from "./events/event.ts";
import { finishAtDeadline, finishCanceled } from "./events/finish.ts";
import { attach, takeHook } from "./events/hooks.ts";
import { register, report } from "./events/intake.ts";
import { endPoll } from "./events/polling.ts";
import { endNotice, endPublication, republish } from "./events/outbox.ts";
import { noticeOf, withNotice } from "./record/notice.ts";
import { endCharge, endRefund } from "./events/settlement.ts";
import type { Policy } from "./policy.ts";
import {
  isOpen,
  isSettled,
  isTerminal,
  nextVersion,
  type TaskRecord,
  type TerminalTask,
} from "./record/task.ts";

/**
 * The one place where a task changes. `record` is the truth as it is at this moment (null: no such
 * task), `now` the loop's clock in Unix milliseconds.
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
      return takeHook(record, event, policy, now);
    case "poll_ended":
      return endPoll(record, event, policy, now);
    case "deadline":
      return passDeadline(record, policy, now);
    case "attempt_started":
      return changeCallback(record, policy, now, (callback) => startAttempt(callback, policy, now));
    case "attempt_ended":
      return noticed(
        changeCallback(record, policy, now, (callback) => endAttempt(callback, event, policy, now)),
        policy,
        now,
      );
    case "redeliver":
      return redeliver(record, event, policy, now);
    case "charge_ended":
      return endCharge(record, event, policy, now);
    case "refund_ended":
      return endRefund(record, event, policy, now);
    case "publish_ended":
      return endPublication(record, event, now);
    case "notice_ended":
      return endNotice(record, event, now);
    case "republish":
      return republish(record);
    case "cancel":
      return cancel(record, policy, now);
    case "erase":
      return erase(record);
  }
}

function passDeadline(record: TaskRecord | null, policy: Policy, now: number): Decision {
  if (record === null || !isOpen(record) || record.deadlineAt > now) return unchanged(record);
  return changed(finishAtDeadline(record, policy, now));
}

function changeCallback(
  record: TaskRecord | null,
  policy: Policy,
  now: number,
  change: (callback: Callback) => Callback | null,
): Decision {
  if (record === null || !isTerminal(record) || record.callback === null) return unchanged(record);
  const callback = change(record.callback);
  return callback === null
    ? unchanged(record)
    : changed(withCallback(record, callback, policy, now));
}

/** A series that ends without success is news for the operator. */
function noticed(decision: Decision, policy: Policy, now: number): Decision {
  if (decision.kind !== "commit" || !policy.isOperatorTold) return decision;
  const { record } = decision;
  if (!isTerminal(record) || record.callback?.state.kind !== "failed") return decision;
  const notice = noticeOf("callback.failed", record.version, now);
  return changed({ ...record, notices: withNotice(record.notices, notice) });
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
  if (idempotencyKey !== null && callback?.lastOrderKey === idempotencyKey)
    return unchanged(record);
  if (!isSettled(record)) return conflict("series_running", record);
  const url = event.callbackUrl ?? callback?.url ?? null;
  if (url === null) return conflict("no_callback", record);
  return changed(
    withCallback(record, orderedSeries(callback, url, event, policy, now), policy, now),
  );
}

function cancel(record: TaskRecord | null, policy: Policy, now: number): Decision {
  if (record === null || record.status === "charging") return UNKNOWN_TASK;
  if (isTerminal(record)) return conflict("task_settled", record);
  return changed(finishCanceled(record, policy, now));
}

function erase(record: TaskRecord | null): Decision {
  if (record === null || record.status === "charging") return UNKNOWN_TASK;
  if (!isTerminal(record)) return conflict("task_open", record);
  return isSettled(record) ? { kind: "erase" } : conflict("series_running", record);
}

function withCallback(
  record: TerminalTask,
  callback: Callback,
  policy: Policy,
  now: number,
): TerminalTask {
  const version = nextVersion(record, now);
  return { ...record, version, callback, expiresAt: now + policy.retentionMs };
}
