import { isModelOf } from "./model-glob.ts";
import type { Offer } from "./offer.ts";
import type { Buyer, OfferList } from "./offer-list.ts";

/** An offer as a buyer sees it. */
export interface VisibleOffer {
  readonly offer: Offer;
  /** The models of the offer, without those that the buyer pays by another offer. */
  readonly models: readonly string[];
}

/**
 * Returns the offers that a buyer sees, in the order in which a request is compared with them: those by which at least
 * one call of the buyer is priced. An offer is hidden when offers that are compared earlier are for all of its calls,
 * e.g. the general offer of a model for which the account has an offer of its own.
 */
export function visibleOffers(list: OfferList, buyer: Buyer): readonly VisibleOffer[] {
  const offers = list.of(buyer).map(({ offer }) => offer);
  return [...Map.groupBy(offers, placeOf).values()].flatMap(visibleOfPlace);
}

/** Returns what is common to offers of which one can hide another: their connection and the owner of the key. */
function placeOf({ connection, keyOwner }: Offer): string {
  return `${keyOwner} ${connection}`;
}

function visibleOfPlace(offers: readonly Offer[]): readonly VisibleOffer[] {
  const paid = new Map<string | null, Globs>();
  return offers.flatMap((offer) => {
    const { path } = offer;
    const earlier = [paid.get(path), paid.get(null)].filter((each) => each !== undefined);
    const models = offer.models.filter((model) => !earlier.some((globs) => globs.covers(model)));
    const ofPath = paid.get(path) ?? new Globs();
    paid.set(path, ofPath);
    for (const model of models) ofPath.add(model);
    return models.length === 0 ? [] : [{ offer, models }];
  });
}

/** The models of offers that are compared earlier, as names and globs. There can be thousands of them. */
class Globs {
  readonly #names = new Set<string>();
  /** Globs with `*`, by their beginnings before it. */
  readonly #patterns = new Map<string, string[]>();
  /** Lengths of these beginnings. */
  readonly #lengths = new Set<number>();

  add(glob: string): void {
    const star = glob.indexOf("*");
    if (star < 0) {
      this.#names.add(glob);
      return;
    }
    const start = glob.slice(0, star);
    this.#lengths.add(star);
    const patterns = this.#patterns.get(start) ?? [];
    patterns.push(glob);
    this.#patterns.set(start, patterns);
  }

  /**
   * Tells whether all models that a glob matches are among these. That is so when one of these matches the glob taken as
   * a name, because no letter of a glob matches a `*`.
   */
  covers(glob: string): boolean {
    if (this.#names.has(glob)) return true;
    return [...this.#lengths].some((length) => {
      const patterns = this.#patterns.get(glob.slice(0, length)) ?? [];
      return patterns.some((each) => isModelOf(each, glob));
    });
  }
}
