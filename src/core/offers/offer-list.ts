import { isModelOf } from "./model-glob.ts";
import type { Offer, UpstreamKeyOwner } from "./offer.ts";

/** An account that submits jobs, with its tags. */
export interface Buyer {
  readonly account: string;
  readonly tags: readonly string[];
}

/** Why an offer is for a buyer: it names the account or one of its tags, or is for all accounts. */
export type OfferReason =
  | { readonly kind: "account" }
  | { readonly kind: "tag"; readonly tag: string }
  | { readonly kind: "general" };

/** An offer with the reason why it is for the buyer. */
export interface BuyersOffer {
  readonly offer: Offer;
  readonly reason: OfferReason;
}

/** The call that a tool makes, or any other call whose place and model are known. */
export interface OfferedCall {
  readonly keyOwner: UpstreamKeyOwner;
  readonly path: string;
  readonly model: string;
}

/** The offers of one connection, in the order of the list, by those for whom they are. */
interface Shelf {
  readonly byAccount: Map<string, BuyersOffer[]>;
  readonly byTag: Map<string, BuyersOffer[]>;
  readonly general: BuyersOffer[];
}

/** All offers of the relay, in the order in which offers for the same accounts are compared with a request. */
export class OfferList {
  readonly all: readonly Offer[];
  readonly #shelves = new Map<string, Shelf>();
  readonly #places = new Map<Offer, number>();
  readonly #named = new Map<string, Offer>();

  /** Creates the list. Offers with the same `rank` are compared in the given order. */
  constructor(offers: readonly Offer[]) {
    this.all = offers.toSorted((a, b) => a.rank - b.rank);
    this.all.forEach((offer, place) => {
      this.#places.set(offer, place);
      this.#named.set(offer.name, offer);
      this.#shelve(offer);
    });
  }

  /** Tells whether an offer is for accounts with a tag, so that the tags of a buyer matter. */
  get hasTags(): boolean {
    return [...this.#shelves.values()].some(({ byTag }) => byTag.size > 0);
  }

  /** Returns the offer with this name. Null when there is none. */
  named(name: string): Offer | null {
    return this.#named.get(name) ?? null;
  }

  /**
   * Returns the offers of a connection that are for a buyer, in the order in which a request is compared with them:
   * those of the account, those of its tags, and those for all accounts.
   */
  at(connection: string, { account, tags }: Buyer): readonly BuyersOffer[] {
    const shelf = this.#shelves.get(connection);
    if (shelf === undefined) return [];
    const own = shelf.byAccount.get(account) ?? [];
    const tagged = this.#inOrder(tags.flatMap((tag) => shelf.byTag.get(tag) ?? []));
    return own.length === 0 && tagged.length === 0
      ? shelf.general
      : [...distinct([...own, ...tagged]), ...shelf.general];
  }

  /** Returns all offers that are for a buyer, connection by connection. */
  of(buyer: Buyer): readonly BuyersOffer[] {
    return [...this.#shelves.keys()].flatMap((connection) => this.at(connection, buyer));
  }

  #shelve(offer: Offer): void {
    const shelf = this.#shelves.get(offer.connection) ?? newShelf();
    this.#shelves.set(offer.connection, shelf);
    const { audience } = offer;
    if (audience === null) shelf.general.push({ offer, reason: { kind: "general" } });
    const reason = { kind: "account" } as const;
    for (const account of audience?.accounts ?? [])
      add(shelf.byAccount, account, { offer, reason });
    for (const tag of audience?.tags ?? []) {
      add(shelf.byTag, tag, { offer, reason: { kind: "tag", tag } });
    }
  }

  #inOrder(offers: readonly BuyersOffer[]): readonly BuyersOffer[] {
    const placeOf = ({ offer }: BuyersOffer) => this.#places.get(offer) ?? 0;
    return offers.toSorted((a, b) => placeOf(a) - placeOf(b));
  }
}

/** Returns the first of a connection's offers that is for a call. Null when there is none. */
export function firstFor(offers: readonly BuyersOffer[], call: OfferedCall): BuyersOffer | null {
  return offers.find(({ offer }) => isForCall(offer, call)) ?? null;
}

/** Tells whether an offer is for calls of this path and model with a key of this owner at the offer's connection. */
export function isForCall(offer: Offer, { keyOwner, path, model }: OfferedCall): boolean {
  return (
    offer.keyOwner === keyOwner &&
    (offer.path === null || offer.path === path) &&
    offer.models.some((glob) => isModelOf(glob, model))
  );
}

function newShelf(): Shelf {
  return { byAccount: new Map(), byTag: new Map(), general: [] };
}

function add(shelf: Map<string, BuyersOffer[]>, key: string, offer: BuyersOffer): void {
  const offers = shelf.get(key);
  if (offers === undefined) shelf.set(key, [offer]);
  else offers.push(offer);
}

/** Returns the list without the second of two entries with the same offer, which is for an account and for its tag. */
function distinct(offers: readonly BuyersOffer[]): readonly BuyersOffer[] {
  const seen = new Set<Offer>();
  return offers.filter(({ offer }) => !seen.has(offer) && seen.add(offer));
}
