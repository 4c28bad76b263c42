import type { JsonObject } from "../json.ts";
import type { Policy } from "../policy.ts";
import { planRetry, type Retry } from "./retry.ts";

/**
 * An operator notice: a message about one task for `OPERATOR_CALLBACK_URL`. The task's record contains the notice
 * until the operator's receiver has accepted it, or until 10 tries have failed.
 */
export interface Notice extends Retry {
  readonly kind: NoticeKind;
  /**
   * Number that identifies the notice, together with the kind of the notice. It is the version of the task's record at
   * the reported event. If the event changes nothing that readers see, it is the time of the event in Unix
   * milliseconds.
   */
  readonly version: number;
  /**
   * Members that a message of this kind has in addition to the task, e.g. the output of a job that has succeeded after
   * its task had failed. Null when this kind has none.
   */
  readonly details: JsonObject | null;
}

export type NoticeKind = (typeof NOTICE_KINDS)[number];
export const NOTICE_KINDS = [
  "callback.failed",
  "refund.delayed",
  "upstream.unclear",
  "upstream.no_output",
  "task.late_result",
  "key.unreadable",
  "output.lost",
  "price.unknown",
  "price.above_hold",
] as const;

/**
 * Largest number of tries to send an operator notice, which take about 20 minutes. The notice is removed after the last
 * try. `GET /v1/tasks/{id}` still shows what has happened to the task.
 */
const MAX_TRIES = 10;
const MAX_KEPT = 9;

/** Tells whether the operator gets notices of this kind. */
export function isNoticeWanted(policy: Policy, kind: NoticeKind): boolean {
  return policy.isOperatorNotified && !policy.unwantedNotices.has(kind);
}

export function noticeOf(
  kind: NoticeKind,
  version: number,
  now: number,
  details: JsonObject | null = null,
): Notice {
  return { kind, version, details, retryAt: now, tries: 0 };
}

export function withNotice(notices: readonly Notice[], notice: Notice): readonly Notice[] {
  return [...notices, notice].slice(-MAX_KEPT);
}

/**
 * Returns the notices (messages to the operator) of a task after one try to send one of them. A notice that was
 * accepted, or whose tenth try failed, is removed. For any other notice the next try is planned.
 */
export function afterTry(
  notices: readonly Notice[],
  { kind, version, isTaken }: { kind: NoticeKind; version: number; isTaken: boolean },
  now: number,
): readonly Notice[] {
  return notices.flatMap((notice) => {
    if (notice.kind !== kind || notice.version !== version) return [notice];
    if (isTaken || notice.tries + 1 >= MAX_TRIES) return [];
    return [{ ...notice, ...planRetry(notice, now) }];
  });
}
