import {
  isOpen,
  isTerminal,
  type OpenTask,
  type TaskRecord,
  type TerminalTask,
} from "../../src/core/record/task.ts";
import { type Change, isEqual, firstViolation } from "./change.ts";

const ATTEMPTS_KEPT = 20;
const KEPT_HOOK_BYTES = 8192;

const CREDITS: Readonly<Record<TaskRecord["status"], readonly string[]>> = {
  charging: ["charging", "refunding"],
  pending: ["charged"],
  processing: ["charged"],
  completed: ["charged", "releasing", "released"],
  failed: ["refunding", "refunded"],
};

/**
 * Returns the first rule that a commit breaks for the record itself, whatever led to it; null when it breaks
 * none.
 */
export function recordFault({ before, after }: Change): string | null {
  const kind = after.credits?.state.kind;
  const fault = firstViolation({
    "credits fit the status": kind === undefined || CREDITS[after.status].includes(kind),
    "only the price of a submission is returned without an end":
      after.status !== "charging" || kind === "charging" || after.submission !== null,
    "a price has its credits": (kind !== undefined) === isPriced(after),
  });
  if (fault !== null) return fault;
  const own = isOpen(after) ? trackingFault(after) : attemptsFault(after);
  return own ?? (before === null ? null : identityFault(before, after));
}

function isPriced({ registration, credits }: TaskRecord): boolean {
  return registration === null ? credits !== null : registration.credits !== null;
}

/** Checks that polls are planned only for attached jobs, and hooks are stored only until a job is attached. */
function trackingFault({ upstream, tracking: { poll, keptHooks } }: OpenTask): string | null {
  const hasJob = upstream !== null && upstream.job !== null;
  const sizes = keptHooks.map((hook) => JSON.stringify(hook).length);
  return firstViolation({
    "an attached job has a planned poll, and no other has": (poll !== null) === hasJob,
    "hooks are kept only until a job is attached":
      sizes.length === 0 || (upstream !== null && !hasJob),
    "a kept hook is small": sizes.every((size) => size <= KEPT_HOOK_BYTES),
  });
}

function attemptsFault(record: TaskRecord): string | null {
  if (!isTerminal(record) || record.callback === null) return null;
  const { attempts, droppedOutcomes, lastNumber, state } = record.callback;
  const open = state.kind === "in_flight" ? [state.number] : [];
  const numbers = [...attempts.map(({ number }) => number), ...open];
  const expected = numbers.map((_, i) => lastNumber - numbers.length + 1 + i);
  return firstViolation({
    "at most 20 attempts are kept": attempts.length <= ATTEMPTS_KEPT,
    "the attempts that are kept are the last ones": isEqual(numbers, expected),
    "the others are counted by outcome":
      Object.values(droppedOutcomes).reduce((sum, count) => sum + count, numbers.length) ===
      lastNumber,
    "a callback is held exactly while its refund is due": isHeld(record) === isRefunding(record),
  });
}

function isHeld({ callback }: TerminalTask): boolean {
  return callback?.state.kind === "held";
}

function isRefunding({ credits }: TerminalTask): boolean {
  return credits?.state.kind === "refunding";
}

/** Compares the fields that no event but the registration, or the attachment of a job, may change. */
function identityFault(before: TaskRecord, after: TaskRecord): string | null {
  const isHidden = before.status === "charging" || after.status === "charging";
  const isSilent = before.version === after.version || !isEqual(shown(before), shown(after));
  return firstViolation({
    "model, creation, origin and registration stay": isEqual(fixed(before), fixed(after)),
    "the account stays": isHidden || isEqual(before.account, after.account),
    "the price and its reference stay": isEqual(price(before), price(after)),
    "the upstream of a finished task stays":
      !isTerminal(before) || isEqual(...upstreams(before, after)) || isJobTold(before, after),
    "a new version shows a change": isSilent,
  });
}

/** Tells whether a late answer to a submission has named the job of a finished task that had none. */
function isJobTold(before: TaskRecord, { submission, upstream }: TaskRecord): boolean {
  const isLate =
    before.submission?.state.kind !== "accepted" && submission?.state.kind === "accepted";
  const isSame = before.upstream?.connection === upstream?.connection;
  return isLate && isSame && before.upstream?.job === null;
}

function fixed({ id, model, createdAt, recordedAt, origin, registration }: TaskRecord) {
  return { id, model, createdAt, recordedAt, origin, registration };
}

function price({ credits }: TaskRecord) {
  return credits && [credits.accountId, credits.amount, credits.chargeId];
}

function upstreams(before: TaskRecord, after: TaskRecord) {
  return [before.upstream, after.upstream] as const;
}

/** Returns the record without its version and without the fields that concern only the relay's own plans. */
function shown(record: TaskRecord): object {
  const jobIds = isOpen(record) ? record.tracking.keptHooks.map(({ jobId }) => jobId) : [];
  return { ...record, version: 0, indexRow: null, tracking: jobIds, notices: null };
}
