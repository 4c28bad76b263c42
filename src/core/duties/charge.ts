import type { TaskRecord } from "../record/task.ts";
import type { Duty } from "./duty.ts";

/** A charge that the ledger is asked for. */
export interface Charge {
  readonly taskId: string;
  readonly accountId: string;
  /** The ledger's reference. */
  readonly chargeId: string;
  readonly amount: number;
}

export interface ChargeStep {
  readonly kind: "charge";
  readonly charge: Charge;
}

/** Charges the price of a new task, again until the ledger answers. */
export function charge(record: TaskRecord): Duty<ChargeStep> | null {
  if (record.status !== "charging") return null;
  const { accountId, chargeId, amount, state } = record.credits;
  const order: Charge = { taskId: record.id, accountId, chargeId, amount };
  return { dueAt: state.retryAt, step: () => ({ kind: "charge", charge: order }) };
}
