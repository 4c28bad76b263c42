/** One entry in the ledger of an account. Amounts are whole credits, more than 0. */
export interface Entry {
  readonly kind: EntryKind;
  /**
   * Reference that is unique per kind of entry: the caller's for a grant, the charge id for a charge and
   * its refund.
   */
  readonly reference: string;
  readonly amount: number;
  /** Balance of the account after this entry, in credits. */
  readonly balance: number;
}

export type EntryKind = "opening" | "grant" | "charge" | "refund";

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

/** Largest balance that a grant may reach: half of the largest safe integer, which leaves room for refunds. */
const MAX_GRANTED_BALANCE = 2 ** 52;

/**
 * Grants credits. Repeating the same reference changes nothing; with another amount it is refused.
 * @param known the entry that is booked under this kind and reference; null when there is none.
 */
export function grant(balance: number, known: Entry | null, order: Booking): Posting {
  return post(balance, known, { kind: "grant", ...order });
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
  if (entry.balance < 0) return { kind: "refused", reason: "insufficient" };
  if (entry.kind === "grant" && entry.balance > MAX_GRANTED_BALANCE) {
    return { kind: "refused", reason: "too_large" };
  }
  return { kind: "book", entry };
}

function signedAmount({ kind, amount }: Omit<Entry, "balance">): number {
  return kind === "charge" ? -amount : amount;
}
