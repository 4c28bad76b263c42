import type { Release } from "../../src/core/duties/release.ts";
import { isTerminal, type TerminalTask } from "../../src/core/record/task.ts";
import { asideFault } from "./call-rules.ts";
import { type Change, firstViolation, isEqual } from "./change.ts";
import type { SharedState } from "./object-host.ts";
import type { TaskHistory } from "./task-history.ts";

/** Tokens and credits of the only rule for prices that occurs: three credits for two tokens. */
const TOKENS = 2;
const CREDITS = 3;

/**
 * Returns what a completed task costs, in whole numbers: three credits for two tokens, rounded up, and at most what was
 * charged. Without tokens it costs all that was charged. Null for a task without such a price.
 */
function costOf({ status, registration, usage, credits }: TerminalTask): number | null {
  if (status !== "completed" || credits === null) return null;
  if (registration?.priceRule === undefined) return null;
  const tokens = usage?.["total_tokens"] ?? 0;
  if (tokens <= 0) return credits.amount;
  let cost = 0;
  while (cost * TOKENS < tokens * CREDITS) cost++;
  return Math.min(cost, credits.amount);
}

/** Returns the credits that are to be given back for a completed task, because it costs less than was charged. */
function owedRelease(task: TerminalTask): number {
  const cost = costOf(task);
  return cost === null ? 0 : (task.credits?.amount ?? 0) - cost;
}

/** Checks the final price in the record, and that a release is booked before it counts as done. */
export function priceFault({ before, after, ledger }: Change): string | null {
  if (!isTerminal(after) || after.credits === null) return null;
  const { final, state, chargeId } = after.credits;
  const known = before !== null && isTerminal(before) ? before.credits : null;
  const isOwed = owedRelease(after) > 0;
  const isReleased = state.kind === "released";
  const isBooked =
    chargeId === null
      ? ledger.released.has(after.id)
      : ledger.count("release", chargeId) === 1 && ledger.count("refund", chargeId) === 0;
  return firstViolation({
    "a completed task costs what its own usage says": (final?.credits ?? null) === costOf(after),
    "a final price stays": known === null || isEqual(known.final, final),
    "what was charged beyond the price is released, and nothing else is":
      after.status !== "completed" || isOwed === (state.kind === "releasing" || isReleased),
    "a release is final": known?.state.kind !== "released" || isReleased,
    "a released task has a release in the ledger": !isReleased || isBooked,
  });
}

/** Checks a release that is about to be ordered. @param withinMs time limit of the call. */
export function releaseFault(
  { chargeId, amount, usage }: Release,
  withinMs: number,
  history: TaskHistory | null,
  shared: SharedState,
): string | null {
  const { record } = shared.disk.durable;
  if (record?.status !== "completed") return "only a durable completion is released";
  const state = record.credits?.state;
  const fault = firstViolation({
    "only a release that is open is ordered": state?.kind === "releasing",
    "a release has the reference of its charge": history?.chargeId === chargeId,
    "a release has the usage of its job": isEqual(usage, record.usage),
    "a release gives back what the task does not cost":
      amount > 0 && amount === owedRelease(record),
  });
  const plannedAt = state?.kind === "releasing" ? state.retryAt : Infinity;
  return fault ?? asideFault(record, plannedAt, withinMs, shared);
}

/** Checks at the end of a life that a completed task is released once where it costs less, and no other task is. */
export function releasesFault(
  { chargeId, written: { end } }: TaskHistory,
  { ledger }: Pick<SharedState, "ledger">,
): string | null {
  if (chargeId === null) return null;
  const owed = end === null ? 0 : owedRelease(end);
  const releases = ledger.entries.filter(
    ({ kind, reference }) => kind === "release" && reference === chargeId,
  );
  return firstViolation({
    "a completed task is released once where it costs less, and no other task is": isEqual(
      releases.map(({ amount }) => amount),
      owed > 0 ? [owed] : [],
    ),
    "no more is given back than was charged": ledger.returned(chargeId) <= ledger.charged(chargeId),
  });
}
