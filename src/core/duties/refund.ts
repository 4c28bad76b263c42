import { errorCodeOf } from "../record/callback-body.ts";
import { isTerminal, type TaskRecord } from "../record/task.ts";
import type { Duty } from "./duty.ts";

/** An order to refund the credits of a failed task. */
export interface Refund {
  readonly taskId: string;
  readonly accountId: string;
  /** Reference of the charge in the ledger. Null when not the ledger but the operator's own billing refunds. */
  readonly chargeId: string | null;
  readonly amount: number;
  /** Reason of the refund: `error.code` of the failed task. */
  readonly reason: string;
}

export interface RefundStep {
  readonly kind: "refund";
  readonly refund: Refund;
}

/**
 * Returns the order to refund the credits of a failed task. It is repeated until the refund is confirmed; the waits
 * are planned by `planRetry` in record/credits.ts. The Durable Object of the account books the refund
 * (objects/account/ledger-book.ts). Null when no refund is open.
 */
export function refund(record: TaskRecord): Duty<RefundStep> | null {
  if (!isTerminal(record) || record.credits?.state.kind !== "refunding") return null;
  const { id: taskId, body } = record;
  const { accountId, chargeId, amount, state } = record.credits;
  const order = () => ({ taskId, accountId, chargeId, amount, reason: errorCodeOf(body) });
  return { dueAt: state.retryAt, step: () => ({ kind: "refund", refund: order() }) };
}
