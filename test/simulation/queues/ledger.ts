import type { Charge } from "../../../src/core/duties/charge.ts";
import type { Refund } from "../../../src/core/duties/refund.ts";
import type { ChargeAnswer } from "../../../src/core/events/event.ts";

/** The balances of some accounts. Each charge is booked and refunded at most once. */
export class Ledger {
  readonly charges = new Map<string, Charge>();
  readonly refunds = new Set<string>();
  readonly #balances: Map<string, number>;
  readonly #refused = new Set<string>();

  constructor(balances: ReadonlyMap<string, number>) {
    this.#balances = new Map(balances);
  }

  balanceOf(account: string): number {
    return this.#balances.get(account) ?? 0;
  }

  charge(charge: Charge): ChargeAnswer {
    const { chargeId, accountId, amount } = charge;
    const balance = this.#balances.get(accountId) ?? 0;
    if (!this.charges.has(chargeId)) {
      const isRefused = this.#refused.has(chargeId) || balance < amount;
      if (isRefused) {
        this.#refused.add(chargeId);
        return { kind: "insufficient", balance, price: amount };
      }
      this.charges.set(chargeId, charge);
      this.#balances.set(accountId, balance - amount);
    }
    return { kind: "charged", generation: 1 };
  }

  refund({ chargeId, accountId, amount }: Refund): boolean {
    if (chargeId === null || !this.charges.has(chargeId)) return false;
    if (this.refunds.has(chargeId)) return true;
    this.refunds.add(chargeId);
    this.#balances.set(accountId, (this.#balances.get(accountId) ?? 0) + amount);
    return true;
  }
}
