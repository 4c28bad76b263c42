import { ModelIndex } from "./model-glob.ts";
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
  // The models of the offers that are compared earlier, by their paths.
  const paid = new Map<string | null, ModelIndex>();
  return offers.flatMap((offer, position) => {
    const { path } = offer;
    const earlier = [paid.get(path), paid.get(null)].filter((each) => each !== undefined);
    const isPaid = (model: string) => earlier.some((index) => index.first(model) < position);
    const models = offer.models.filter((model) => !isPaid(model));
    const ofPath = paid.get(path) ?? new ModelIndex();
    paid.set(path, ofPath);
    for (const model of models) ofPath.add(model, position);
    return models.length === 0 ? [] : [{ offer, models }];
  });
}
