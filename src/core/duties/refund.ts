import { errorCodeOf } from "../record/callback-body.ts";
import { isTerminal, type TaskRecord } from "../record/task.ts";
import type { Duty } from "./duty.ts";

/** Credits of a failed task that have to be given back. */
export interface Refund {
  readonly taskId: string;
  readonly accountId: string;
  /** The ledger's reference of the charge; null when the operator's own billing refunds. */
  readonly chargeId: string | null;
  readonly amount: number;
  /** `error.code` of the failure. */
  readonly reason: string;
}

export interface RefundStep {
  readonly kind: "refund";
  readonly refund: Refund;
}

/** Gives the credits of a failed task back, again until it is confirmed. */
export function refund(record: TaskRecord): Duty<RefundStep> | null {
  if (!isTerminal(record) || record.credits?.state.kind !== "refunding") return null;
  const { id: taskId, body } = record;
  const { accountId, chargeId, amount, state } = record.credits;
  const order = () => ({ taskId, accountId, chargeId, amount, reason: errorCodeOf(body) });
  return { dueAt: state.retryAt, step: () => ({ kind: "refund", refund: order() }) };
}
