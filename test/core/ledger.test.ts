import { describe, expect, it } from "vitest";
import {
  adjust,
  charge,
  type ChargeEntries,
  type BookedEntry,
  type EntryKind,
  grant,
  type Booking,
  type Posting,
  hasBecomeLow,
  refund,
  release,
  type Standing,
  standingAfter,
} from "../../src/core/ledger.ts";

/** Largest balance that grants may lead to; refunds may exceed it. */
const MAX = 2 ** 52;
const order: Booking = { reference: "r", amount: 40 };
const BOOKED: Posting = { kind: "booked" };

function refused(reason: Extract<Posting, { kind: "refused" }>["reason"]): Posting {
  return { kind: "refused", reason };
}

const REUSED = refused("reference_reused");
const TOO_LARGE = refused("too_large");

/** Middle of a month. */
const NOW = Date.UTC(2026, 10, 15);
/** What the charges of this month cost, before each order of the tests. */
const SPENT = 60;

function standing(balance: number, at = NOW): Standing {
  return { balance, monthSpent: SPENT, at };
}

/** Returns the posting of an entry. Its charge, if it is a refund or release, is of this month. */
function booking(kind: EntryKind, amount: number, balance: number): Posting {
  const cost = { charge: amount, refund: -amount, release: -amount, opening: 0 };
  const change = kind === "grant" || kind === "adjustment" ? 0 : cost[kind];
  const entry = { kind, reference: "r", amount, balance };
  return { kind: "book", entry: { ...entry, monthSpent: SPENT + change, createdAt: NOW } };
}

function anEntry(kind: EntryKind, amount = 40, createdAt = NOW): BookedEntry {
  return { kind, reference: "r", amount, balance: 100, createdAt };
}

describe("a grant", () => {
  it.each<[string, number, BookedEntry | null, number, Posting]>([
    ["adds to an empty balance", 0, null, 40, booking("grant", 40, 40)],
    ["adds to the balance", 60, null, 40, booking("grant", 40, 100)],
    ["may raise the balance to the maximum", MAX - 40, null, 40, booking("grant", 40, MAX)],
    ["that would exceed the maximum balance by one is refused", MAX - 39, null, 40, TOO_LARGE],
    ["of the maximum balance is refused when the balance is 1", 1, null, MAX, TOO_LARGE],
    ["that is repeated with its reference changes nothing", 100, anEntry("grant"), 40, BOOKED],
    ["that is repeated at the maximum balance changes nothing", MAX, anEntry("grant"), 40, BOOKED],
    ["that repeats a reference with fewer credits is refused", 100, anEntry("grant"), 39, REUSED],
    ["that repeats a reference with more credits is refused", 100, anEntry("grant"), 41, REUSED],
  ])(
    "an account's ledger books a grant of credits once for its reference, and only if the balance stays within the maximum: a grant %s",
    (_what, balance, known, amount, posting) => {
      expect(grant(standing(balance), known, { ...order, amount })).toEqual(posting);
    },
  );
});

describe("a charge", () => {
  it.each<[string, number, BookedEntry | null, number, Posting]>([
    ["is taken from the balance", 100, null, 40, booking("charge", 40, 60)],
    ["may take the whole balance", 40, null, 40, booking("charge", 40, 0)],
    ["of one credit more than the balance is refused", 39, null, 40, refused("insufficient")],
    ["of an account without credits is refused", 0, null, 1, refused("insufficient")],
    ["of an amount far above the balance is refused", 40, null, MAX, refused("insufficient")],
    ["that is repeated with its reference changes nothing", 100, anEntry("charge"), 40, BOOKED],
    ["that is repeated at a balance of 0 changes nothing", 0, anEntry("charge"), 40, BOOKED],
    ["that repeats a reference with more credits is refused", 100, anEntry("charge"), 41, REUSED],
  ])(
    "an account's ledger books a charge of credits once for its reference, and only if the balance suffices: a charge %s",
    (_what, balance, known, amount, posting) => {
      expect(charge(standing(balance), known, { ...order, amount }, null)).toEqual(posting);
    },
  );
});

function anAdjustment(amount: number, reason = "why") {
  return { ...anEntry("adjustment", amount), reason };
}

describe("an adjustment", () => {
  it.each<[string, number, ReturnType<typeof anAdjustment> | null, number, Posting]>([
    ["adds to the balance", 60, null, 40, booking("adjustment", 40, 100)],
    ["takes from the balance", 60, null, -40, booking("adjustment", -40, 20)],
    ["may turn a positive balance negative", 30, null, -40, booking("adjustment", -40, -10)],
    ["may add to a balance that stays negative", -50, null, 40, booking("adjustment", 40, -10)],
    ["may raise the balance to the maximum", MAX - 40, null, 40, booking("adjustment", 40, MAX)],
    ["that would exceed the maximum balance by one is refused", MAX - 39, null, 40, TOO_LARGE],
    ["may lower the balance to the minimum", 40 - MAX, null, -40, booking("adjustment", -40, -MAX)],
    ["that would undercut the minimum balance by one is refused", 39 - MAX, null, -40, TOO_LARGE],
    [
      "may lower a balance that is above the maximum",
      MAX + 9,
      null,
      -1,
      booking("adjustment", -1, MAX + 8),
    ],
    ["that is repeated with its reference changes nothing", -40, anAdjustment(-40), -40, BOOKED],
    ["that repeats a reference with the other sign is refused", 0, anAdjustment(40), -40, REUSED],
    [
      "that repeats a reference with another reason is refused",
      0,
      anAdjustment(40, "other"),
      40,
      REUSED,
    ],
  ])(
    "an account's ledger books an adjustment by the operator once for its reference, between minimum and maximum balance: an adjustment %s",
    (_what, balance, known, amount, posting) => {
      expect(adjust(standing(balance), known, { reference: "r", amount, reason: "why" })).toEqual(
        posting,
      );
    },
  );
});

describe("a negative balance", () => {
  it("an account with a negative balance accepts grants and refunds, but no new charge", () => {
    expect(grant(standing(-100), null, order)).toEqual(booking("grant", 40, -60));
    expect(
      refund(standing(-100), { charge: anEntry("charge"), refund: null, release: null }),
    ).toEqual(booking("refund", 40, -60));
    expect(charge(standing(-100), null, order, null)).toEqual(refused("insufficient"));
    expect(charge(standing(-100), anEntry("charge"), order, null)).toEqual(BOOKED);
  });
});

describe("a refund", () => {
  const charged = anEntry("charge");
  it("an account's ledger refuses to refund a charge of which a part has been given back (released) before, even when this refund is already booked", () => {
    const released = { charge: charged, release: anEntry("release", 1) };
    for (const known of [null, anEntry("refund")]) {
      expect(refund(standing(61), { ...released, refund: known })).toEqual(
        refused("already_released"),
      );
    }
  });

  it.each<[string, number, BookedEntry | null, BookedEntry | null, Posting]>([
    ["gives back what was charged", 60, charged, null, booking("refund", 40, 100)],
    ["that is repeated changes nothing", 100, charged, anEntry("refund"), BOOKED],
    [
      "may raise the balance above the limit of grants",
      MAX,
      charged,
      null,
      booking("refund", 40, MAX + 40),
    ],
    ["without a charge is refused", 60, null, null, refused("no_charge")],
    [
      "whose charge does not exist is refused, even if the refund itself is booked already",
      60,
      null,
      charged,
      refused("no_charge"),
    ],
  ])(
    "an account's ledger books a refund of a booked charge exactly once, whatever the balance is: a refund %s",
    (_what, balance, known, refunded, posting) => {
      const entries = { charge: known, refund: refunded, release: null };
      expect(refund(standing(balance), entries)).toEqual(posting);
    },
  );
});

describe("a release", () => {
  const entries = { charge: anEntry("charge"), refund: null, release: null };
  it.each<[string, number, Partial<ChargeEntries>, number, Posting]>([
    ["gives back a part of the charge", 60, {}, 15, booking("release", 15, 75)],
    ["gives back at most the charge", 60, {}, 40, booking("release", 40, 100)],
    ["of more than the charge is refused", 60, {}, 41, TOO_LARGE],
    ["that is repeated changes nothing", 75, { release: anEntry("release", 15) }, 15, BOOKED],
    [
      "that is repeated with another amount is refused",
      75,
      { release: anEntry("release", 15) },
      14,
      REUSED,
    ],
    [
      "may raise the balance above the limit of grants",
      MAX,
      {},
      15,
      booking("release", 15, MAX + 15),
    ],
    ["may leave a debt", -100, {}, 15, booking("release", 15, -85)],
    ["without a charge is refused", 60, { charge: null }, 15, refused("no_charge")],
    [
      "after a refund is refused",
      100,
      { refund: anEntry("refund") },
      15,
      refused("already_refunded"),
    ],
  ])(
    "an account's ledger books a release, which gives back a part of a booked charge, once, and not after a refund: a release %s",
    (_what, balance, known, amount, posting) => {
      expect(release(standing(balance), { ...entries, ...known }, amount)).toEqual(posting);
    },
  );
});

const LAST_MONTH = Date.UTC(2026, 10, 1) - 1;
const FIRST_OF_MONTH = Date.UTC(2026, 10, 1);

describe("the monthly limit", () => {
  it.each<[string, number, number, BookedEntry | null, Posting]>([
    ["up to the limit is booked", SPENT + 40, 40, null, booking("charge", 40, 60)],
    ["of one credit above the limit is refused", SPENT + 39, 40, null, refused("over_limit")],
    ["under a limit of 0 is refused", 0, 40, null, refused("over_limit")],
    [
      "that is above balance and limit is refused for the balance",
      0,
      101,
      null,
      refused("insufficient"),
    ],
    ["that is booked already and repeated changes nothing", 0, 40, anEntry("charge"), BOOKED],
    [
      "that repeats a reference with another amount is refused as such",
      0,
      41,
      anEntry("charge"),
      REUSED,
    ],
  ])(
    "in a month in which charges cost 60 credits already, a charge %s",
    (_what, limit, amount, known, posting) => {
      expect(charge(standing(100), known, { ...order, amount }, limit)).toEqual(posting);
    },
  );

  it.each([
    ["of this month leaves room for another charge", FIRST_OF_MONTH, SPENT - 40],
    ["of the month before leaves no room", LAST_MONTH, SPENT],
  ])("a refund or release of a charge %s", (_what, chargedAt, monthSpent) => {
    const entries = { charge: anEntry("charge", 40, chargedAt), refund: null, release: null };
    for (const back of [refund(standing(0), entries), release(standing(0), entries, 40)]) {
      expect(back).toMatchObject({ kind: "book", entry: { monthSpent, balance: 40 } });
    }
  });

  it("what the charges of a month cost is 0 again from the first millisecond of the next month in UTC on", () => {
    const newest = { balance: 5, monthSpent: SPENT, createdAt: LAST_MONTH - 1 };
    expect(standingAfter(newest, LAST_MONTH)).toEqual({
      balance: 5,
      monthSpent: SPENT,
      at: LAST_MONTH,
    });
    const next = { balance: 5, monthSpent: 0, at: FIRST_OF_MONTH };
    expect(standingAfter(newest, FIRST_OF_MONTH)).toEqual(next);
    expect(standingAfter(null, NOW)).toEqual({ balance: 0, monthSpent: 0, at: NOW });
  });

  it("when the clock is put back into the month before, the month of the newest entry goes on", () => {
    const newest = { balance: 5, monthSpent: SPENT, createdAt: FIRST_OF_MONTH };
    const now = { balance: 5, monthSpent: SPENT, at: FIRST_OF_MONTH };
    expect(standingAfter(newest, LAST_MONTH)).toEqual(now);
  });

  it("a month of the same name in another year is another month", () => {
    const newest = { balance: 5, monthSpent: SPENT, createdAt: Date.UTC(2025, 10, 15) };
    expect(standingAfter(newest, NOW).monthSpent).toBe(0);
  });
});

it.each([
  ["falls below the limit", [100, 100], [99, 100], true],
  ["falls to the limit", [101, 100], [100, 100], false],
  ["falls further", [99, 100], [98, 100], false],
  ["rises, but not to the limit", [90, 100], [99, 100], false],
  ["rises to the limit", [90, 100], [100, 100], false],
  ["stays below a limit that is set", [50, null], [50, 100], true],
  ["stays below a limit that is raised", [50, 60], [50, 100], false],
  ["stays above a limit that is lowered", [50, 100], [50, 40], false],
  ["falls without a limit", [50, null], [-5, null], false],
] as const)(
  "the operator is told that a balance has become low once for each fall: a balance that %s (%j to %j): %s",
  (_what, [from, limitBefore], [to, limit], isTold) => {
    const before = { balance: from, lowBalance: limitBefore };
    expect(hasBecomeLow(before, { balance: to, lowBalance: limit })).toBe(isTold);
  },
);
