import type { StoredOffer } from "./book-change.ts";
import { OfferList } from "./offer-list.ts";
import type { Offer, OfferFault } from "./offer.ts";

/** A stored offer as an isolate knows it. */
export interface KnownOffer {
  readonly stored: StoredOffer;
  /** The offer. Null when it was deleted, or cannot be read. */
  readonly offer: Offer | null;
  /** Fault for which nothing is submitted by the offer. Null when there is none. */
  readonly fault: OfferFault | null;
}

/** The stored offers as an isolate has read them. */
export interface OfferBook {
  /** Number of the latest change that is known. */
  readonly revision: number;
  readonly known: ReadonlyMap<string, KnownOffer>;
  /** The offers without a fault. Of those with the same rank, the first by name is compared first. */
  readonly list: OfferList;
}

export const EMPTY_BOOK: OfferBook = { revision: 0, known: new Map(), list: new OfferList([]) };

/**
 * Returns the stored offers after changes. A change that is older than the known one of the same offer is ignored, so
 * that the answers to two simultaneous reads can be added in any order.
 * @param revision number of the latest change when the changes were read.
 * @param read reads a stored offer.
 */
export function bookAfter(
  book: OfferBook,
  changes: readonly StoredOffer[],
  revision: number,
  read: (stored: StoredOffer) => KnownOffer,
): OfferBook {
  const isNewer = ({ name, version }: StoredOffer) =>
    version > (book.known.get(name)?.stored.version ?? 0);
  const newer = changes.filter(isNewer);
  const latest = Math.max(book.revision, revision);
  if (newer.length === 0) return { ...book, revision: latest };
  const known = new Map([...book.known, ...newer.map((each) => [each.name, read(each)] as const)]);
  return { revision: latest, known, list: listOf([...known.values()]) };
}

/** Returns the list of those stored offers that have no fault. */
function listOf(known: readonly KnownOffer[]): OfferList {
  const offers = known.flatMap(({ offer, fault }) =>
    offer === null || fault !== null ? [] : offer,
  );
  return new OfferList(offers.toSorted((a, b) => (a.name < b.name ? -1 : 1)));
}
