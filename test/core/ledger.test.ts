import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  charge,
  type Entry,
  type EntryKind,
  grant,
  type Order,
  type Posting,
  refund,
} from "../../src/core/ledger.ts";

const SEED = 20_261_020;
/** For a machine that does other things too. */
const TIMEOUT = 60_000;
/** What grants may bring a balance to; beyond it there is room for refunds. */
const MAX = 2 ** 52;
const order: Order = { reference: "r", amount: 40 };
const BOOKED: Posting = { kind: "booked" };

function refused(reason: Extract<Posting, { kind: "refused" }>["reason"]): Posting {
  return { kind: "refused", reason };
}

function booking(kind: EntryKind, amount: number, balance: number): Posting {
  return { kind: "book", entry: { kind, reference: "r", amount, balance } };
}

function anEntry(kind: EntryKind, amount = 40): Entry {
  return { kind, reference: "r", amount, balance: 100 };
}

describe("a grant", () => {
  it.each<[string, number, Entry | null, number, Posting]>([
    ["adds to nothing", 0, null, 40, booking("grant", 40, 40)],
    ["adds to what is there", 60, null, 40, booking("grant", 40, 100)],
    ["reaches the largest balance", MAX - 40, null, 40, booking("grant", 40, MAX)],
    ["does not go beyond it", MAX - 39, null, 40, refused("too_large")],
    ["of the largest balance to one credit is too large", 1, null, MAX, refused("too_large")],
    ["again changes nothing", 100, anEntry("grant"), 40, BOOKED],
    ["again changes nothing when the balance is full", MAX, anEntry("grant"), 40, BOOKED],
    ["of less under a known reference", 100, anEntry("grant"), 39, refused("reference_reused")],
    ["of more under a known reference", 100, anEntry("grant"), 41, refused("reference_reused")],
  ])("%s", (_what, balance, known, amount, posting) => {
    expect(grant(balance, known, { ...order, amount })).toEqual(posting);
  });
});

describe("a charge", () => {
  it.each<[string, number, Entry | null, number, Posting]>([
    ["takes from what is there", 100, null, 40, booking("charge", 40, 60)],
    ["may take all", 40, null, 40, booking("charge", 40, 0)],
    ["of one credit more than all is refused", 39, null, 40, refused("insufficient")],
    ["of an empty account is refused", 0, null, 1, refused("insufficient")],
    ["of more than there is is refused", 40, null, MAX, refused("insufficient")],
    ["again changes nothing", 100, anEntry("charge"), 40, BOOKED],
    ["again changes nothing when no credits are left", 0, anEntry("charge"), 40, BOOKED],
    ["of more under a known reference", 100, anEntry("charge"), 41, refused("reference_reused")],
  ])("%s", (_what, balance, known, amount, posting) => {
    expect(charge(balance, known, { ...order, amount })).toEqual(posting);
  });
});

describe("a refund", () => {
  const charged = anEntry("charge");
  it.each<[string, number, Entry | null, Entry | null, Posting]>([
    ["gives back what was charged", 60, charged, null, booking("refund", 40, 100)],
    ["again changes nothing", 100, charged, anEntry("refund"), BOOKED],
    ["has room above the largest grant", MAX, charged, null, booking("refund", 40, MAX + 40)],
    ["without a charge is refused", 60, null, null, refused("no_charge")],
    ["without a charge is refused, even if booked", 60, null, charged, refused("no_charge")],
  ])("%s", (_what, balance, known, refunded, posting) => {
    expect(refund(balance, known, refunded)).toEqual(posting);
  });
});

type Command = Order & { readonly kind: "grant" | "charge" | "refund" };

const references = fc.constantFrom("a", "b", "c", "d");
const anyOrder = fc.record<Command>({
  kind: fc.constantFrom("grant", "charge", "charge", "refund"),
  reference: references,
  amount: fc.integer({ min: 1, max: 5 }),
});
const hugeGrant = fc.record<Command>({
  kind: fc.constant("grant"),
  reference: references,
  amount: fc.integer({ min: MAX - 5, max: MAX }),
});
const commands = fc.array(
  fc.oneof({ weight: 6, arbitrary: anyOrder }, { weight: 1, arbitrary: hugeGrant }),
  { maxLength: 50, size: "max" },
);

/** The account as a list of entries, nothing else. */
class Books {
  readonly entries: Entry[] = [];

  do({ kind, reference, amount }: Command): Posting {
    const known = this.find(kind, reference);
    const { balance } = this;
    const given = { reference, amount };
    const posting =
      kind === "refund"
        ? refund(balance, this.find("charge", reference), known)
        : { grant, charge }[kind](balance, known, given);
    if (posting.kind === "book") this.entries.push(posting.entry);
    return posting;
  }

  find(kind: EntryKind, reference: string): Entry | null {
    const those = this.of(kind).filter((entry) => entry.reference === reference);
    return those[0] ?? null;
  }

  of(kind: EntryKind): Entry[] {
    return this.entries.filter((entry) => entry.kind === kind);
  }

  /** As the newest entry says. */
  get balance(): number {
    return this.entries.at(-1)?.balance ?? 0;
  }

  /** As all of them say. */
  get sum(): bigint {
    return this.entries.reduce(
      (sum, { kind, amount }) => sum + BigInt(kind === "charge" ? -amount : amount),
      0n,
    );
  }
}

function checkBooks(books: Books): void {
  expect(BigInt(books.balance)).toBe(books.sum);
  expect(books.balance).toBeGreaterThanOrEqual(0);
  expect(Number.isSafeInteger(books.balance)).toBe(true);
  const names = books.entries.map(({ kind, reference }) => `${kind} ${reference}`);
  expect(new Set(names).size).toBe(names.length);
  for (const { reference, amount } of books.of("refund")) {
    expect(books.find("charge", reference)).toMatchObject({ amount });
  }
}

/** What an order must come to, told without the ledger's code. */
function expected(books: Books, { kind, reference, amount }: Command): string {
  const charged = books.find("charge", reference);
  if (kind === "refund" && charged === null) return "no_charge";
  const known = books.find(kind, reference);
  const wanted = kind === "refund" ? (charged?.amount ?? 0) : amount;
  if (known !== null) return known.amount === wanted ? "booked" : "reference_reused";
  const after = books.sum + BigInt(kind === "charge" ? -wanted : wanted);
  if (after < 0n) return "insufficient";
  return kind === "grant" && after > BigInt(MAX) ? "too_large" : "book";
}

describe("any sequence of orders", () => {
  it(
    "keeps the books: balance is the sum of the entries, each once, a refund as its charge",
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

  it(
    "books nothing when it is repeated, order by order",
    () => {
      fc.assert(
        fc.property(commands, (sequence) => {
          const books = new Books();
          for (const given of sequence) {
            if (books.do(given).kind === "refused") continue;
            const before = [...books.entries];
            expect(books.do(given)).toEqual(BOOKED);
            expect(books.entries).toEqual(before);
          }
        }),
        { numRuns: 500, seed: SEED },
      );
    },
    TIMEOUT,
  );

  it(
    "gives every credit back when every charge is refunded",
    () => {
      fc.assert(
        fc.property(commands, (sequence) => {
          const books = new Books();
          for (const given of sequence) if (given.kind !== "refund") books.do(given);
          for (const { reference, amount } of books.of("charge")) {
            books.do({ kind: "refund", reference, amount });
          }
          const granted = books.of("grant").reduce((sum, { amount }) => sum + BigInt(amount), 0n);
          expect(BigInt(books.balance)).toBe(granted);
        }),
        { numRuns: 500, seed: SEED },
      );
    },
    TIMEOUT,
  );
});
