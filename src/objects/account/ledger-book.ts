import type { ChargeAnswer } from "../../core/events/event.ts";
import {
  adjust,
  type Adjustment,
  type Booking,
  charge,
  COMPACT_EVERY_MS,
  grant,
  type Posting,
  type ChargeEntries,
  refund,
  release,
} from "../../core/ledger.ts";
import { SECOND_MS } from "../../core/time.ts";
import type { Profile } from "./account-profile.ts";
import { type Annotation, EntryTable, type StoredEntry } from "./entry-table.ts";
import { RefusedCharges } from "./refused-charges.ts";

/**
 * Answer of the ledger to a grant or an adjustment. `booked` means that it was booked now, `repeated` that it had been
 * booked before. Any other answer is a refusal.
 */
export type CreditAnswer =
  | { readonly kind: "booked" | "repeated"; readonly balance: number }
  | { readonly kind: "reference_reused" | "too_large" };

const FOLD_KEY = "fold_at";
const COMPACT_PAUSE_MS = SECOND_MS;

/**
 * The ledger of one account. It books charges, refunds, releases, grants and adjustments as `core/ledger.ts` decides.
 * Its methods contain no `await`, so two bookings never start from the same balance.
 */
export class LedgerBook {
  readonly #storage: DurableObjectStorage;
  readonly #entries: EntryTable;
  readonly #refused = new RefusedCharges();

  constructor(storage: DurableObjectStorage) {
    this.#storage = storage;
    this.#entries = new EntryTable(storage.sql);
  }

  create(): void {
    this.#entries.create();
    this.#setAlarm(COMPACT_EVERY_MS);
  }

  balance(): number {
    return this.#entries.balance();
  }

  /**
   * Charges the price of a task. A repeated call with the same reference returns the first outcome; a refusal is
   * returned again only as long as it is remembered (refused-charges.ts). A repeated call for a booked charge succeeds
   * even if the account was deleted since, because its task waits for the answer.
   * @param annotation the task, and the API key that registered it.
   * @param notAfter time in Unix milliseconds. A call that arrives later books nothing, because its task may have been
   * refused and erased by then.
   * @param account profile of the account; null when it does not exist.
   */
  charge(
    order: Booking,
    annotation: Annotation,
    notAfter: number,
    account: Profile | null,
  ): ChargeAnswer {
    const { reference, amount: price } = order;
    if (Date.now() > notAfter) return { kind: "unknown" };
    const known = account === null ? null : this.#entries.find("charge", reference);
    const refused = known === null ? this.#refused.of(reference) : null;
    if (refused !== null) return refused;
    if (account === null || (known === null && account.deletedAt !== null)) {
      return this.#refused.note(reference, { kind: "unknown_account" });
    }
    const balance = this.balance();
    const posting = charge(balance, known, order);
    if (posting.kind === "refused") {
      if (posting.reason !== "insufficient") throw new Error(`charge refused: ${posting.reason}`);
      return this.#refused.note(reference, { kind: "insufficient", balance, price });
    }
    this.#book(posting, annotation);
    return { kind: "charged", generation: account.generation };
  }

  /**
   * Refunds the charge of a task. A repeated call books nothing more.
   * @returns true when the charge is refunded, now or earlier; false when there is no such charge.
   */
  refund(reference: string, taskId: string): boolean {
    const posting = refund(this.balance(), this.#ofCharge(reference));
    this.#book(posting, { taskId });
    return posting.kind !== "refused";
  }

  /**
   * Gives back a part of the charge of a task that costs less than was charged. A repeated call books nothing more.
   * @returns true when this amount is given back, now or earlier; false when this is not possible, e.g. after a refund.
   */
  release({ reference, amount }: Booking, taskId: string): boolean {
    const posting = release(this.balance(), this.#ofCharge(reference), amount);
    this.#book(posting, { taskId });
    return posting.kind !== "refused";
  }

  /**
   * Books a grant, which adds credits to the balance. Each reference is booked only once.
   * @param bookedBy name of the API key that orders the grant.
   */
  grant(order: Booking, bookedBy: string | null): CreditAnswer {
    const known = this.#entries.find("grant", order.reference);
    const posting = grant(this.balance(), known, order);
    this.#book(posting, { bookedBy });
    return this.#answer(posting);
  }

  /**
   * Books an adjustment, which adds credits to the balance or subtracts them. Each reference is booked only once.
   * @param bookedBy name of the API key that orders the adjustment.
   */
  adjust(order: Adjustment, bookedBy: string | null): CreditAnswer {
    const known = this.#entries.find("adjustment", order.reference);
    const posting = adjust(this.balance(), known, order);
    this.#book(posting, { reason: order.reason, bookedBy });
    return this.#answer(posting);
  }

  /**
   * Returns at most `limit` ledger entries with numbers below `before`, newest first. With `grant` as `kind` only
   * grants are returned; with null entries of all kinds.
   */
  page(kind: "grant" | null, before: number, limit: number): StoredEntry[] {
    return this.#entries.page(kind, before, limit);
  }

  /**
   * Returns the ids of tasks whose charges were booked after `time` and of whose credits nothing was given back since;
   * see `EntryTable.recentlyCharged`.
   */
  recentlyCharged(time: number, limit: number): string[] {
    return this.#entries.recentlyCharged(time, limit);
  }

  /**
   * Stores the time from which `compact` replaces all ledger entries of a deleted account by one entry with the
   * balance. Until then the single entries stay, so that each charge can still be refunded once.
   * @param time Unix milliseconds.
   */
  foldAt(time: number): void {
    this.#storage.kv.put(FOLD_KEY, time);
    this.#setAlarm(Math.min(COMPACT_EVERY_MS, time - Date.now()));
  }

  /**
   * Keeps the ledger small: replaces entries older than `maxAgeMs` by one entry that states the balance after them. One
   * call replaces a few thousand entries. It is called by the alarm of the account's object, and sets that alarm again:
   * to one second later while there may be more old entries, otherwise to 28 days later. The ledger of a deleted
   * account stays unchanged until the time that `foldAt` has stored. From that time on all its entries are replaced;
   * then no further alarm is set.
   */
  compact(maxAgeMs: number): void {
    // The alarm is set first, so that one is set even if the work below throws.
    this.#setAlarm(COMPACT_EVERY_MS);
    const now = Date.now();
    const foldAt = this.#storage.kv.get<number>(FOLD_KEY) ?? null;
    if (foldAt !== null && foldAt > now) {
      this.#setAlarm(Math.min(COMPACT_EVERY_MS, foldAt - now));
      return;
    }
    const hasMore = this.#entries.compact(foldAt === null ? now - maxAgeMs : now + 1);
    if (hasMore) this.#setAlarm(COMPACT_PAUSE_MS);
    else if (foldAt !== null) void this.#storage.deleteAlarm();
  }

  #ofCharge(reference: string): ChargeEntries {
    return {
      charge: this.#entries.find("charge", reference),
      refund: this.#entries.find("refund", reference),
      release: this.#entries.find("release", reference),
    };
  }

  #setAlarm(afterMs: number): void {
    void this.#storage.setAlarm(Date.now() + afterMs);
  }

  #answer(posting: Posting): CreditAnswer {
    if (posting.kind === "refused") {
      return { kind: posting.reason === "reference_reused" ? "reference_reused" : "too_large" };
    }
    return { kind: posting.kind === "book" ? "booked" : "repeated", balance: this.balance() };
  }

  #book(posting: Posting, annotation: Annotation): void {
    if (posting.kind === "book") this.#entries.insert(posting.entry, annotation, Date.now());
  }
}
