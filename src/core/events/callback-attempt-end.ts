import { changed, conflict, type Decision, unchanged, UNKNOWN_TASK } from "./decision.ts";
import type { AttemptEndedEvent, RedeliverEvent } from "./event.ts";
import type { Policy } from "../policy.ts";
import type { Callback } from "../record/callback.ts";
import { type KeyedRedelivery, knownRedelivery } from "../record/redelivery-keys.ts";
import { isNoticeWanted, noticeOf, withNotice } from "../record/operator-notice.ts";
import {
  closeAttempt,
  joinedRedelivery,
  openDueAttempt,
  redeliverySeries,
} from "../record/callback-attempt-plan.ts";
import {
  isSettled,
  isTerminal,
  nextVersion,
  type TaskRecord,
  type TerminalTask,
} from "../record/task.ts";

/**
 * Records the start of the attempt of the callback that is due. The attempt is sent only after its start is
 * stored.
 */
export function startAttempt(record: TaskRecord | null, policy: Policy, now: number): Decision {
  return changeCallback(record, policy, now, (callback) => openDueAttempt(callback, policy, now));
}

/**
 * Records the result of an attempt of the callback; when it was the last planned attempt and failed, also
 * plans the notice `callback.failed` to the operator.
 */
export function endAttempt(
  record: TaskRecord | null,
  event: AttemptEndedEvent,
  policy: Policy,
  now: number,
): Decision {
  const decision = changeCallback(record, policy, now, (callback) =>
    closeAttempt(callback, event.number, event, policy, now),
  );
  if (decision.kind !== "changed" || !isNoticeWanted(policy, "callback.failed")) return decision;
  const { record: next } = decision;
  if (!isTerminal(next) || next.callback?.state.kind !== "failed") return decision;
  const notice = noticeOf("callback.failed", next.version, now);
  return changed({ ...next, notices: withNotice(next.notices, notice) });
}

/**
 * Redelivers the callback of a finished task on an order, optionally to another URL. An order under a
 * remembered `Idempotency-Key` starts nothing, and is rejected when it names another URL than the first order
 * under that key, so that nobody believes it was sent there. An order is also rejected while the task is open,
 * its refund is not confirmed, or an earlier attempt is running or planned. Exception: an attempt that waits
 * because the relay is paused takes over the order, so that it goes to the ordered URL and no further series of
 * attempts starts.
 */
export function redeliver(
  record: TaskRecord | null,
  event: RedeliverEvent,
  policy: Policy,
  now: number,
): Decision {
  if (record === null || record.status === "charging") return UNKNOWN_TASK;
  if (!isTerminal(record)) return conflict("task_open", record);
  const { callback } = record;
  const earlier = callback === null ? null : knownRedelivery(callback, event);
  if (earlier !== null) return repeatedRedelivery(record, event, earlier);
  const joined = joinPaused(record, event, policy, now);
  if (joined !== null) return joined;
  if (!isSettled(record)) return conflict("series_running", record);
  const url = event.callbackUrl ?? callback?.url ?? null;
  if (url === null) return conflict("no_callback", record);
  const next = redeliverySeries(callback, url, event, policy, now);
  return changed(withCallback(record, next, policy, now));
}

function repeatedRedelivery(
  record: TerminalTask,
  { callbackUrl }: RedeliverEvent,
  { callbackUrl: earlierUrl }: KeyedRedelivery,
): Decision {
  const isSame = earlierUrl === undefined || earlierUrl === callbackUrl;
  return isSame ? unchanged(record) : conflict("idempotency_key_reused", record);
}

/**
 * Applies an order for a redelivery to the attempt that waits while the relay is paused; null when no attempt
 * waits for that reason.
 */
function joinPaused(
  record: TerminalTask,
  event: RedeliverEvent,
  policy: Policy,
  now: number,
): Decision | null {
  const { callback } = record;
  if (policy.pausedAt === null || callback?.state.kind !== "due") return null;
  const joined = joinedRedelivery(callback, event.callbackUrl ?? callback.url, event);
  const isSame = joined === callback;
  return isSame ? unchanged(record) : changed(withCallback(record, joined, policy, now));
}

/**
 * Applies a change to the stored callback of a task.
 * @param change returns the next state of the callback; null when the event does not apply to it.
 */
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

/**
 * Returns the task with a changed callback. Every change starts the retention of the task again, after which
 * it is erased.
 */
function withCallback(
  record: TerminalTask,
  callback: Callback,
  policy: Policy,
  now: number,
): TerminalTask {
  const version = nextVersion(record, now);
  return { ...record, version, callback, expiresAt: now + policy.retentionMs };
}
