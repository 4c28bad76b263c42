import { type IndexRow, rowOf } from "../../src/core/views/index-row.ts";
import type { Callback } from "../../src/core/record/callback.ts";
import { POLICY, SECOND } from "../core/builders.ts";
import {
  isOpen,
  isTerminal,
  type TaskRecord,
  type TerminalTask,
} from "../../src/core/record/task.ts";
import { taskView } from "../../src/core/views/task-view.ts";
import { callbackFault } from "./callback-rules.ts";
import { cancellationFault } from "./cancel-rules.ts";
import { type Change, isEqual, firstViolation } from "./change.ts";
import { customerKeyFault } from "./customer-key-rules.ts";
import { deadlineFault, finishFault, RETENTION_MS } from "./end-rules.ts";
import { lateFault } from "./late-rules.ts";
import { outputsFault } from "./output-rules.ts";
import { endCallbackFault } from "./progress-rules.ts";
import { priceFault } from "./price-rules.ts";
import { recordFault } from "./record-rules.ts";
import { retryFault } from "./retry-rules.ts";
import { submissionFault } from "./submission-rules.ts";
import { pollFault } from "./tracking-rules.ts";

/**
 * Returns the first rule that a commit breaks; null when it breaks none. @param row newest row of the task in
 * the index.
 */
export function commitFault(change: Change, row: IndexRow | null): string | null {
  return (
    versionFault(change) ??
    recordFault(change) ??
    indexFault(change, row) ??
    creditsFault(change) ??
    priceFault(change) ??
    retryFault(change) ??
    submissionFault(change) ??
    customerKeyFault(change) ??
    cancellationFault(change) ??
    statusFault(change)
  );
}

/** Checks promises 3 and 5: an end that readers have seen stays, and every change has a new version. */
function versionFault({ before, after }: Change): string | null {
  if (before === null || before.status === "charging" || after.status === "charging") return null;
  const isSilent = before.version === after.version;
  return firstViolation({
    "the id stays": before.id === after.id,
    "versions never fall": after.version >= before.version,
    "what readers see changes with the version": !isSilent || viewOf(before) === viewOf(after),
  });
}

function viewOf(record: Exclude<TaskRecord, { readonly status: "charging" }>): string {
  return taskView(record, "operator");
}

function indexFault(change: Change, row: IndexRow | null): string | null {
  const { after, history } = change;
  const { indexRow, version, status } = after;
  const isOld = indexRow.version <= (row?.version ?? 0);
  if (!isOld) return "a version that counts as written is in the index";
  if (indexRow.version !== version) return null;
  if (!history.isRowOrdered && isRowStoredAlone(change)) {
    return "the first write of a version is stored with the next change";
  }
  const isShown =
    status !== "charging" && JSON.stringify(row) === JSON.stringify(rowOf(after, POLICY));
  return firstViolation({ "a version that counts as written is in the index": isShown });
}

/**
 * Tells whether a commit stores nothing but the success of the first write of an open task's row, which is
 * planned for 30 s after the creation, by an instance that knows that it is the first.
 */
function isRowStoredAlone({ before, after, plannedAt, instance }: Change): boolean {
  if (before === null || !isOpen(before) || before.indexRow.version === before.version) {
    return false;
  }
  const { indexRow, version } = before;
  const isAlone = isEqual({ ...before, indexRow: null }, { ...after, indexRow: null });
  const firstAt = (indexRow.outdatedAt ?? version) + 30 * SECOND;
  const isFirst = !indexRow.hasFailed && plannedAt <= firstAt;
  // An instance that was started after the planned time assumes that an earlier one has made the first write.
  return isAlone && isFirst && instance.startedAt <= firstAt;
}

/** Checks promise 4 by comparing the credits in the record with the ledger. */
function creditsFault({ before, after, ledger, history }: Change): string | null {
  const { chargeId } = history;
  if (chargeId === null) return null;
  const isCharged = ledger.count("charge", chargeId) === 1;
  const state = after.credits?.state.kind;
  const isOwn = after.account?.id === after.credits?.accountId;
  const isBack = before?.credits?.state.kind !== "refunded" || state === "refunded";
  return firstViolation({
    "a task exists when its charge is booked": after.status === "charging" || isCharged,
    "a refunded task has a refund in the ledger":
      state !== "refunded" || ledger.count("refund", chargeId) === 1,
    "a refund is final": isBack,
    "no charge takes more than the balance": !ledger.isOverdrawn,
    "no month costs more than the monthly limit": !ledger.isOverLimit,
    "a task belongs to the account that paid": after.status === "charging" || isOwn,
  });
}

function statusFault(change: Change): string | null {
  const { before, after } = change;
  if (!isTerminal(after)) {
    if (before !== null && isTerminal(before)) return "terminal states never change";
    const isOpenStill = before !== null && isOpen(before) && isOpen(after);
    if (!isOpenStill) return null;
    return deadlineFault({ ...change, before, after }) ?? pollFault({ ...change, before, after });
  }
  if (before === null || !isTerminal(before)) {
    const fault = finishFault({ ...change, after });
    return fault ?? endCallbackFault(change) ?? callbackFault(change, null, after);
  }
  return (
    endedFault(before, after, change.now) ??
    lateFault(before, after, change) ??
    outputsFault(before, after, change) ??
    callbackFault(change, before.callback, after)
  );
}

/** Returns a callback without the time at which a resting attempt looks again, which no reader sees. */
function seenOf(callback: Callback | null): Callback | null {
  if (callback?.state.kind !== "due" || callback.state.rest === undefined) return callback;
  const { state } = callback;
  return { ...callback, state: { ...state, rest: { ...callback.state.rest, lookAt: 0 } } };
}

/** Checks promise 3 for a task that had ended before the commit. */
function endedFault(before: TerminalTask, after: TerminalTask, now: number): string | null {
  const isSettlementChanged =
    !isEqual(seenOf(before.callback), seenOf(after.callback)) ||
    !isEqual(before.credits, after.credits);
  return firstViolation({
    "terminal states never change": before.status === after.status && before.body === after.body,
    "the reason of a failure stays": isEqual(before.failure, after.failure),
    "the time of the end stays": before.finishedAt === after.finishedAt,
    "retention counts from the last change":
      !isSettlementChanged || after.expiresAt === now + RETENTION_MS,
  });
}
