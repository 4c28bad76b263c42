import type { Retry } from "../../src/core/record/retry.ts";
import type { Notice } from "../../src/core/record/operator-notice.ts";
import { isTerminal, type TaskRecord, type TerminalTask } from "../../src/core/record/task.ts";
import { MINUTE, SECOND } from "../core/builders.ts";
import { type Change, isEqual, firstViolation } from "./change.ts";

const FIRST_WAIT_MS = 5 * SECOND;
const MAX_WAIT_MS = 5 * MINUTE;
/** Number of tries after which a notice is dropped. */
export const NOTICE_TRIES = 10;
/** Duration of a refund or release, in milliseconds, after which the operator gets a notice. */
const REFUND_LATE_MS = 5 * MINUTE;

/** Checks the waits of repeated calls, and the notice of a late refund or release. */
export function retryFault({ before, after, now, setting }: Change): string | null {
  const notices = isTerminal(after) ? after.notices : [];
  const isGivenUp = notices.every(({ tries }) => tries < NOTICE_TRIES);
  const isLater = [...pairs(before, after)].every(([from, to]) => isRepeatedLater(from, to, now));
  const isBoth = before !== null && isTerminal(before) && isTerminal(after);
  return (
    firstViolation({
      "a call without an answer is repeated after 5 s, then twice as long, up to 5 min": isLater,
      "a notice is given up after 10 tries": isGivenUp,
    }) ?? (isBoth ? delayFault(before, after, setting.isOperatorNotified) : null)
  );
}

/** Checks that only the try after which a refund or release is late creates a notice. */
function delayFault(before: TerminalTask, after: TerminalTask, isTold: boolean): string | null {
  const lateAt = (after.finishedAt ?? 0) + REFUND_LATE_MS;
  const [from, to] = [waiting(before), waiting(after)];
  const isNews = from !== null && to !== null && from.retryAt <= lateAt && to.retryAt > lateAt;
  const isNew = delays(after).some((one) => delays(before).every((two) => !isSameNotice(one, two)));
  return firstViolation({
    "a late refund or release creates one notice": isNew === (isNews && isTold),
  });
}

function* pairs(before: TaskRecord | null, after: TaskRecord): Iterable<readonly [Retry, Retry]> {
  const [from, to] = [waiting(before), waiting(after)];
  const isSameCall = before?.credits?.state.kind === after.credits?.state.kind;
  if (from !== null && to !== null && isSameCall) yield [from, to];
  if (before === null || !isTerminal(before) || !isTerminal(after)) return;
  const [order, nextOrder] = [before.outputs?.order, after.outputs?.order];
  if (order != null && nextOrder != null) yield [order, nextOrder];
  for (const notice of before.notices) {
    const later = after.notices.find((one) => isSameNotice(one, notice));
    if (later !== undefined) yield [notice, later];
  }
}

function isRepeatedLater(from: Retry, to: Retry, now: number): boolean {
  if (isEqual([from.tries, from.retryAt], [to.tries, to.retryAt])) return true;
  const waitMs = Math.min(FIRST_WAIT_MS * 2 ** from.tries, MAX_WAIT_MS);
  return to.tries === from.tries + 1 && to.retryAt === now + waitMs;
}

/** Returns the charge, refund or release that is still unanswered. */
function waiting(record: TaskRecord | null): Retry | null {
  const state = record?.credits?.state;
  return state !== undefined && "retryAt" in state ? state : null;
}

function delays({ notices }: TerminalTask): readonly Notice[] {
  return notices.filter(({ kind }) => kind === "refund.delayed");
}

function isSameNotice(a: Notice, b: Notice): boolean {
  return a.kind === b.kind && a.version === b.version;
}
