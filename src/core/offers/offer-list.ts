import { isOfBody, wayTo } from "./limit-pointer.ts";
import { ANY_MODEL, isModelOf, ModelIndex } from "./model-glob.ts";
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

/** A call whose path, model and owner of the key are known, e.g. that of a tool. */
export interface OfferedCall {
  readonly keyOwner: UpstreamKeyOwner;
  readonly path: string;
  readonly model: string;
}

/** The offers of one connection, by those for whom they are. */
interface Buckets {
  readonly byAccount: Map<string, OfferBucket>;
  readonly byTag: Map<string, OfferBucket>;
  readonly general: OfferBucket;
}

/** All offers of the relay, in the order in which offers for the same accounts are compared with a request. */
export class OfferList {
  readonly all: readonly Offer[];
  /** True when an offer is for accounts with a tag, so that the tags of a buyer matter. */
  readonly hasTags: boolean;
  readonly #connections = new Map<string, Buckets>();
  readonly #named = new Map<string, Offer>();

  /** Creates the list. Offers with the same `rank` are compared in the given order. */
  constructor(offers: readonly Offer[]) {
    this.all = offers.toSorted((a, b) => a.rank - b.rank);
    this.hasTags = offers.some(({ audience }) => audience !== null && audience.tags.length > 0);
    for (const offer of this.all) {
      this.#named.set(offer.name, offer);
      this.#put(offer);
    }
  }

  /** Returns the offer with this name. Null when there is none. */
  named(name: string): Offer | null {
    return this.#named.get(name) ?? null;
  }

  /** Returns the offers of a connection that are for a buyer. */
  offersAt(connection: string, { account, tags }: Buyer): ConnectionOffers {
    const buckets = this.#connections.get(connection);
    if (buckets === undefined) return new ConnectionOffers([]);
    const { byAccount, byTag, general } = buckets;
    const own = [byAccount.get(account), ...tags.map((tag) => byTag.get(tag))];
    return new ConnectionOffers([...own.filter((bucket) => bucket !== undefined), general]);
  }

  /** Returns the offers of a connection that are for a buyer, in the order in which a request is compared with them. */
  at(connection: string, buyer: Buyer): readonly BuyersOffer[] {
    return this.offersAt(connection, buyer).all;
  }

  /** Returns all offers that are for a buyer, connection by connection. */
  of(buyer: Buyer): readonly BuyersOffer[] {
    return [...this.#connections.keys()].flatMap((connection) => this.at(connection, buyer));
  }

  #put(offer: Offer): void {
    const buckets = this.#connections.get(offer.connection) ?? newBuckets();
    this.#connections.set(offer.connection, buckets);
    const { audience } = offer;
    if (audience === null) buckets.general.add({ offer, reason: { kind: "general" } });
    for (const account of audience?.accounts ?? []) {
      bucketOf(buckets.byAccount, account).add({ offer, reason: { kind: "account" } });
    }
    for (const tag of audience?.tags ?? []) {
      bucketOf(buckets.byTag, tag).add({ offer, reason: { kind: "tag", tag } });
    }
  }
}

/** Tells whether an offer is for calls of this path and model with a key of this owner at the offer's connection. */
export function isForCall(offer: Offer, { keyOwner, path, model }: OfferedCall): boolean {
  return isAt(offer, keyOwner, path) && offer.models.some((glob) => isModelOf(glob, model));
}

function newBuckets(): Buckets {
  return { byAccount: new Map(), byTag: new Map(), general: new OfferBucket() };
}

function bucketOf(buckets: Map<string, OfferBucket>, key: string): OfferBucket {
  const known = buckets.get(key);
  if (known !== undefined) return known;
  const bucket = new OfferBucket();
  buckets.set(key, bucket);
  return bucket;
}

/**
 * Offers of one connection that are for the same accounts, in the order in which they are compared with a request. What
 * a submission must know of all of them is computed once for each path, because there can be thousands.
 */
class OfferBucket {
  readonly offers: BuyersOffer[] = [];
  readonly #shelves = new Map<string, OfferShelf>();
  readonly #paths = new Set<string>();

  add(offer: BuyersOffer): void {
    this.offers.push(offer);
    const { path } = offer.offer;
    if (path !== null) this.#paths.add(path);
  }

  /** Returns those of the offers that are for this path and owner of the key. */
  at(keyOwner: UpstreamKeyOwner, path: string): OfferShelf {
    // All paths that no offer names have the same offers.
    const key = this.#paths.has(path) ? `${keyOwner} ${path}` : keyOwner;
    const known = this.#shelves.get(key);
    if (known !== undefined) return known;
    const shelf = new OfferShelf(this.offers.filter(({ offer }) => isAt(offer, keyOwner, path)));
    this.#shelves.set(key, shelf);
    return shelf;
  }
}

/** Tells whether an offer is for this path and owner of the key. */
function isAt(offer: Offer, keyOwner: UpstreamKeyOwner, path: string): boolean {
  return offer.keyOwner === keyOwner && (offer.path === null || offer.path === path);
}

/** Offers for one place, in the order in which they are compared with a request. */
class OfferShelf {
  readonly isEmpty: boolean;
  readonly areAllPriced: boolean;
  readonly dependsOnBody: boolean;
  readonly leastCredits: number;
  readonly limitedPointers: ReadonlySet<string>;
  readonly #offers: readonly BuyersOffer[];
  readonly #models = new ModelIndex();

  constructor(offers: readonly BuyersOffer[]) {
    this.#offers = offers;
    this.isEmpty = offers.length === 0;
    this.areAllPriced = offers.every(({ offer }) => offer.price !== null);
    this.dependsOnBody = offers.some(({ offer }) => !isForAnyBody(offer));
    this.leastCredits = offers.reduce(
      (least, { offer }) => Math.min(least, offer.price?.credits ?? 0),
      Infinity,
    );
    this.limitedPointers = new Set(offers.flatMap(({ offer }) => bodyPointers(offer)));
    offers.forEach(({ offer }, position) => {
      for (const model of offer.models) this.#models.add(model, position);
    });
  }

  /** Returns the first offer for a model. @param model null for a request that names none. */
  first(model: string | null): BuyersOffer | null {
    const position = model === null ? this.#models.firstForAny() : this.#models.first(model);
    return this.#offers[position] ?? null;
  }
}

/**
 * The offers of a buyer at one connection: those of the account, those of its tags, tag by tag, and those for all
 * accounts.
 */
export class ConnectionOffers {
  readonly #buckets: readonly OfferBucket[];

  constructor(buckets: readonly OfferBucket[]) {
    this.#buckets = buckets;
  }

  get isEmpty(): boolean {
    return this.#buckets.every(({ offers }) => offers.length === 0);
  }

  /** All of these offers, in the order in which a request is compared with them. */
  get all(): readonly BuyersOffer[] {
    const seen = new Set<Offer>();
    const offers = this.#buckets.flatMap((bucket) => bucket.offers);
    return offers.filter(({ offer }) => !seen.has(offer) && seen.add(offer));
  }

  /** Returns those of the offers that are for this path and owner of the key. */
  at(keyOwner: UpstreamKeyOwner, path: string): PlacedOffers {
    return new PlacedOffers(this.#buckets.map((bucket) => bucket.at(keyOwner, path)));
  }
}

/**
 * The offers of a buyer at one path of a connection, for calls with an upstream key of one owner: that of the connection
 * or that of the customer.
 */
export class PlacedOffers {
  readonly #shelves: readonly OfferShelf[];

  constructor(shelves: readonly OfferShelf[]) {
    this.#shelves = shelves.filter(({ isEmpty }) => !isEmpty);
  }

  get isEmpty(): boolean {
    return this.#shelves.length === 0;
  }

  /** True when a submission costs something, whichever of the offers applies to it. */
  get areAllPriced(): boolean {
    return !this.isEmpty && this.#shelves.every(({ areAllPriced }) => areAllPriced);
  }

  /** True when the body of a request decides which offer applies, or whether the request is within its limits. */
  get dependOnBody(): boolean {
    return this.#shelves.some(({ dependsOnBody }) => dependsOnBody);
  }

  /** True when these offers are all for the same accounts, so that none of them takes the place of another's price. */
  get areForSameAccounts(): boolean {
    return this.#shelves.length === 1;
  }

  /** Credits of the cheapest offer that may apply; 0 when one costs nothing. */
  get leastCredits(): number {
    return Math.min(...this.#shelves.map(({ leastCredits }) => leastCredits));
  }

  /**
   * JSON Pointers of the members of a body that the offers limit, and of the objects around them. These members are
   * needed to decide about a request.
   */
  get limitedPointers(): readonly string[] {
    return this.#shelves.flatMap(({ limitedPointers }) => [...limitedPointers]);
  }

  /** Returns the first offer for a model. Null when there is none. @param model null for a request that names none. */
  first(model: string | null): BuyersOffer | null {
    for (const shelf of this.#shelves) {
      const found = shelf.first(model);
      if (found !== null) return found;
    }
    return null;
  }
}

function isForAnyBody({ models, limits }: Offer): boolean {
  return models.every((glob) => glob === ANY_MODEL) && !limits.some(isOfBody);
}

function bodyPointers({ limits }: Offer): readonly string[] {
  return limits.filter(isOfBody).flatMap(({ pointer }) => wayTo(pointer));
}
