import type { JsonObject } from "../json.ts";
import type { Policy } from "../policy.ts";
import { planRetry, type Retry } from "./credits.ts";

/**
 * An operator notice: a message about one task for `OPERATOR_CALLBACK_URL`, kept with the task until the
 * operator has received it or 10 tries have failed.
 */
export interface Notice extends Retry {
  readonly kind: NoticeKind;
  /**
   * Identifies the notice together with its kind: the version of the task's record at the event that the
   * notice is about or, for an event that readers of the task do not see, the time of the event in Unix
   * milliseconds.
   */
  readonly version: number;
  /**
   * Members that this kind of message has besides the task, e.g. the output of a late success; null when it
   * has none.
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
] as const;

/**
 * Number of tries to send an operator notice, spread over about 20 minutes. After the last one the notice is
 * dropped; `GET /v1/tasks/{id}` still shows what has happened to the task.
 */
const MAX_TRIES = 10;
const MAX_KEPT = 9;

/** Tells whether the operator gets notices of a kind. */
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
 * Applies the result of one try to send an operator notice: removes a notice that arrived or was tried 10
 * times, else plans its next try.
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
