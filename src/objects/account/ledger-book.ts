import type { ChargeAnswer, SpentMonth } from "../../core/events/event.ts";
import {
  adjust,
  type Adjustment,
  type Booking,
  charge,
  COMPACT_EVERY_MS,
  grant,
  type Posting,
  type ChargeEntries,
  hasBecomeLow,
  type LedgerRefusal,
  refund,
  release,
  type Standing,
  standingAfter,
} from "../../core/ledger.ts";
import type { DaySpend, ModelSpend } from "../../core/spend.ts";
import { DAY_MS, SECOND_MS } from "../../core/time.ts";
import { type AccountSettings, type Profile, settingsOf } from "./account-profile.ts";
import { type Annotation, EntryTable, type StoredEntry } from "./entry-table.ts";
import type { LowBalanceNotice } from "./low-balance-notice.ts";
import { RefusedCharges } from "./refused-charges.ts";
import { SpendTable } from "./spend-table.ts";

/**
 * Answer of the ledger to a grant or an adjustment. `booked` means that it was booked now, `repeated` that it had been
 * booked before. Any other answer is a refusal.
 */
export type CreditAnswer =
  | { readonly kind: "booked" | "repeated"; readonly balance: number }
  | { readonly kind: "reference_reused" | "too_large" };

const FOLD_KEY = "fold_at";
const COMPACT_PAUSE_MS = SECOND_MS;
/** Number of entries after which they are counted for the table `spend`. */
const COUNT_EVERY = 1_000;
/** Largest number of models of which a report of what an account has spent consists. */
const MAX_MODELS = 100;

/** What an account has spent, as the ledger reports it. */
export interface SpendReport {
  /** Balance after the last entry, in credits. */
  readonly balance: number;
  /** The days from the first asked day until today that have entries, oldest first. */
  readonly days: readonly DaySpend[];
  /** The models that have cost most in the asked days, at most 100. */
  readonly models: readonly ModelSpend[];
}

/**
 * The ledger of one account. It books charges, refunds, releases, grants and adjustments as `core/ledger.ts` decides.
 * Its methods contain no `await`, so two bookings never start from the same balance.
 */
export class LedgerBook {
  readonly #storage: DurableObjectStorage;
  readonly #entries: EntryTable;
  readonly #spend: SpendTable;
  readonly #lowBalance: LowBalanceNotice;
  readonly #refused = new RefusedCharges();

  constructor(storage: DurableObjectStorage, lowBalance: LowBalanceNotice) {
    this.#storage = storage;
    this.#entries = new EntryTable(storage.sql);
    this.#spend = new SpendTable(storage);
    this.#lowBalance = lowBalance;
  }

  create(): void {
    this.#entries.create();
    this.#setAlarm(COMPACT_EVERY_MS);
  }

  /** Returns the balance of the account, and what the charges of the present month (UTC) cost. */
  standing(): Standing {
    return standingAfter(this.#entries.newest(), Date.now());
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
    const standing = this.standing();
    const { balance } = standing;
    const settings = settingsOf(account);
    const posting = charge(standing, known, order, settings.monthlyLimit);
    if (posting.kind === "refused") {
      return this.#refused.note(reference, {
        kind: "insufficient",
        balance,
        price,
        ...monthOf(posting.reason, standing, settings),
      });
    }
    this.#book(posting, annotation);
    this.#watch(standing, posting, settings);
    return { kind: "charged", generation: account.generation };
  }

  /**
   * Refunds the charge of a task. A repeated call books nothing more.
   * @returns true when the charge is refunded, now or earlier; false when there is no such charge.
   */
  refund(reference: string, taskId: string): boolean {
    const posting = refund(this.standing(), this.#ofCharge(reference));
    this.#book(posting, { taskId });
    return posting.kind !== "refused";
  }

  /**
   * Gives back a part of the charge of a task that costs less than was charged. A repeated call books nothing more.
   * @returns true when this amount is given back, now or earlier; false when this is not possible, e.g. after a refund.
   */
  release({ reference, amount }: Booking, taskId: string): boolean {
    const posting = release(this.standing(), this.#ofCharge(reference), amount);
    this.#book(posting, { taskId });
    return posting.kind !== "refused";
  }

  /**
   * Books a grant, which adds credits to the balance. Each reference is booked only once.
   * @param bookedBy name of the API key that orders the grant.
   */
  grant(order: Booking, bookedBy: string | null): CreditAnswer {
    const known = this.#entries.find("grant", order.reference);
    const posting = grant(this.standing(), known, order);
    this.#book(posting, { bookedBy });
    return this.#answer(posting);
  }

  /**
   * Books an adjustment, which adds credits to the balance or subtracts them. Each reference is booked only once.
   * @param bookedBy name of the API key that orders the adjustment.
   * @param account profile of the account.
   */
  adjust(order: Adjustment, bookedBy: string | null, account: Profile): CreditAnswer {
    const known = this.#entries.find("adjustment", order.reference);
    const standing = this.standing();
    const posting = adjust(standing, known, order);
    this.#book(posting, { reason: order.reason, bookedBy });
    this.#watch(standing, posting, settingsOf(account));
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
   * Reports what the account has spent from the day `since` until before the day `until`, in days since 1970-01-01 UTC.
   * @returns null when there are more entries to be counted than one call counts. The next call counts further ones.
   */
  spend(since: number, until: number): SpendReport | null {
    if (!this.#spend.count()) return null;
    const days = this.#spend.byDay(since);
    const models = this.#spend.byModel(since, until, MAX_MODELS);
    return { balance: this.standing().balance, days, models };
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
    this.#spend.deleteBefore(Math.floor((now - maxAgeMs) / DAY_MS));
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
    return {
      kind: posting.kind === "book" ? "booked" : "repeated",
      balance: this.standing().balance,
    };
  }

  #book(posting: Posting, annotation: Annotation): void {
    if (posting.kind !== "book") return;
    const seq = this.#entries.insert(posting.entry, annotation);
    if (seq % COUNT_EVERY === 0) this.#spend.count();
  }

  /** Stores a notice for the operator when an entry makes the balance low. */
  #watch(before: Standing, posting: Posting, { lowBalance }: AccountSettings): void {
    if (posting.kind !== "book") return;
    const now = { balance: posting.entry.balance, lowBalance };
    if (hasBecomeLow({ balance: before.balance, lowBalance }, now)) this.#lowBalance.note(now);
  }
}

/** Returns what the answer to a refused charge says of the month. @throws when the charge was refused by a fault. */
function monthOf(
  reason: LedgerRefusal,
  { monthSpent: spent }: Standing,
  { monthlyLimit: limit }: AccountSettings,
): { readonly month?: SpentMonth } {
  if (reason === "insufficient") return {};
  if (reason !== "over_limit" || limit === null) throw new Error(`charge refused: ${reason}`);
  return { month: { limit, spent } };
}
