/** One booking of an account. Amounts are whole credits, more than 0. */
export interface Entry {
  readonly kind: EntryKind;
  /**
   * Unique per kind: chosen by the caller for a grant, the task's charge id for a charge and its refund.
   */
  readonly reference: string;
  readonly amount: number;
  /** Balance after this entry. */
  readonly balance: number;
}

export type EntryKind = "opening" | "grant" | "charge" | "refund";

/** The result of an order: a new entry, nothing because it is booked already, or a refusal. */
export type Posting =
  | { readonly kind: "book"; readonly entry: Entry }
  | { readonly kind: "booked" }
  | { readonly kind: "refused"; readonly reason: LedgerRefusal };

export type LedgerRefusal = "insufficient" | "reference_reused" | "no_charge" | "too_large";

export interface Booking {
  readonly reference: string;
  readonly amount: number;
}

/** Half of the largest safe integer: the rest is room for refunds. */
const MAX_GRANTED_BALANCE = 2 ** 52;

/**
 * Adds credits. The same reference again changes nothing; with another amount it is refused.
 * @param known the entry that is booked under this kind and reference.
 */
export function grant(balance: number, known: Entry | null, order: Booking): Posting {
  return post(balance, known, { kind: "grant", ...order });
}

/** Takes credits in advance; refused when the balance is too small. */
export function charge(balance: number, known: Entry | null, order: Booking): Posting {
  return post(balance, known, { kind: "charge", ...order });
}

/** Gives all credits of a charge back, once. */
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
