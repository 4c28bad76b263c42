import type { Policy } from "../policy.ts";
import type { JsonObject } from "../json.ts";
import { isNoticeWanted, type NoticeKind } from "../record/operator-notice.ts";
import { isTerminal, type TaskRecord } from "../record/task.ts";
import { hostOf } from "../url.ts";
import { taskView } from "../views/task-view.ts";
import { nextAttemptAt } from "./callback-attempt.ts";
import type { Duty } from "./duty.ts";
import { refund } from "./refund.ts";

/** An operator notice: a message to the operator about one task. */
export interface OperatorNotice {
  readonly taskId: string;
  /** Id of the account of the task; null when it has none. */
  readonly account: string | null;
  /** Host of the `callback_url`; null when the task has none. */
  readonly host: string | null;
  readonly kind: NoticeKind;
  /**
   * Number that identifies the message, together with the kind of the message. It is the version of the task's record
   * at the reported event. If the event changes nothing that readers see, it is the time of the event in Unix
   * milliseconds.
   */
  readonly version: number;
  /**
   * Members of this kind of message in addition to the task, e.g. the output of a job that has succeeded after its task
   * had failed. Null when this kind has none.
   */
  readonly details: JsonObject | null;
  /** JSON text of the task as the operator may read it. */
  readonly task: string;
}

export interface NoticeStep {
  readonly kind: "sendNotice";
  readonly notice: OperatorNotice;
}

/**
 * Time in milliseconds that must lie between a notice and a planned refund or attempt of the callback. With less
 * time the notice is not sent, because waiting for the operator's receiver could delay the refund or the attempt.
 */
const CLEARANCE_MS = 5_500;

/**
 * Returns the operator notice to send next. The wait before another try is planned in record/operator-notice.ts.
 * Null when there is no notice. Null also when a refund or an attempt of the callback is planned so soon that the
 * notice could delay it.
 */
export function sendNotice(record: TaskRecord, policy: Policy): Duty<NoticeStep> | null {
  if (record.status === "charging") return null;
  const [next] = record.notices
    .filter((notice) => isNoticeWanted(policy, notice.kind))
    .toSorted((a, b) => a.retryAt - b.retryAt);
  if (next === undefined) return null;
  const { kind, version, details, retryAt } = next;
  if (mayDelayClient(record, policy, retryAt, CLEARANCE_MS)) return null;
  const notice = () => {
    const url = isTerminal(record) ? record.callback?.url : record.callbackUrl;
    const about = {
      taskId: record.id,
      account: record.account?.id ?? null,
      host: hostOf(url ?? ""),
    };
    return { ...about, kind, version, details, task: taskView(record, "operator") };
  };
  return { dueAt: retryAt, step: () => ({ kind: "sendNotice", notice: notice() }) };
}

/**
 * Tells whether a call for which no client waits, e.g. an operator notice, could still be running when the next refund
 * or attempt of the callback is due, and so delay it. While an attempt is running, every such call waits for its end.
 * An overdue call counts as starting no earlier than `policy.readyAt`, because it may start right after an attempt or
 * another call, or when an alarm continues the work after a crash. It also counts as starting no earlier than the last
 * change of the task (approximately its `version`), because `policy.readyAt` can be earlier: after the clock was put
 * back, and when the sender of an attempt reports its end later.
 * @param plannedAt time for which the call is planned, in Unix milliseconds.
 * @param clearanceMs longest time that the call may take, in milliseconds.
 */
export function mayDelayClient(
  record: TaskRecord,
  policy: Policy,
  plannedAt: number,
  clearanceMs: number,
): boolean {
  const refundAt = refund(record)?.dueAt ?? Infinity;
  const startsAt = Math.max(plannedAt, record.version, policy.readyAt);
  return startsAt + clearanceMs > Math.min(refundAt, nextAttemptAt(record, policy));
}
