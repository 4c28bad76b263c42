import type { Buyer, ConnectionOffers, OfferList } from "../../core/offers/offer-list.ts";
import type { Offer } from "../../core/offers/offer.ts";
import { type VisibleOffer, visibleOffers } from "../../core/offers/visible-offers.ts";
import { accountOf, type Caller } from "../../objects/task/caller.ts";
import { tagsOfAccount } from "../accounts/account-client.ts";
import { type OfferContext, offerIndex } from "./offer-index.ts";

/** Returns the offers of the relay: those of the variable `OFFERS` or, if it is not set, the stored ones. */
export async function offersOfRelay(context: OfferContext): Promise<OfferList> {
  const { offers } = context.runtime.config;
  if (offers !== null) return offers;
  const { list } = await offerIndex(context.env).current(context);
  return list;
}

/** Returns an account with its tags. */
export async function buyerOf(account: string, { env }: OfferContext): Promise<Buyer> {
  return { account, tags: await tagsOfAccount(env, account) };
}

/** Returns an account with its tags, which are not read where no offer is for a tag. */
export async function buyerAmong(
  offers: OfferList,
  account: string,
  context: OfferContext,
): Promise<Buyer> {
  return offers.hasTags ? await buyerOf(account, context) : { account, tags: [] };
}

/** Returns the offers of the calling account at a connection. Null for an operator, who needs no offer. */
export async function offersTo(
  caller: Caller,
  connection: string,
  context: OfferContext,
): Promise<ConnectionOffers | null> {
  const account = accountOf(caller);
  if (account === null) return null;
  const offers = await offersOfRelay(context);
  return offers.offersAt(connection, await buyerAmong(offers, account, context));
}

/** Returns the offers that an account sees. Those of connections that are disabled or gone are left out. */
export async function visibleOffersTo(
  account: string,
  context: OfferContext,
): Promise<readonly VisibleOffer[]> {
  const offers = await offersOfRelay(context);
  const buyer = await buyerAmong(offers, account, context);
  return visibleOffers(offers, buyer).filter(({ offer }) => isConnected(offer, context));
}

/**
 * Returns the offers whose tools a caller may call: for an account those that it sees, for an operator the first of each
 * name.
 */
export async function toolOffersOf(
  caller: Caller,
  context: OfferContext,
): Promise<readonly Offer[]> {
  const account = accountOf(caller);
  if (account !== null) {
    const visible = await visibleOffersTo(account, context);
    return visible.map(({ offer }) => offer).filter(({ tool }) => tool !== null);
  }
  const { all } = await offersOfRelay(context);
  const named = new Map(all.toReversed().map((offer) => [offer.tool?.name, offer]));
  const first = all
    .filter(({ tool }) => tool !== null)
    .filter((offer) => named.get(offer.tool?.name) === offer);
  return first.filter((offer) => isConnected(offer, context));
}

function isConnected({ connection }: Offer, { runtime }: OfferContext): boolean {
  return runtime.config.connections.has(connection);
}
