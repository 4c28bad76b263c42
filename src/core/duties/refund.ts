import { errorCodeOf } from "../record/callback-body.ts";
import { isOpen, isTerminal, type TaskRecord } from "../record/task.ts";
import type { Duty } from "./duty.ts";

/** An order to refund the credits of a failed task. */
export interface Refund {
  readonly taskId: string;
  readonly accountId: string;
  /**
   * Reference of the charge in the ledger. Null when the refund is made by the operator's own billing and not by the
   * ledger.
   */
  readonly chargeId: string | null;
  readonly amount: number;
  /** Reason of the refund: `error.code` of the failed task, or `submit_refused`. */
  readonly reason: string;
  /**
   * Id of the refused submission whose credits are refunded; its task is erased after the refund. Null for the refund
   * of a failed task.
   */
  readonly submissionId: string | null;
}

export interface RefundStep {
  readonly kind: "refund";
  readonly refund: Refund;
}

/** Reason of the refund of a submission that the upstream has refused, or that was not sent. */
const REFUSED_REASON = "submit_refused";

/**
 * Returns the order to refund the credits of a task that has failed or whose submission was refused. It is repeated
 * until the refund is confirmed; the waits are planned by `planRetry` in record/retry.ts. Until the confirmation, the
 * callback of a failed task is not sent (events/charge-refund-end.ts). The Durable Object of the account books the
 * refund (objects/account/ledger-book.ts). Null when no refund is open.
 */
export function refund(record: TaskRecord): Duty<RefundStep> | null {
  if (isOpen(record) || record.credits?.state.kind !== "refunding") return null;
  const { id: taskId } = record;
  const { accountId, chargeId, amount, state } = record.credits;
  const why = () =>
    isTerminal(record)
      ? { reason: errorCodeOf(record.body), submissionId: null }
      : { reason: REFUSED_REASON, submissionId: record.submission?.id ?? null };
  const order = () => ({ taskId, accountId, chargeId, amount, ...why() });
  return { dueAt: state.retryAt, step: () => ({ kind: "refund", refund: order() }) };
}
