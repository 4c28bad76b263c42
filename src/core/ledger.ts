import { DAY_MS, monthStart } from "./time.ts";

/** Time in milliseconds between two runs of the alarm that replaces old entries in an account's ledger by one entry. */
export const COMPACT_EVERY_MS = 28 * DAY_MS;

/** One entry in the ledger of an account. Amounts are whole credits. */
export interface Entry {
  readonly kind: EntryKind;
  /**
   * Reference of the entry, unique among entries of the same kind. For a grant or an adjustment the caller chooses
   * it. A charge and its refund or release have the id of the charge.
   */
  readonly reference: string;
  /**
   * Number of credits. It is more than 0 in most entries; an adjustment can have either sign. An entry `opening`
   * replaces older entries, and its amount is the balance after them.
   */
  readonly amount: number;
  /** Balance of the account after this entry, in credits. */
  readonly balance: number;
  /**
   * What the charges of the present month (UTC) cost after this entry, in credits: their sum, less what was given back
   * of them. A refund or release of a charge of an earlier month does not change it.
   */
  readonly monthSpent: number;
  /** Time at which the entry was booked, in Unix milliseconds. */
  readonly createdAt: number;
}

/** An entry as it is found in the ledger. */
export type BookedEntry = Omit<Entry, "monthSpent">;

export type EntryKind = "opening" | "grant" | "adjustment" | "charge" | "refund" | "release";

/**
 * The result of an order to the ledger: a new entry to book, nothing to do because the order is booked already, or
 * a refusal.
 */
export type Posting =
  | { readonly kind: "book"; readonly entry: Entry }
  | { readonly kind: "booked" }
  | { readonly kind: "refused"; readonly reason: LedgerRefusal };

export type LedgerRefusal =
  | "insufficient"
  | "over_limit"
  | "reference_reused"
  | "no_charge"
  | "already_refunded"
  | "already_released"
  | "too_large";

export interface Booking {
  readonly reference: string;
  readonly amount: number;
}

/** What decides about a new entry of a ledger, besides the entries that are booked for the same order. */
export interface Standing {
  readonly balance: number;
  /** What the charges of the present month (UTC) cost, in credits; see `Entry.monthSpent`. */
  readonly monthSpent: number;
  /** Time of the new entry, in Unix milliseconds. */
  readonly at: number;
}

/** An order of the operator that raises or lowers the balance to correct it. */
export interface Adjustment extends Booking {
  readonly reason: string;
}

/**
 * Largest balance in credits that a grant or an adjustment may reach, and largest debt that an adjustment may
 * reach. It is half of the largest safe integer, so that there is room for refunds.
 */
const MAX_BALANCE = 2 ** 52;

/**
 * Returns the state of a ledger from its newest entry. It is never of an earlier time than that entry, even when the
 * clock was set back, so that a month does not begin twice.
 * @param newest null when the ledger has no entry.
 */
export function standingAfter(
  newest: Pick<Entry, "balance" | "monthSpent" | "createdAt"> | null,
  now: number,
): Standing {
  if (newest === null) return { balance: 0, monthSpent: 0, at: now };
  const at = Math.max(now, newest.createdAt);
  const { balance, createdAt } = newest;
  return { balance, monthSpent: isSameMonth(createdAt, at) ? newest.monthSpent : 0, at };
}

/**
 * Returns what the ledger does with a grant of credits. A repeated order with the same reference and amount changes
 * nothing; with another amount it is refused.
 * @param known the entry that is booked under this kind and reference; null when there is none.
 */
export function grant(standing: Standing, known: BookedEntry | null, order: Booking): Posting {
  return post(standing, known, { kind: "grant", ...order });
}

/**
 * Returns what the ledger does with an adjustment. The balance may become negative. A repeated order with the same
 * reference, amount and reason changes nothing; with another amount or reason it is refused.
 */
export function adjust(
  standing: Standing,
  known: (BookedEntry & { readonly reason: string | null }) | null,
  { reason, ...order }: Adjustment,
): Posting {
  if (known !== null && known.reason !== reason) {
    return { kind: "refused", reason: "reference_reused" };
  }
  return post(standing, known, { kind: "adjustment", ...order });
}

/**
 * Returns what the ledger does with the charge of the price of a new task. The charge is refused when the balance
 * is too small, or when the charges of the present month (UTC) would cost more than the monthly limit.
 * @param monthlyLimit in credits; null when the account has none.
 */
export function charge(
  standing: Standing,
  known: BookedEntry | null,
  order: Booking,
  monthlyLimit: number | null,
): Posting {
  const posting = post(standing, known, { kind: "charge", ...order });
  const isOver = posting.kind === "book" && posting.entry.monthSpent > (monthlyLimit ?? Infinity);
  return isOver ? { kind: "refused", reason: "over_limit" } : posting;
}

/**
 * The entries that the ledger has for one charge: the charge, its refund and its release. Each is null when the ledger
 * does not have it.
 */
export interface ChargeEntries {
  readonly charge: BookedEntry | null;
  readonly refund: BookedEntry | null;
  readonly release: BookedEntry | null;
}

/**
 * Returns what the ledger does with a refund of all credits of a charge. A charge is refunded only once, and not after
 * a part of it was given back by a release. The task orders the refund (duties/refund.ts).
 */
export function refund(standing: Standing, { charge: charged, ...known }: ChargeEntries): Posting {
  if (charged === null) return { kind: "refused", reason: "no_charge" };
  if (known.release !== null) return { kind: "refused", reason: "already_released" };
  const { reference, amount } = charged;
  return post(standing, known.refund, { kind: "refund", reference, amount }, charged.createdAt);
}

/**
 * Returns what the ledger does with a release: the return of a part of a charge, because the task costs less. A charge is
 * released only once, by at most its amount, and not after a refund.
 */
export function release(
  standing: Standing,
  { charge: charged, ...known }: ChargeEntries,
  amount: number,
): Posting {
  if (charged === null) return { kind: "refused", reason: "no_charge" };
  if (known.refund !== null) return { kind: "refused", reason: "already_refunded" };
  if (amount > charged.amount) return { kind: "refused", reason: "too_large" };
  const { reference } = charged;
  return post(standing, known.release, { kind: "release", reference, amount }, charged.createdAt);
}

/** @param chargedAt time of the charge of which the entry gives credits back, in Unix milliseconds. */
function post(
  { balance, monthSpent, at }: Standing,
  known: BookedEntry | null,
  wanted: Pick<Entry, "kind" | "reference" | "amount">,
  chargedAt = at,
): Posting {
  if (known !== null) {
    if (known.amount === wanted.amount) return { kind: "booked" };
    return { kind: "refused", reason: "reference_reused" };
  }
  const entry: Entry = {
    ...wanted,
    balance: balance + changeOf(wanted),
    monthSpent: monthSpent + (isSameMonth(chargedAt, at) ? costOf(wanted) : 0),
    createdAt: at,
  };
  const reason = limitPassed(entry);
  return reason === null ? { kind: "book", entry } : { kind: "refused", reason };
}

/**
 * Returns the reason why an entry is refused because of the balance after it. A charge is refused if the balance would
 * be negative, a grant or an adjustment if the balance would be beyond `MAX_BALANCE`. A refund or release is never
 * refused here, because credits must be given back whatever the balance is. Null when the entry is not refused.
 */
function limitPassed({ kind, amount, balance }: Entry): LedgerRefusal | null {
  switch (kind) {
    case "charge":
      return balance < 0 ? "insufficient" : null;
    case "grant":
    case "adjustment":
      return (amount < 0 ? -balance : balance) > MAX_BALANCE ? "too_large" : null;
    case "refund":
    case "release":
    case "opening":
      return null;
  }
}

type Amount = Pick<Entry, "kind" | "amount">;

/** Returns by how much an entry changes the balance, in credits. */
function changeOf({ kind, amount }: Amount): number {
  return kind === "charge" ? -amount : amount;
}

/** Returns by how much an entry changes what charges cost, in credits: less than 0 when it gives something back. */
function costOf({ kind, amount }: Amount): number {
  switch (kind) {
    case "charge":
      return amount;
    case "refund":
    case "release":
      return -amount;
    case "grant":
    case "adjustment":
    case "opening":
      return 0;
  }
}

/** A balance with the limit below which the operator is told of it, in credits. Null when there is no such limit. */
export interface Watched {
  readonly balance: number;
  readonly lowBalance: number | null;
}

/**
 * Tells whether a balance has become low: it is below its limit now, and was not before. Either the balance has
 * changed or the limit.
 */
export function hasBecomeLow(before: Watched, now: Watched): boolean {
  return isLow(now) && !isLow(before);
}

function isLow({ balance, lowBalance }: Watched): boolean {
  return lowBalance !== null && balance < lowBalance;
}

function isSameMonth(one: number, other: number): boolean {
  return monthStart(one) === monthStart(other);
}
