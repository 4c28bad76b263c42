import { sleep } from "./timeout.ts";

/** Shortest pause in milliseconds before a request asks for an amount again, and the largest random addition to it. */
const PAUSE_MS = 20;

/** An amount that one request has taken from a budget that all requests of an isolate use together. */
interface Taken {
  readonly owners: readonly string[];
  amount: number;
  /** Time at which the amount counts as given back, in Unix milliseconds. */
  until: number;
}

/**
 * Returns the largest amount that one owner may take.
 * @param left amount of the whole budget that would be left.
 * @param others amount that other parts of the same owner have.
 */
type ShareOf = (owner: string, left: number, others: number) => number;

/**
 * Reason why a request gets no further amount from a shared budget: `share` when an owner of the request has already
 * taken the whole share of one owner, `total` when too little of the whole budget is left.
 */
export type Lack = "share" | "total";

/**
 * An amount of something, e.g. bytes of memory, from which all requests in an isolate take. Each owner of requests may
 * take only a share of it, so that no owner keeps all others out. An amount that was taken counts as given back after
 * some time, because a request whose client has gone away may end without running any further code.
 */
export class SharedBudget {
  readonly #total: number;
  readonly #shareOf: ShareOf;
  readonly #taken = new Set<Taken>();
  #sum = 0;

  /**
   * Creates a budget from which nothing is taken yet.
   * @param total amount for all owners together.
   * @param share largest amount that one owner may take, or a function that returns it.
   */
  constructor(total: number, share: number | ShareOf) {
    this.#total = total;
    this.#shareOf = typeof share === "number" ? () => share : share;
  }

  /**
   * Returns an empty part of the budget, which one request can enlarge.
   * @param owners owners to whose shares the part belongs. A part without owners may take the whole budget.
   * @param leaseMs time in milliseconds since the last change of the part after which it counts as given back.
   */
  part(owners: readonly string[], leaseMs: number): BudgetPart {
    const taken: Taken = { owners, amount: 0, until: 0 };
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
      let lack = this.#lack(taken, amount);
      if (lack !== null && this.#dropExpired(now)) lack = this.#lack(taken, amount);
      if (lack !== null) return lack;
    }
    this.#taken.add(taken);
    this.#sum += more;
    taken.amount = amount;
    taken.until = now + leaseMs;
    return null;
  }

  #lack(taken: Taken, amount: number): Lack | null {
    const left = this.#total - this.#sum + taken.amount - amount;
    const isBeyondShare = taken.owners.some((owner) => {
      const others = this.#amountOf(owner) - taken.amount;
      return others + amount > this.#shareOf(owner, left, others);
    });
    if (isBeyondShare) return "share";
    return left < 0 ? "total" : null;
  }

  #amountOf(owner: string): number {
    let amount = 0;
    for (const each of this.#taken) if (each.owners.includes(owner)) amount += each.amount;
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

/** The part of a shared budget that one request has taken. */
export interface BudgetPart {
  /**
   * Changes the amount of the part, and restarts the time after which the part counts as given back. Returns null when
   * the part has the new amount, and the reason when the new amount is not available.
   */
  readonly resize: (amount: number) => Lack | null;
  readonly giveBack: () => void;
}

/**
 * Waits until a part of a budget has an amount. The request asks again and again, because a request should not
 * resolve a promise that belongs to another one, or to another Durable Object.
 * @throws the reason of the abort, when `signal` aborts first.
 */
export async function whenFree(
  part: BudgetPart,
  amount: number,
  signal: AbortSignal,
): Promise<void> {
  signal.throwIfAborted();
  while (part.resize(amount) !== null) await sleep(PAUSE_MS * (1 + Math.random()), signal);
}
