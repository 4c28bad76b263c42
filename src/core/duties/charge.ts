import type { TaskRecord } from "../record/task.ts";
import type { Duty } from "./duty.ts";

/** A charge that the ledger is asked to book. */
export interface Charge {
  readonly taskId: string;
  readonly accountId: string;
  /** Reference under which the ledger books the charge once. */
  readonly chargeId: string;
  readonly amount: number;
}

export interface ChargeStep {
  readonly kind: "charge";
  readonly charge: Charge;
}

/**
 * Charges the price of a new task. The wait before a repeated charge is planned by `planRetry` in
 * record/credits.ts, until the ledger answers.
 */
export function charge(record: TaskRecord): Duty<ChargeStep> | null {
  if (record.status !== "charging") return null;
  const { accountId, chargeId, amount, state } = record.credits;
  const order: Charge = { taskId: record.id, accountId, chargeId, amount };
  return { dueAt: state.retryAt, step: () => ({ kind: "charge", charge: order }) };
}
