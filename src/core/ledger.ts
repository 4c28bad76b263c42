import { DAY_MS } from "./time.ts";

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
}

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
  | "reference_reused"
  | "no_charge"
  | "already_refunded"
  | "already_released"
  | "too_large";

export interface Booking {
  readonly reference: string;
  readonly amount: number;
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
 * Returns what the ledger does with a grant of credits. A repeated order with the same reference and amount changes
 * nothing; with another amount it is refused.
 * @param known the entry that is booked under this kind and reference; null when there is none.
 */
export function grant(balance: number, known: Entry | null, order: Booking): Posting {
  return post(balance, known, { kind: "grant", ...order });
}

/**
 * Returns what the ledger does with an adjustment. The balance may become negative. A repeated order with the same
 * reference, amount and reason changes nothing; with another amount or reason it is refused.
 */
export function adjust(
  balance: number,
  known: (Entry & { readonly reason: string | null }) | null,
  { reason, ...order }: Adjustment,
): Posting {
  if (known !== null && known.reason !== reason) {
    return { kind: "refused", reason: "reference_reused" };
  }
  return post(balance, known, { kind: "adjustment", ...order });
}

/**
 * Returns what the ledger does with the charge of the price of a new task. The charge is refused when the balance
 * is too small.
 */
export function charge(balance: number, known: Entry | null, order: Booking): Posting {
  return post(balance, known, { kind: "charge", ...order });
}

/**
 * The entries that the ledger has for one charge: the charge, its refund and its release. Each is null when the ledger
 * does not have it.
 */
export interface ChargeEntries {
  readonly charge: Entry | null;
  readonly refund: Entry | null;
  readonly release: Entry | null;
}

/**
 * Returns what the ledger does with a refund of all credits of a charge. A charge is refunded only once, and not after
 * a part of it was given back by a release.
 */
export function refund(balance: number, { charge: charged, ...known }: ChargeEntries): Posting {
  if (charged === null) return { kind: "refused", reason: "no_charge" };
  if (known.release !== null) return { kind: "refused", reason: "already_released" };
  const { reference, amount } = charged;
  return post(balance, known.refund, { kind: "refund", reference, amount });
}

/**
 * Returns what the ledger does with a release: the return of a part of a charge, because the task costs less. A charge is
 * released only once, by at most its amount, and not after a refund.
 */
export function release(
  balance: number,
  { charge: charged, ...known }: ChargeEntries,
  amount: number,
): Posting {
  if (charged === null) return { kind: "refused", reason: "no_charge" };
  if (known.refund !== null) return { kind: "refused", reason: "already_refunded" };
  if (amount > charged.amount) return { kind: "refused", reason: "too_large" };
  const { reference } = charged;
  return post(balance, known.release, { kind: "release", reference, amount });
}

function post(balance: number, known: Entry | null, wanted: Omit<Entry, "balance">): Posting {
  if (known !== null) {
    if (known.amount === wanted.amount) return { kind: "booked" };
    return { kind: "refused", reason: "reference_reused" };
  }
  const entry: Entry = { ...wanted, balance: balance + signedAmount(wanted) };
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

function signedAmount({ kind, amount }: Omit<Entry, "balance">): number {
  return kind === "charge" ? -amount : amount;
}
