import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  adjust,
  charge,
  type BookedEntry,
  type ChargeEntries,
  type Entry,
  type EntryKind,
  grant,
  type Booking,
  type Posting,
  refund,
  release,
  standingAfter,
} from "../../src/core/ledger.ts";
import { monthStart } from "../../src/core/time.ts";

const SEED = 20_261_020;
/** Time limit of the test, long enough for a busy machine. */
const TIMEOUT = 60_000;
/** Largest balance that grants may lead to; refunds may exceed it. */
const MAX = 2 ** 52;

type Command = Booking & {
  readonly kind: "grant" | "charge" | "refund" | "release" | "adjustment";
  /** Time since the command before, in milliseconds; negative when the clock is put back. */
  readonly afterMs: number;
};

const references = fc.constantFrom("a", "b", "c", "d");
const afterMs = fc.constantFrom(0, 0, 1, -1, 20 * 86_400_000);
/** Start of the clock, just before the end of a month. */
const START = Date.UTC(2026, 10, 30, 23, 59, 59, 999);
const MONTHLY_LIMIT = 9;
const anyOrder = fc.record<Command>({
  kind: fc.constantFrom("grant", "charge", "charge", "refund", "release"),
  reference: references,
  amount: fc.integer({ min: 1, max: 5 }),
  afterMs,
});
const adjustment = fc.record<Command>({
  kind: fc.constant("adjustment"),
  reference: references,
  amount: fc.oneof(fc.integer({ min: -9, max: -1 }), fc.integer({ min: 1, max: 9 })),
  afterMs,
});
const hugeGrant = fc.record<Command>({
  kind: fc.constant("grant"),
  reference: references,
  amount: fc.integer({ min: MAX - 5, max: MAX }),
  afterMs,
});
const commands = fc.array(
  fc.oneof(
    { weight: 6, arbitrary: anyOrder },
    { weight: 1, arbitrary: adjustment },
    { weight: 1, arbitrary: hugeGrant },
  ),
  { maxLength: 50, size: "max" },
);

function sumOf(entries: readonly Entry[]): bigint {
  return entries.reduce((sum, { amount }) => sum + BigInt(amount), 0n);
}

/** Model of an account that consists of its list of entries only. */
class Books {
  readonly entries: Entry[] = [];
  now = START;

  do({ kind, reference, amount, afterMs: elapsed }: Command): Posting {
    this.now += elapsed;
    const known = this.find(kind, reference);
    const given = { reference, amount };
    const posting = this.#decide(kind, known, given);
    if (posting.kind === "book") this.entries.push(posting.entry);
    return posting;
  }

  #decide(kind: Command["kind"], known: BookedEntry | null, given: Booking): Posting {
    const reason = "correction";
    const standing = standingAfter(this.entries.at(-1) ?? null, this.now);
    switch (kind) {
      case "refund":
        return refund(standing, this.#ofCharge(given.reference));
      case "release":
        return release(standing, this.#ofCharge(given.reference), given.amount);
      case "adjustment":
        return adjust(standing, known && { ...known, reason }, { ...given, reason });
      case "grant":
        return grant(standing, known, given);
      case "charge":
        return charge(standing, known, given, MONTHLY_LIMIT);
    }
  }

  #ofCharge(reference: string): ChargeEntries {
    const [charged, refunded, released] = (["charge", "refund", "release"] as const).map((kind) =>
      this.find(kind, reference),
    );
    return { charge: charged ?? null, refund: refunded ?? null, release: released ?? null };
  }

  find(kind: EntryKind, reference: string): Entry | null {
    const those = this.of(kind).filter((entry) => entry.reference === reference);
    return those[0] ?? null;
  }

  of(kind: EntryKind): Entry[] {
    return this.entries.filter((entry) => entry.kind === kind);
  }

  /** Balance that the newest entry states. */
  get balance(): number {
    return this.entries.at(-1)?.balance ?? 0;
  }

  /** What the charges of the month of a time cost, from all entries. */
  spentIn(time: number): bigint {
    const charges = this.of("charge").filter(
      ({ createdAt }) => monthStart(createdAt) === monthStart(time),
    );
    const isOfMonth = (reference: string) => charges.some((each) => each.reference === reference);
    const returns = [...this.of("refund"), ...this.of("release")].filter(({ reference }) =>
      isOfMonth(reference),
    );
    return sumOf(charges) - sumOf(returns);
  }

  /** Time of a new entry: the clock, but never before the newest entry. */
  get at(): number {
    return Math.max(this.now, this.entries.at(-1)?.createdAt ?? 0);
  }

  /** Sum of the amounts of all entries. */
  get sum(): bigint {
    return this.entries.reduce(
      (sum, { kind, amount }) => sum + BigInt(kind === "charge" ? -amount : amount),
      0n,
    );
  }
}

function checkBooks(books: Books): void {
  expect(BigInt(books.balance)).toBe(books.sum);
  expect(books.of("adjustment").length > 0 || books.balance >= 0).toBe(true);
  expect(Number.isSafeInteger(books.balance)).toBe(true);
  const newest = books.entries.at(-1);
  if (newest !== undefined) {
    expect(BigInt(newest.monthSpent)).toBe(books.spentIn(newest.createdAt));
    expect(newest.monthSpent).toBeLessThanOrEqual(MONTHLY_LIMIT);
  }
  const names = books.entries.map(({ kind, reference }) => `${kind} ${reference}`);
  expect(new Set(names).size).toBe(names.length);
  for (const { reference, amount } of books.of("refund")) {
    expect(books.find("charge", reference)).toMatchObject({ amount });
    expect(books.find("release", reference)).toBeNull();
  }
  for (const { reference, amount } of books.of("release")) {
    expect(books.find("charge", reference)?.amount).toBeGreaterThanOrEqual(amount);
  }
}

/** Returns the expected result of an order, computed without the ledger's code. */
function expected(books: Books, { kind, reference, amount, afterMs: elapsed }: Command): string {
  const charged = books.find("charge", reference);
  const refusal = refusalOfReturn(books, kind, charged, amount);
  if (refusal !== null) return refusal;
  const known = books.find(kind, reference);
  const wanted = kind === "refund" ? (charged?.amount ?? 0) : amount;
  if (known !== null) return known.amount === wanted ? "booked" : "reference_reused";
  const after = books.sum + BigInt(kind === "charge" ? -wanted : wanted);
  const at = Math.max(books.now + elapsed, books.at);
  const isOver = kind === "charge" && books.spentIn(at) + BigInt(wanted) > MONTHLY_LIMIT;
  return limitOf(kind, amount, after) ?? (isOver ? "over_limit" : "book");
}

/** Returns the reason for which a refund or release of this charge is refused; null for none. */
function refusalOfReturn(
  books: Books,
  kind: Command["kind"],
  charged: Entry | null,
  amount: number,
): string | null {
  if (!isReturn(kind)) return null;
  if (charged === null) return "no_charge";
  const [other, reason] =
    kind === "refund"
      ? (["release", "already_released"] as const)
      : (["refund", "already_refunded"] as const);
  if (books.find(other, charged.reference) !== null) return reason;
  return kind === "release" && amount > charged.amount ? "too_large" : null;
}

function isReturn(kind: Command["kind"]): boolean {
  return kind === "refund" || kind === "release";
}

function limitOf(kind: Command["kind"], amount: number, after: bigint): string | null {
  if (kind === "charge") return after < 0n ? "insufficient" : null;
  return !isReturn(kind) && amount > 0 && after > BigInt(MAX) ? "too_large" : null;
}

describe("any sequence of orders", () => {
  it(
    "for 1,000 random sequences of orders, an account's ledger books each reference once, gives back no more than it charged, has the sum of its entries as balance, and charges in no month more than the monthly limit",
    () => {
      fc.assert(
        fc.property(commands, (sequence) => {
          const books = new Books();
          for (const given of sequence) {
            const verdict = expected(books, given);
            const posting = books.do(given);
            expect(posting.kind === "refused" ? posting.reason : posting.kind).toBe(verdict);
            checkBooks(books);
          }
        }),
        { numRuns: 1_000, seed: SEED },
      );
    },
    TIMEOUT,
  );
});
