import type { Buyer, ConnectionOffers, OfferList } from "../../core/offers/offer-list.ts";
import type { Offer } from "../../core/offers/offer.ts";
import { accountOf, type Caller } from "../../objects/task/caller.ts";
import type { Context } from "../operation.ts";
import { offerIndex } from "./offer-index.ts";

type OfferContext = Pick<Context, "env" | "runtime">;

/** Returns the offers of the relay: those of the variable `OFFERS` or, if it is not set, the stored ones. */
export async function offersOfRelay(context: OfferContext): Promise<OfferList> {
  const { offers } = context.runtime.config;
  if (offers !== null) return offers;
  const { list } = await offerIndex(context.env).current(context);
  return list;
}

/** Returns an account with its tags. No account has tags yet. */
export async function buyerOf(account: string, _context: OfferContext): Promise<Buyer> {
  return await Promise.resolve({ account, tags: [] });
}

/** Returns the offers of the calling account at a connection. Null for an operator, who needs no offer. */
export async function offersTo(
  caller: Caller,
  connection: string,
  context: OfferContext,
): Promise<ConnectionOffers | null> {
  const account = accountOf(caller);
  if (account === null) return null;
  const [offers, buyer] = await Promise.all([offersOfRelay(context), buyerOf(account, context)]);
  return offers.offersAt(connection, buyer);
}

/**
 * Returns the offers whose tools a caller may call: for an account those by which it would pay, for an operator the first
 * of each name.
 */
export async function toolOffersOf(
  caller: Caller,
  context: OfferContext,
): Promise<readonly Offer[]> {
  const offers = await offersOfRelay(context);
  const account = accountOf(caller);
  if (account !== null) {
    return offers.toolsOf(await buyerOf(account, context)).map(({ offer }) => offer);
  }
  const named = new Map(offers.all.toReversed().map((offer) => [offer.tool?.name, offer]));
  return offers.all.filter((offer) => offer.tool !== null && named.get(offer.tool.name) === offer);
}
