import type { ChargeAnswer } from "../../src/core/events/event.ts";
import { charge, type Entry, type Posting, refund } from "../../src/core/ledger.ts";
import type { Charge } from "../../src/core/duties/charge.ts";
import type { Refund } from "../../src/core/duties/refund.ts";
import { RefusedCharges } from "../../src/objects/account/refused-charges.ts";
import { ACCOUNT } from "../core/builders.ts";

/** One account of the ledger, and the operator's own billing. */
export class SimulatedLedger {
  readonly entries: Entry[] = [];
  /**
   * Names of the refunds that the operator's own billing has accepted: the id of a failed task, or the id of a refused
   * submission.
   */
  readonly settled = new Set<string>();
  /** Sum of the credits that the operator has granted or taken. */
  granted: number;
  readonly #refusals = new RefusedCharges();
  hasAccount = true;
  /** States that a charge has made the balance negative, which only the operator may do. */
  isOverdrawn = false;

  constructor(granted: number) {
    this.granted = granted;
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
    const answer = this.#charged(order);
    return answer.kind === "charged" ? answer : this.#refusals.note(chargeId, answer);
  }

  #charged({ accountId, chargeId: reference, amount }: Charge): ChargeAnswer {
    if (!this.hasAccount || accountId !== ACCOUNT.id) return { kind: "unknown_account" };
    const { balance } = this;
    const posting = charge(balance, this.#entry("charge", reference), { reference, amount });
    this.#book(posting);
    return posting.kind === "refused"
      ? { kind: "insufficient", balance, price: amount }
      : { kind: "charged", generation: ACCOUNT.generation };
  }

  /** Books a refund. @returns whether the charge is refunded. */
  refund({ chargeId, taskId, submissionId }: Refund): boolean {
    if (chargeId === null) {
      this.settled.add(submissionId ?? taskId);
      return true;
    }
    const known = this.#entry("refund", chargeId);
    const posting = refund(this.balance, this.#entry("charge", chargeId), known);
    this.#book(posting);
    return posting.kind !== "refused";
  }

  get balance(): number {
    return this.entries.reduce(
      (sum, { kind, amount }) => sum + (kind === "charge" ? -amount : amount),
      this.granted,
    );
  }

  /** Counts the charges or refunds under a reference. */
  count(kind: "charge" | "refund", reference: string): number {
    return this.entries.filter((entry) => entry.kind === kind && entry.reference === reference)
      .length;
  }

  #entry(kind: Entry["kind"], reference: string): Entry | null {
    const isIt = (entry: Entry) => entry.kind === kind && entry.reference === reference;
    return this.entries.find(isIt) ?? null;
  }

  #book(posting: Posting): void {
    if (posting.kind !== "book") return;
    this.entries.push(posting.entry);
    if (posting.entry.kind === "charge" && this.balance < 0) this.isOverdrawn = true;
  }
}
