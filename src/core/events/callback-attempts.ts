import {
  changed,
  conflict,
  type Decision,
  unchanged,
  UNKNOWN_TASK,
  unknownEndpoint,
} from "./decision.ts";
import type { AttemptEndedEvent, AttemptRestedEvent, RedeliverEvent } from "./event.ts";
import type { Policy } from "../policy.ts";
import type { Callback } from "../record/callback.ts";
import { targetOfRedelivery } from "../record/callback-terms.ts";
import type { ChosenEndpoint } from "../record/endpoint-copy.ts";
import { type KeyedRedelivery, knownRedelivery } from "../record/redelivery-keys.ts";
import { isNoticeWanted, noticeOf, withNotice } from "../record/operator-notice.ts";
import {
  closeAttempt,
  joinedRedelivery,
  openDueAttempt,
  redeliverySeries,
  restAttempt,
} from "../plans/callback-attempt-plan.ts";
import {
  canRedeliver,
  isTerminal,
  nextVersion,
  type TaskRecord,
  type TerminalTask,
} from "../record/task.ts";

/**
 * Returns the effect of starting the attempt of the callback that is due. The start is stored first, and the
 * attempt is sent after that. If the receiver's host is paused, the attempt rests instead, or goes on resting.
 */
export function startAttempt(record: TaskRecord | null, policy: Policy, now: number): Decision {
  return changeCallback(record, policy, now, (callback) => openDueAttempt(callback, policy, now));
}

/** Returns the effect of the finding that the host of the receiver of a started attempt is paused. */
export function restStartedAttempt(
  record: TaskRecord | null,
  { number, until }: AttemptRestedEvent,
  policy: Policy,
  now: number,
): Decision {
  return changeCallback(record, policy, now, (callback) =>
    restAttempt(callback, number, until, policy, now),
  );
}

/**
 * Returns the effect of the end of an attempt of the callback. When the last planned attempt has failed, the
 * operator gets the notice `callback.failed`.
 */
export function endAttempt(
  record: TaskRecord | null,
  event: AttemptEndedEvent,
  policy: Policy,
  now: number,
): Decision {
  const decision = changeCallback(record, policy, now, (callback) =>
    closeAttempt(callback, event.number, event, event.sent, policy, now),
  );
  if (decision.kind !== "changed" || !isNoticeWanted(policy, "callback.failed")) return decision;
  const { record: next } = decision;
  if (!isTerminal(next) || next.callback?.state.kind !== "failed") return decision;
  const notice = noticeOf("callback.failed", next.version, now);
  return changed({ ...next, notices: withNotice(next.notices, notice) });
}

/**
 * Returns the effect of an order to send the callback of a finished task again, optionally to another URL or to an
 * endpoint, whatever the events of that endpoint. An order that repeats the `Idempotency-Key` of an earlier order starts
 * nothing. It is rejected when the two orders name different receivers, or when only one of them names a receiver,
 * because the caller would believe that the callback was sent as the later order says. An order is also rejected while
 * the task is open, while its refund is not confirmed, and while an attempt is running or planned. There is one
 * exception: when a planned attempt waits because the relay or the receiver's host is paused, the order is accepted, and
 * the waiting attempt goes to the ordered receiver. No further attempts are started in this case.
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
  const { endpoint } = event;
  if (endpoint?.kind === "unknown") return unknownEndpoint(endpoint.field);
  const joined = joinPaused(record, event, endpoint, policy, now);
  if (joined !== null) return joined;
  if (!canRedeliver(record)) return conflict("series_running", record);
  const target = targetOfRedelivery(callback, event.callbackUrl, endpoint);
  if (target === null) return conflict("no_callback", record);
  const next = redeliverySeries(callback, target, event, policy, now);
  return changed(withCallback(record, next, policy, now));
}

function repeatedRedelivery(
  record: TerminalTask,
  { callbackUrl }: RedeliverEvent,
  { callbackUrl: earlierUrl }: KeyedRedelivery,
): Decision {
  const isSame = earlierUrl === callbackUrl;
  return isSame ? unchanged(record) : conflict("idempotency_key_reused", record);
}

/**
 * Returns the effect of an order for a redelivery while an attempt waits because the relay or the receiver's host is
 * paused: the waiting attempt is used for the redelivery. Null when no attempt waits for this reason.
 */
function joinPaused(
  record: TerminalTask,
  event: RedeliverEvent,
  endpoint: ChosenEndpoint | undefined,
  policy: Policy,
  now: number,
): Decision | null {
  const { callback } = record;
  if (callback?.state.kind !== "due") return null;
  if (policy.pausedAt === null && callback.state.rest === undefined) return null;
  const target = targetOfRedelivery(callback, event.callbackUrl, endpoint) ?? callback;
  const joined = joinedRedelivery(callback, target, event);
  const isSame = joined === callback;
  return isSame ? unchanged(record) : changed(withCallback(record, joined, policy, now));
}

/**
 * Returns the effect of a change of a task's callback.
 * @param change returns the next state of the callback; null when the event does not concern this callback.
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
  if (isSameRest(record.callback, callback)) return changed({ ...record, callback });
  return changed(withCallback(record, callback, policy, now));
}

/** Tells whether nothing has changed but the time at which a resting attempt looks again, which no reader sees. */
function isSameRest({ state: before }: Callback, { state: after }: Callback): boolean {
  if (before.kind !== "due" || after.kind !== "due") return false;
  return after.rest !== undefined && before.rest?.until === after.rest.until;
}

/**
 * Returns the task with a changed callback. With every change of the callback, the time until the task is erased (its
 * retention) starts again.
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
