import type { ChargeAnswer } from "../core/events/event.ts";
import { charge, grant, type Booking, type Posting, refund } from "../core/ledger.ts";
import { EntryTable, type StoredEntry } from "./entry-table.ts";
import { RefusedCharges } from "./refused-charges.ts";

export type GrantAnswer =
  | { readonly kind: "granted" | "repeated"; readonly balance: number }
  | { readonly kind: "reference_reused" | "too_large" };

/**
 * Ledger of one account, which applies the decisions of `core/ledger.ts` to the stored entries. Each method
 * runs without an `await`, so two orders never see the same balance.
 */
export class LedgerBook {
  readonly #entries: EntryTable;
  readonly #refused = new RefusedCharges();

  constructor(sql: SqlStorage) {
    this.#entries = new EntryTable(sql);
  }

  create(): void {
    this.#entries.create();
  }

  balance(): number {
    return this.#entries.balance();
  }

  /**
   * Charges a task, once per reference; a charge that was refused stays refused.
   * @param notAfter time in Unix milliseconds, after which the charge is not booked, because its task may
   * have been refused and erased meanwhile.
   * @param generation of the account's callback secret; null when the account does not exist.
   */
  charge(
    order: Booking,
    taskId: string,
    notAfter: number,
    generation: number | null,
  ): ChargeAnswer {
    const { reference, amount: price } = order;
    if (Date.now() > notAfter) return { kind: "unknown" };
    if (generation === null) return this.#refused.note(reference, { kind: "unknown_account" });
    const known = this.#entries.find("charge", reference);
    const refused = known === null ? this.#refused.of(reference) : null;
    if (refused !== null) return refused;
    const balance = this.balance();
    const posting = charge(balance, known, order);
    if (posting.kind === "refused") {
      if (posting.reason !== "insufficient") throw new Error(`charge refused: ${posting.reason}`);
      return this.#refused.note(reference, { kind: "insufficient", balance, price });
    }
    this.#book(posting, taskId);
    return { kind: "charged", generation };
  }

  /**
   * Refunds a charge, once.
   * @returns true when the charge is refunded, false when there was no such charge.
   */
  refund(reference: string, taskId: string): boolean {
    const charged = this.#entries.find("charge", reference);
    const known = this.#entries.find("refund", reference);
    const posting = refund(this.balance(), charged, known);
    this.#book(posting, taskId);
    return posting.kind !== "refused";
  }

  grant(order: Booking): GrantAnswer {
    const known = this.#entries.find("grant", order.reference);
    const posting = grant(this.balance(), known, order);
    if (posting.kind === "refused") {
      return { kind: posting.reason === "reference_reused" ? "reference_reused" : "too_large" };
    }
    this.#book(posting, null);
    const kind = posting.kind === "book" ? "granted" : "repeated";
    return { kind, balance: this.balance() };
  }

  /** Returns ledger entries before position `before`, newest first: all kinds, or only the grants. */
  page(kind: "grant" | null, before: number, limit: number): StoredEntry[] {
    return this.#entries.page(kind, before, limit);
  }

  /** Compacts ledger entries older than `time`; see `EntryTable.compact`. */
  compact(time: number): boolean {
    return this.#entries.compact(time);
  }

  #book(posting: Posting, taskId: string | null): void {
    if (posting.kind === "book") this.#entries.insert(posting.entry, taskId, Date.now());
  }
}
