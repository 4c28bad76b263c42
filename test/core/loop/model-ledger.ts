import type { ChargeAnswer } from "../../../src/core/events/event.ts";
import type { Charge } from "../../../src/core/duties/charge.ts";
import type { Refund } from "../../../src/core/duties/refund.ts";
import { ACCOUNT } from "../builders.ts";

export interface Booking {
  readonly kind: "charge" | "refund";
  readonly chargeId: string;
  readonly taskId: string;
  readonly amount: number;
}

export const GRANTED = 1_000;

/** The money of one account, and the operator's own billing, told without the relay's code. */
export class ModelLedger {
  readonly entries: Booking[] = [];
  /** Tasks whose refund the operator's own billing has accepted; it knows them by `webhook-id`. */
  readonly settled = new Set<string>();
  granted = GRANTED;
  hasAccount = true;

  get balance(): number {
    return this.entries.reduce(
      (sum, { kind, amount }) => sum + (kind === "charge" ? -amount : amount),
      this.granted,
    );
  }

  charge({ accountId, chargeId, taskId, amount }: Charge): ChargeAnswer {
    if (!this.hasAccount || accountId !== ACCOUNT.id) return { kind: "unknown_account" };
    if (!this.has("charge", chargeId)) {
      const { balance } = this;
      if (balance < amount) return { kind: "insufficient", balance, price: amount };
      this.entries.push({ kind: "charge", chargeId, taskId, amount });
    }
    return { kind: "charged", generation: ACCOUNT.generation };
  }

  refund({ chargeId, taskId }: Refund): boolean {
    if (chargeId === null) {
      this.settled.add(taskId);
      return true;
    }
    const charged = this.entries.find((entry) => entry.chargeId === chargeId);
    if (charged === undefined) return false;
    if (!this.has("refund", chargeId)) this.entries.push({ ...charged, kind: "refund" });
    return true;
  }

  gaveBack(taskId: string, chargeId: string | null): boolean {
    return chargeId === null ? this.settled.has(taskId) : this.has("refund", chargeId);
  }

  has(kind: Booking["kind"], chargeId: string): boolean {
    return this.entries.some((entry) => entry.kind === kind && entry.chargeId === chargeId);
  }
}
