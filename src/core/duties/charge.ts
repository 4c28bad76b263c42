import type { TaskRecord } from "../record/task.ts";
import type { Duty } from "./duty.ts";

/** A charge that the ledger is asked to book. */
export interface Charge {
  readonly taskId: string;
  readonly accountId: string;
  /** Reference of the charge, by which the ledger books it only once even when the order is repeated. */
  readonly chargeId: string;
  readonly amount: number;
  /** Name of the API key with which the task was registered; null when the record does not state it. */
  readonly bookedBy: string | null;
}

export interface ChargeStep {
  readonly kind: "charge";
  readonly charge: Charge;
}

/**
 * Returns the order to charge the price of a new task, repeated until the ledger answers; `planRetry` in
 * record/credits.ts plans the waits. Null when the task has no unanswered charge.
 */
export function charge(record: TaskRecord): Duty<ChargeStep> | null {
  if (record.status !== "charging") return null;
  const { accountId, chargeId, amount, state } = record.credits;
  const { registeredBy: bookedBy } = record.keyNames;
  const order: Charge = { taskId: record.id, accountId, chargeId, amount, bookedBy };
  return { dueAt: state.retryAt, step: () => ({ kind: "charge", charge: order }) };
}
