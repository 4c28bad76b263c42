/** An amount that a request has taken from a budget. */
interface Taken {
  readonly owner: string | null;
  amount: number;
  /** Time at which the amount counts as given back, in Unix milliseconds. */
  until: number;
}

/** Why a budget has not given an amount: its owner has its share, or there is too little left for anybody. */
export type Lack = "share" | "total";

/**
 * An amount of something that an isolate has for all its requests, e.g. bytes of memory. An owner gets a share of it at
 * most, so that no owner keeps all others out. What was taken counts as given back after some time, because a request
 * whose client has gone away may end without running any further code.
 */
export class SharedBudget {
  readonly #total: number;
  readonly #share: number;
  readonly #taken = new Set<Taken>();
  #sum = 0;

  /** @param share largest amount of one owner. */
  constructor(total: number, share: number) {
    this.#total = total;
    this.#share = share;
  }

  /**
   * Returns an empty part of the budget.
   * @param owner who takes it; null for one who may take all of it.
   * @param leaseMs time in milliseconds, from the last change of the part on, after which it counts as given back.
   */
  part(owner: string | null, leaseMs: number): BudgetPart {
    const taken: Taken = { owner, amount: 0, until: 0 };
    return {
      resize: (amount) => this.#resize(taken, amount, Date.now(), leaseMs),
      giveBack: () => this.#drop(taken),
    };
  }

  #resize(taken: Taken, amount: number, now: number, leaseMs: number): Lack | null {
    // A part that has expired has been given back.
    if (!this.#taken.has(taken)) taken.amount = 0;
    const more = amount - taken.amount;
    if (more > 0) {
      let lack = this.#lack(taken.owner, more);
      if (lack !== null && this.#dropExpired(now)) lack = this.#lack(taken.owner, more);
      if (lack !== null) return lack;
    }
    this.#taken.add(taken);
    this.#sum += more;
    taken.amount = amount;
    taken.until = now + leaseMs;
    return null;
  }

  #lack(owner: string | null, more: number): Lack | null {
    if (owner !== null && this.#amountOf(owner) + more > this.#share) return "share";
    return this.#sum + more > this.#total ? "total" : null;
  }

  #amountOf(owner: string): number {
    let amount = 0;
    for (const each of this.#taken) if (each.owner === owner) amount += each.amount;
    return amount;
  }

  #dropExpired(now: number): boolean {
    const expired = [...this.#taken].filter(({ until }) => until <= now);
    for (const each of expired) this.#drop(each);
    return expired.length > 0;
  }

  #drop(taken: Taken): void {
    if (this.#taken.delete(taken)) this.#sum -= taken.amount;
  }
}

/** The part of a budget that one request has taken. */
export interface BudgetPart {
  /**
   * Changes the amount of the part, and starts its time anew. Returns what is lacking; null when the part has the
   * amount now.
   */
  readonly resize: (amount: number) => Lack | null;
  readonly giveBack: () => void;
}
