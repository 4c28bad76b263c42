import { DAY_MS } from "./time.ts";

/** Time between two runs of the alarm that compacts the ledger of an account, in milliseconds. */
export const COMPACT_EVERY_MS = 28 * DAY_MS;

/** One entry in the ledger of an account. Amounts are whole credits. */
export interface Entry {
  readonly kind: EntryKind;
  /**
   * Reference that is unique per kind of entry: the caller's for a grant or an adjustment, the charge id
   * for a charge and its refund.
   */
  readonly reference: string;
  /**
   * Number of credits: more than 0, except in an adjustment, which can have either sign, and in an entry
   * `opening`, which replaces older entries and has their balance as its amount.
   */
  readonly amount: number;
  /** Balance of the account after this entry, in credits. */
  readonly balance: number;
}

export type EntryKind = "opening" | "grant" | "adjustment" | "charge" | "refund";

/**
 * The result of an order to the ledger: a new entry, nothing because the order is booked already, or a
 * refusal.
 */
export type Posting =
  | { readonly kind: "book"; readonly entry: Entry }
  | { readonly kind: "booked" }
  | { readonly kind: "refused"; readonly reason: LedgerRefusal };

export type LedgerRefusal = "insufficient" | "reference_reused" | "no_charge" | "too_large";

export interface Booking {
  readonly reference: string;
  readonly amount: number;
}

/** An order of the operator to correct the balance, by an amount of either sign. */
export interface Adjustment extends Booking {
  readonly reason: string;
}

/**
 * Largest balance, of either sign, that a grant or an adjustment may reach: half of the largest safe
 * integer, which leaves room for refunds.
 */
const MAX_BALANCE = 2 ** 52;

/**
 * Grants credits. Repeating the same reference changes nothing; with another amount it is refused.
 * @param known the entry that is booked under this kind and reference; null when there is none.
 */
export function grant(balance: number, known: Entry | null, order: Booking): Posting {
  return post(balance, known, { kind: "grant", ...order });
}

/**
 * Corrects the balance, which may become negative. Repeating the same order changes nothing; with another
 * amount or reason it is refused.
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

/** Charges credits before the work; refused when the balance is too small. */
export function charge(balance: number, known: Entry | null, order: Booking): Posting {
  return post(balance, known, { kind: "charge", ...order });
}

/** Refunds all credits of a charge, once. */
export function refund(balance: number, charged: Entry | null, known: Entry | null): Posting {
  if (charged === null) return { kind: "refused", reason: "no_charge" };
  const { reference, amount } = charged;
  return post(balance, known, { kind: "refund", reference, amount });
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
 * Returns the reason why an entry is refused for the balance after it: too small for a charge, or beyond the
 * largest balance for a grant or an adjustment. Null when it is not refused; a refund never is, because a
 * charge is refunded whatever the balance is.
 */
function limitPassed({ kind, amount, balance }: Entry): LedgerRefusal | null {
  switch (kind) {
    case "charge":
      return balance < 0 ? "insufficient" : null;
    case "grant":
    case "adjustment":
      return (amount < 0 ? -balance : balance) > MAX_BALANCE ? "too_large" : null;
    case "refund":
    case "opening":
      return null;
  }
}

function signedAmount({ kind, amount }: Omit<Entry, "balance">): number {
  return kind === "charge" ? -amount : amount;
}
