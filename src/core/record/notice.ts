import { planRetry, type Retry } from "./credits.ts";

/** A message about one task that the operator has not received yet, for `OPERATOR_CALLBACK_URL`. */
export interface Notice extends Retry {
  readonly kind: NoticeKind;
  /** Version of the task when it happened; identifies the notice together with its kind. */
  readonly version: number;
}

export type NoticeKind = (typeof NOTICE_KINDS)[number];
export const NOTICE_KINDS = ["callback.failed", "refund.delayed"] as const;

/** About 20 minutes of tries. The task itself goes on showing what happened. */
const MAX_TRIES = 10;
const MAX_KEPT = 5;

export function noticeOf(kind: NoticeKind, version: number, now: number): Notice {
  return { kind, version, retryAt: now, tries: 0 };
}

export function withNotice(notices: readonly Notice[], notice: Notice): readonly Notice[] {
  return [...notices, notice].slice(-MAX_KEPT);
}

/** Removes a notice that arrived or was tried often enough; plans its next try otherwise. */
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
