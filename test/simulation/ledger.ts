import type { ChargeAnswer } from "../../src/core/events/event.ts";
import {
  charge,
  type BookedEntry,
  type ChargeEntries,
  type Entry,
  type Posting,
  refund,
  release,
  type Standing,
  standingAfter,
} from "../../src/core/ledger.ts";
import { monthStart } from "../../src/core/time.ts";
import type { Charge } from "../../src/core/duties/charge.ts";
import type { Refund } from "../../src/core/duties/refund.ts";
import type { Release } from "../../src/core/duties/release.ts";
import { RefusedCharges } from "../../src/objects/account/refused-charges.ts";
import { ACCOUNT } from "../core/builders.ts";

function isReturn({ kind }: BookedEntry): boolean {
  return kind === "refund" || kind === "release";
}

/** One account of the ledger, and the operator's own billing. */
export class SimulatedLedger {
  readonly entries: Entry[] = [];
  /**
   * Names of the refunds that the operator's own billing has accepted: the id of a failed task, or the id of a refused
   * submission.
   */
  readonly settled = new Set<string>();
  /** Credits that the operator's own billing has given back for completed tasks, by the id of the task. */
  readonly released = new Map<string, number>();
  /** Sum of the credits that the operator has granted or taken. */
  granted: number;
  readonly #refusals = new RefusedCharges();
  hasAccount = true;
  /** States that a charge has made the balance negative, which only the operator may do. */
  isOverdrawn = false;
  /** States that a charge has made a month cost more than the monthly limit. */
  isOverLimit = false;
  /** Credits that the charges of a month may cost; null for no limit. */
  monthlyLimit: number | null;

  constructor(granted: number, monthlyLimit: number | null = null) {
    this.granted = granted;
    this.monthlyLimit = monthlyLimit;
  }

  /**
   * Books a charge in the way of `AccountObject`. @param notAfter time in Unix milliseconds after which
   * nothing is booked.
   */
  charge(order: Charge, notAfter: number, now: number): ChargeAnswer {
    const { chargeId } = order;
    if (now > notAfter) return { kind: "unknown" };
    const isKnown = this.#entry("charge", chargeId) !== null;
    const refused = isKnown ? null : this.#refusals.of(chargeId);
    if (refused !== null) return refused;
    const answer = this.#charged(order, now);
    return answer.kind === "charged" ? answer : this.#refusals.note(chargeId, answer);
  }

  #charged({ accountId, chargeId: reference, amount }: Charge, now: number): ChargeAnswer {
    if (!this.hasAccount || accountId !== ACCOUNT.id) return { kind: "unknown_account" };
    const standing = this.#standing(now);
    const { balance, monthSpent: spent } = standing;
    const limit = this.monthlyLimit;
    const known = this.#entry("charge", reference);
    const posting = charge(standing, known, { reference, amount }, limit);
    this.#book(posting);
    if (posting.kind !== "refused") return { kind: "charged", generation: ACCOUNT.generation };
    const isOver = posting.reason === "over_limit" && limit !== null;
    const month = isOver ? { month: { limit, spent } } : {};
    return { kind: "insufficient", balance, price: amount, ...month };
  }

  /** Books a refund. @returns whether the charge is refunded. */
  refund({ chargeId, taskId, submissionId }: Refund, now: number): boolean {
    if (chargeId === null) {
      this.settled.add(submissionId ?? taskId);
      return true;
    }
    const posting = refund(this.#standing(now), this.#ofCharge(chargeId));
    this.#book(posting);
    return posting.kind !== "refused";
  }

  /** Books a release. @returns whether the credits are back. */
  release({ chargeId, taskId, amount }: Release, now: number): boolean {
    if (chargeId === null) {
      this.released.set(taskId, amount);
      return true;
    }
    const posting = release(this.#standing(now), this.#ofCharge(chargeId), amount);
    this.#book(posting);
    return posting.kind !== "refused";
  }

  get balance(): number {
    return this.entries.reduce(
      (sum, { kind, amount }) => sum + (kind === "charge" ? -amount : amount),
      this.granted,
    );
  }

  /** Sums what the charges of the month of a time cost, in credits, from all entries. */
  spentIn(time: number): number {
    const charges = this.entries.filter(
      ({ kind, createdAt }) => kind === "charge" && monthStart(createdAt) === monthStart(time),
    );
    return charges.reduce(
      (sum, { amount, reference }) => sum + amount - this.returned(reference),
      0,
    );
  }

  /** Counts the charges, refunds or releases under a reference. */
  count(kind: "charge" | "refund" | "release", reference: string): number {
    return this.entries.filter((entry) => entry.kind === kind && entry.reference === reference)
      .length;
  }

  /** Returns the credits that were charged under a reference. */
  charged(reference: string): number {
    return this.#entry("charge", reference)?.amount ?? 0;
  }

  /** Returns the credits that were given back under a reference, by refunds and releases. */
  returned(reference: string): number {
    const returns = this.entries.filter(
      (entry) => isReturn(entry) && entry.reference === reference,
    );
    return returns.reduce((sum, { amount }) => sum + amount, 0);
  }

  #standing(now: number): Standing {
    return { ...standingAfter(this.entries.at(-1) ?? null, now), balance: this.balance };
  }

  #ofCharge(reference: string): ChargeEntries {
    return {
      charge: this.#entry("charge", reference),
      refund: this.#entry("refund", reference),
      release: this.#entry("release", reference),
    };
  }

  #entry(kind: Entry["kind"], reference: string): BookedEntry | null {
    const isIt = (entry: Entry) => entry.kind === kind && entry.reference === reference;
    return this.entries.find(isIt) ?? null;
  }

  #book(posting: Posting): void {
    if (posting.kind !== "book") return;
    this.entries.push(posting.entry);
    const { kind, createdAt } = posting.entry;
    if (kind !== "charge") return;
    if (this.balance < 0) this.isOverdrawn = true;
    if (this.spentIn(createdAt) > (this.monthlyLimit ?? Infinity)) this.isOverLimit = true;
  }
}
