import type { Cancel } from "../../src/core/duties/cancel-job.ts";
import type { Poll } from "../../src/core/duties/poll.ts";
import type { CustomerKey } from "../../src/core/record/customer-key.ts";
import type { Notice } from "../../src/core/record/operator-notice.ts";
import {
  isOpen,
  isSettled,
  isTerminal,
  type TaskRecord,
  type TerminalTask,
} from "../../src/core/record/task.ts";
import { DAY, HOUR, MINUTE } from "../core/builders.ts";
import { type Change, firstViolation, isEqual, type Rules } from "./change.ts";
import { storedResult, TIMEOUT_CONTENT } from "./end-rules.ts";
import { canAsk, isWaitingLate } from "./late-rules.ts";
import type { Setting } from "./setting.ts";

/** Time in milliseconds for which a key is kept after the last planned poll with it. */
const KEPT_MS = HOUR;

type Sealed = Extract<CustomerKey, { readonly kind: "sealed" }>;

function keyOf(record: TaskRecord | null): CustomerKey | null {
  return record?.submission?.customerKey ?? null;
}

/** Returns what stays the same of a sealed key. */
function identityOf({ sealedWith, nonce, ciphertext }: Sealed) {
  return { sealedWith, nonce, ciphertext };
}

/** Checks that a poll or a cancellation is made with the key that submitted the job. @param record task of the job. */
export function calledKeyFault(
  { customerKey }: Poll | Cancel,
  record: TaskRecord | null,
): string | null {
  const key = keyOf(record);
  const own = key?.kind === "sealed" ? identityOf(key) : null;
  return firstViolation({
    "a job is polled and canceled with the key that has submitted it":
      isEqual(customerKey, own) && (key === null || own !== null),
  });
}

/** Returns the rule about the customer's key that a commit breaks; null when it breaks none. */
export function customerKeyFault(change: Change): string | null {
  const { before, after, setting } = change;
  const to = keyOf(after);
  if (before === null) return firstViolation(beginRules(to, setting));
  const from = keyOf(before);
  if (from === null || to === null) {
    return firstViolation({ "a task keeps the owner of its key": from === to });
  }
  if (to.kind === "dropped") return from.kind === "sealed" ? droppedFault(change) : null;
  if (from.kind === "dropped") return "a key that is dropped does not come back";
  return firstViolation({
    "a sealed key stays as it is": isEqual(identityOf(from), identityOf(to)),
    "a key that is needed no more is dropped": !mustBeDropped(change),
    ...readabilityRules(change, from, to),
  });
}

function beginRules(key: CustomerKey | null, { secretIds }: Setting): Rules {
  const isSealed = key?.kind === "sealed" && key.sealedWith === secretIds[0];
  return {
    "a task begins with a key that the newest secret has sealed":
      key === null || (isSealed && key.unreadableSince === null),
  };
}

/** Returns the rules about the note that no secret opens a key any more. */
function readabilityRules(
  { before, after, setting, now, pollResult, hadFault }: Change,
  from: Sealed,
  to: Sealed,
): Rules {
  const isReadable = setting.secretIds.includes(to.sealedWith);
  const isSame = from.unreadableSince === to.unreadableSince;
  const isLost = from.unreadableSince === null && to.unreadableSince === now && !isReadable;
  const isBack = to.unreadableSince === null && isReadable;
  const notices = "notices" in after ? after.notices : [];
  // The notice of an earlier loss may still wait for the operator.
  const isNew = ({ kind, version }: Notice) =>
    kind === "key.unreadable" && version === after.version;
  const isTold = notices.some(isNew);
  const isTimeout = isTerminal(after) && storedResult(after).content === TIMEOUT_CONTENT;
  // A client's read, which needs no key of the relay's, may be the last poll before the deadline ends the task.
  // After a fault of the storage it is not known which answer has led to the commit.
  const isOfRead = pollResult?.isOfRead === true || hadFault;
  const isEnd = before !== null && isOpen(before) && isTimeout && !isOfRead;
  return {
    "a key counts as unreadable from when its secret is found to be gone until it is back":
      isSame || (isOpen(after) && (isLost || isBack)),
    "an unreadable key is told to the operator": !isLost || isTold === setting.isOperatorNotified,
    "an unreadable key is noted before the deadline ends its task":
      !isEnd || isReadable || to.unreadableSince !== null,
  };
}

function droppedFault({ after, setting, now }: Change): string | null {
  if (isTerminal(after)) {
    return firstViolation({
      "a customer's key stays until its task is settled": isSettled(after),
      "a customer's key stays until the last use by its job": neededUntil(after, setting) <= now,
    });
  }
  return firstViolation({ "an open task keeps its customer's key": isUnneeded(after) });
}

/** Tells whether a task whose price is returned, or that will not be sent, needs no key. */
function isUnneeded(task: TaskRecord): boolean {
  const isReturned = task.credits?.state.kind === "refunding";
  return task.status === "charging" && (isReturned || task.submission?.state.kind === "unsent");
}

function mustBeDropped({ after, setting, now }: Change): boolean {
  if (!isTerminal(after)) return isUnneeded(after);
  if (!isSettled(after)) return false;
  const until = neededUntil(after, setting);
  return until === -Infinity || (until <= now && !setting.isPaused);
}

/**
 * Returns the time until which an ended task may use its customer's key in Unix milliseconds: its job is polled an hour
 * and a day after its deadline, and after hooks; and its outputs are fetched until they are copied. -Infinity when
 * it is not used any more.
 */
function neededUntil(task: TerminalTask, setting: Setting): number {
  const { outputs } = task;
  // The links of a result that others may have made up are fetched without a key.
  const isProven = outputs?.isUnproven !== true;
  const isCopying =
    isProven && outputs?.list.some(({ state }) => state.kind === "copying") === true;
  const copiedUntil = outputs !== null && isCopying ? outputs.expiresAt : -Infinity;
  return Math.max(copiedUntil, polledUntil(task, setting));
}

function polledUntil(task: TerminalTask, setting: Setting): number {
  if (!isWaitingLate(task)) return -Infinity;
  const endedAt = task.finishedAt ?? -Infinity;
  const hintAt = task.late?.hintAt ?? -Infinity;
  const times = [endedAt + HOUR, endedAt + DAY, hintAt, hintAt + 2 * MINUTE];
  const possible = times.filter((time) => time < task.expiresAt && canAsk(task, setting, time));
  return Math.max(-Infinity, ...possible) + KEPT_MS;
}

/** Returns the latest time at which an ended task drops its customer's key, in Unix milliseconds; Infinity for none. */
export function customerKeyDueTime(task: TerminalTask, setting: Setting): number {
  if (keyOf(task)?.kind !== "sealed" || !isSettled(task) || setting.isPaused) return Infinity;
  return neededUntil(task, setting);
}
