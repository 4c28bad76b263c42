import { isCharging } from "../record/credits.ts";
import type { TaskRecord } from "../record/task.ts";
import type { Duty } from "./duty.ts";

/** An order to the ledger to charge the price of a task. */
export interface Charge {
  readonly taskId: string;
  readonly accountId: string;
  /** Reference of the charge. The ledger books each reference only once, even if the order is repeated. */
  readonly chargeId: string;
  readonly amount: number;
  /** Model of the task, under which the ledger reports what the account has spent. */
  readonly model: string;
  /** Name of the API key with which the task was registered; null when the record does not state it. */
  readonly bookedBy: string | null;
}

export interface ChargeStep {
  readonly kind: "charge";
  readonly charge: Charge;
}

/**
 * Returns the order to charge the price of a new task. The order is repeated until the ledger answers; the waits are
 * planned by `planRetry` in record/retry.ts. Null when there is no charge that the ledger still has to answer.
 */
export function charge(record: TaskRecord): Duty<ChargeStep> | null {
  if (record.status !== "charging" || !isCharging(record.credits)) return null;
  const { accountId, chargeId, amount, state } = record.credits;
  const { registeredBy: bookedBy } = record.keyNames;
  const { id: taskId, model } = record;
  const order: Charge = { taskId, accountId, chargeId, amount, model, bookedBy };
  return { dueAt: state.retryAt, step: () => ({ kind: "charge", charge: order }) };
}
