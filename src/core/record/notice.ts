import { laterRetry, type Retry } from "./credits.ts";

/** News for the operator about one task, sent to `OPERATOR_CALLBACK_URL`. */
export interface Notice extends Retry {
  readonly kind: NoticeKind;
  /** Of the task when it happened: with the kind, the identity of the notice. */
  readonly version: number;
}

export type NoticeKind = (typeof NOTICE_KINDS)[number];
export const NOTICE_KINDS = ["callback.failed", "refund.delayed"] as const;

/** About 20 minutes of tries; what happened stays visible in the task. */
const MAX_TRIES = 10;
const MAX_KEPT = 5;

export function noticeOf(kind: NoticeKind, version: number, now: number): Notice {
  return { kind, version, retryAt: now, tries: 0 };
}

export function withNotice(notices: readonly Notice[], notice: Notice): readonly Notice[] {
  return [...notices, notice].slice(-MAX_KEPT);
}

/** After a try: without the notice when it arrived or was tried often enough, else planned again. */
export function afterTry(
  notices: readonly Notice[],
  { kind, version, isTaken }: { kind: NoticeKind; version: number; isTaken: boolean },
  now: number,
): readonly Notice[] {
  return notices.flatMap((notice) => {
    if (notice.kind !== kind || notice.version !== version) return [notice];
    if (isTaken || notice.tries + 1 >= MAX_TRIES) return [];
    return [{ ...notice, ...laterRetry(notice, now) }];
  });
}
