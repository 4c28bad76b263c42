import { expect, it } from "vitest";
import type { StoredOffer } from "../../src/core/offers/book-change.ts";
import { bookAfter, EMPTY_BOOK, type KnownOffer } from "../../src/core/offers/offer-book.ts";
import { readingNeeded } from "../../src/core/freshness.ts";
import { OFFER_FRESHNESS } from "../../src/core/offers/offer-freshness.ts";
import type { Offer } from "../../src/core/offers/offer.ts";

function stored(name: string, version: number, content: string | null = "{}"): StoredOffer {
  return { name, version, content, changedAt: 0, changedBy: null };
}

/** Reads a stored offer. One whose content is not `{}` has a fault. */
function read(offer: StoredOffer): KnownOffer {
  if (offer.content === null) return { stored: offer, offer: null, fault: null };
  const fault = offer.content === "{}" ? null : { path: [], message: "is wrong" };
  return { stored: offer, offer: offerOf(offer), fault };
}

function offerOf({ name, version }: StoredOffer): Offer {
  const empty = { title: null, description: null, audience: null, price: null, tool: null };
  const call = { connection: "ark", keyOwner: "connection", path: null, models: ["*"] } as const;
  return { name, version, rank: 100, limits: [], takesUploads: false, ...empty, ...call };
}

const versionsIn = ({ list }: typeof EMPTY_BOOK) =>
  list.all.map(({ name, version }) => [name, version]);

it("changes replace, add and remove offers by name, and offers of the same rank are listed by name", () => {
  const first = bookAfter(EMPTY_BOOK, [stored("b", 1), stored("a", 2), stored("c", 3)], 3, read);
  expect(versionsIn(first)).toEqual([
    ["a", 2],
    ["b", 1],
    ["c", 3],
  ]);
  const second = bookAfter(first, [stored("c", 4, null), stored("b", 5)], 5, read);
  expect([second.revision, versionsIn(second)]).toEqual([
    5,
    [
      ["a", 2],
      ["b", 5],
    ],
  ]);
});

it("an offer with a fault is known, and not in the list", () => {
  const book = bookAfter(EMPTY_BOOK, [stored("a", 1, "?"), stored("b", 2)], 2, read);
  expect(versionsIn(book)).toEqual([["b", 2]]);
  expect(book.known.get("a")?.fault).toEqual({ path: [], message: "is wrong" });
});

it("the answers to two readings at the same time may be added in any order: an older change does not replace a newer one, a deletion included", () => {
  const early = [stored("a", 1), stored("b", 2)];
  const late = [stored("a", 3, null), stored("b", 4)];
  const inOrder = bookAfter(bookAfter(EMPTY_BOOK, early, 2, read), late, 4, read);
  const reversed = bookAfter(bookAfter(EMPTY_BOOK, late, 4, read), early, 2, read);
  expect(versionsIn(reversed)).toEqual(versionsIn(inOrder));
  expect([reversed.revision, versionsIn(reversed)]).toEqual([4, [["b", 4]]]);
});

it("without changes the list stays the same object, so that what was computed of it is kept", () => {
  const book = bookAfter(EMPTY_BOOK, [stored("a", 1)], 1, read);
  const same = bookAfter(book, [stored("a", 1)], 7, read);
  expect([same.list, same.revision]).toEqual([book.list, 7]);
  expect(same.list).toBe(book.list);
});

const NOW = 1_000_000_000;
const SECOND = 1000;

it.each([
  ["wait", "that were never read", { readAt: null, failedAt: null }],
  ["wait", "that were never read, also just after a failure", { readAt: null, failedAt: NOW }],
  ["none", "that were read just now", { readAt: NOW, failedAt: null }],
  ["none", "of less than 30 s", { readAt: NOW - 30 * SECOND + 1, failedAt: null }],
  ["beside", "of 30 s", { readAt: NOW - 30 * SECOND, failedAt: null }],
  ["beside", "of less than 60 s", { readAt: NOW - 60 * SECOND + 1, failedAt: null }],
  ["wait", "of 60 s", { readAt: NOW - 60 * SECOND, failedAt: null }],
  [
    "none",
    "whose reading has failed less than 5 s ago",
    { readAt: NOW - 99 * SECOND, failedAt: NOW - 4_999 },
  ],
  [
    "wait",
    "whose reading has failed 5 s ago",
    { readAt: NOW - 99 * SECOND, failedAt: NOW - 5_000 },
  ],
  [
    "beside",
    "of 35 s whose reading has failed 5 s ago",
    { readAt: NOW - 35_000, failedAt: NOW - 5_000 },
  ],
  [
    "wait",
    "from after a step of the clock into the past",
    { readAt: NOW + SECOND, failedAt: null },
  ],
] as const)("the reading that a request needs is %s for offers %s", (need, _, times) => {
  expect(readingNeeded(times, OFFER_FRESHNESS, NOW)).toBe(need);
});
