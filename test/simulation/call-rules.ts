import { type IndexRow, rowOf } from "../../src/core/views/index-row.ts";
import { POLICY } from "../core/builders.ts";
import type { Delivery } from "../../src/core/duties/callback-attempt.ts";
import type { OperatorNotice } from "../../src/core/duties/operator-notice-send.ts";
import type { Refund } from "../../src/core/duties/refund.ts";
import { isTerminal, type TaskRecord, type TerminalTask } from "../../src/core/record/task.ts";
import { startTime } from "./callback-rules.ts";
import { rowExpiresAt } from "./due-time.ts";
import type { SimulatedLedger } from "./ledger.ts";
import { firstViolation, isEqual } from "./change.ts";
import type { SharedState } from "./object-host.ts";
import type { SimulatedObject } from "./simulated-object.ts";
import { rowCopiesFault } from "./output-rules.ts";
import { isReturned, type TaskHistory } from "./task-history.ts";

interface Sending {
  /** Record of the task that is durably stored. */
  readonly record: TaskRecord | null;
  readonly history: TaskHistory;
  readonly ledger: SimulatedLedger;
  readonly caller: SimulatedObject;
  /** Time of the clock of the work loop, in Unix milliseconds. */
  readonly now: number;
}

/** Checks promises 2 and 4 for one callback request that is about to be sent. */
export function sendFault(
  delivery: Delivery,
  { record, history, ledger, caller, now }: Sending,
): string | null {
  if (record === null || !isTerminal(record) || record.callback === null)
    return "an attempt belongs to a callback";
  const { state, series, url, terms } = record.callback;
  const { number } = delivery;
  const most =
    series.ordered ?? history.callback.scheduleMs?.length ?? history.written.mostAttempts;
  const inSeries = history.posts.filter((post) => post.series === series.number).length + 1;
  return firstViolation({
    "the start of an attempt is durable before it is sent":
      state.kind === "in_flight" && state.number === number,
    "an attempt is sent by the instance that opened it":
      history.written.openers.get(number) === caller,
    "attempt numbers are unique": history.posts.every((post) => post.number !== number),
    "no more attempts than promised": inSeries <= most,
    "an attempt sends the stored body":
      delivery.body === record.body && delivery.status === record.status,
    "an attempt goes to the URL of the callback": delivery.url === url,
    "an attempt has the endpoint of the callback": isEqual(
      delivery.endpoint ?? null,
      terms?.endpoint ?? null,
    ),
    "the paused hosts are asked for before an attempt is sent":
      caller.pausesAskedAt >= delivery.startedAt,
    "nothing is sent to a host that is paused":
      (caller.pausedHosts.get(new URL(url).host) ?? 0) <= now,
    "a task whose call was refused or not sent has no callback": !history.written.isWithdrawn,
    "task.failed is after the refund": record.status === "completed" || isPaidBack(record, ledger),
  });
}

/** Checks promise 4 for one refund request that is about to be sent. */
export function refundFault(
  { chargeId, amount, submissionId }: Refund,
  record: TaskRecord | null,
  history: TaskHistory | null,
): string | null {
  const isWithdrawn = record !== null && isReturned(record);
  return firstViolation({
    "only a durable failure or a durable withdrawal is refunded":
      record?.status === "failed" || isWithdrawn,
    "the refund of a withdrawn task has the name of its submission":
      submissionId === (isWithdrawn ? (history?.submissionId ?? null) : null),
    "a refund has the reference of its charge": history?.chargeId === chargeId,
    "a refund has the amount of its charge": history?.amount === amount,
  });
}

/**
 * Returns the rule that an erasure breaks; null when it breaks none.
 * @param isOrdered true when the operator has ordered the erasure.
 */
export function eraseFault(
  record: TaskRecord,
  history: TaskHistory,
  isOrdered: boolean,
  shared: SharedState,
): string | null {
  const { triedVersion, alarmedBeforeAt } = history;
  const { now, hadFault, hadIndexOff } = shared;
  if (!isTerminal(record)) return withdrawalFault(record, history, shared);
  const isExpired = now >= record.expiresAt;
  const { indexRow, version } = record;
  // A row that has expired by the time of the change is not sent to the index, and neither is one that has
  // expired before the first alarm after the change.
  const isUnwoken = alarmedBeforeAt <= version && now >= rowExpiresAt(record);
  const isRowGone = version >= record.expiresAt || isUnwoken;
  const isKeyDropped = record.submission?.customerKey?.kind !== "sealed";
  const isRowTried = isRowGone || indexRow.version === version || triedVersion === version;
  return firstViolation({
    "a task stays for its retention": isOrdered || isExpired,
    "only a settled task is erased": isSettled(record),
    "a customer's key is dropped before its task expires":
      isOrdered || hadFault || shared.setting.isPaused || isKeyDropped,
    // After a fault an alarm may come later than a planned write, which then counts as tried.
    "the last row of a task is sent before the task expires":
      isOrdered || hadIndexOff || hadFault || isRowTried,
  });
}

/** Checks the erasure of a task that has not ended: nothing was charged for it, or the price is back. */
function withdrawalFault(
  record: Exclude<TaskRecord, TerminalTask>,
  { chargeId, submissionId, outcomes }: TaskHistory,
  { ledger, submitters }: SharedState,
): string | null {
  const isOpen = record.status !== "charging";
  const isWithdrawn = isOpen || record.credits.state.kind === "refunding";
  const isUnpaid = chargeId === null || ledger.count("charge", chargeId) === 0;
  if (!isWithdrawn) return firstViolation({ "a task that was charged exists": isUnpaid });
  const isBack =
    chargeId === null
      ? ledger.settled.has(submissionId ?? "")
      : ledger.count("refund", chargeId) === 1;
  return firstViolation({
    "a task that has not ended is erased when its call was refused or not sent": outcomes.some(
      ({ kind }) => kind === "refused" || kind === "not_sent",
    ),
    "a task whose job runs stays": !submitters.hasStarted(submissionId ?? ""),
    "an open task is erased while its call is under way":
      !isOpen || record.submission?.state.kind === "sending",
    "a withdrawn task stays until its price is back": isOpen ? record.credits === null : isBack,
  });
}

function isPaidBack({ id, credits }: TerminalTask, ledger: SimulatedLedger): boolean {
  if (credits === null) return true;
  if (credits.chargeId === null) return ledger.settled.has(id);
  return ledger.count("refund", credits.chargeId) === 1;
}

function isSettled({ credits, callback }: TerminalTask): boolean {
  const { kind } = callback?.state ?? { kind: "delivered" };
  const isOpen = credits?.state.kind === "refunding" || credits?.state.kind === "releasing";
  return !isOpen && (kind === "delivered" || kind === "failed");
}

/**
 * Checks a write to the index.
 * @param withinMs time limit of the write.
 * @param alarmedAt time of the latest alarm in Unix milliseconds; 0 for none.
 */
export function indexRowFault(
  row: IndexRow,
  withinMs: number,
  caller: SimulatedObject,
  alarmedAt: number,
  shared: SharedState,
): string | null {
  const { record } = shared.disk.durable;
  const isCreated = record !== null && record.status !== "charging";
  const isShown = isCreated && JSON.stringify(rowOf(record, POLICY)) === JSON.stringify(row);
  const { plannedAt, decidedAt } = shared;
  // The run that has made a change sends its row, however much time passes between two of its turns.
  const isFirstRun = alarmedAt <= row.version;
  return (
    firstViolation({
      "a row shows a durable version": isShown,
      "no instance writes a row that it has written": caller.rowVersion !== row.version,
      "no row is sent that would have expired":
        isFirstRun || (row.expiresAt ?? Infinity) > plannedAt,
    }) ??
    rowCopiesFault(record, row) ??
    asideFault(record, decidedAt, withinMs, shared)
  );
}

/** Checks an operator notice. @param withinMs time limit of the notice. */
export function noticeFault(
  { kind, version }: OperatorNotice,
  withinMs: number,
  shared: SharedState,
): string | null {
  const { record } = shared.disk.durable;
  const notices = record === null || record.status === "charging" ? [] : record.notices;
  const notice = notices.find((one) => one.kind === kind && one.version === version);
  return asideFault(record, notice?.retryAt ?? Infinity, withinMs, shared);
}

/**
 * Checks that a call for which no client waits starts at its planned time and ends before an attempt is due.
 */
export function asideFault(
  record: TaskRecord | null,
  plannedAt: number,
  withinMs: number,
  { now, setting }: SharedState,
): string | null {
  const state = record !== null && isTerminal(record) ? record.callback?.state : undefined;
  const isInTheWay = state?.kind === "due" && startTime(state) < plannedAt + withinMs;
  return firstViolation({
    "a call is not made before its time": now >= plannedAt,
    "no other call delays an attempt": !isInTheWay || setting.isPaused,
    "other calls wait for the end of a running attempt": state?.kind !== "in_flight",
  });
}
