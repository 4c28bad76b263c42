import { type OwnOffer, ownOffer } from "../../api/offers/own-offers.ts";
import { listOffers, readOffer, unknownOffer } from "../../api/offers/read-offers.ts";
import type { ShownOffer } from "../../api/offers/offer-view.ts";
import type { ViewerVisit } from "../http/page.ts";

/** Largest number of offers that the page of a viewer lists. */
const MAX_LISTED = "500";

/** Returns the offers by which the viewer can submit jobs: an operator by all, an account by its own. */
export async function soldOffers(visit: ViewerVisit<unknown>): Promise<readonly OwnOffer[]> {
  const given = { params: {}, query: { limit: MAX_LISTED } };
  const found = await listOffers.perform(given, visit.viewer, visit);
  if (found.kind === "own") return found.offers;
  return found.offers.flatMap((shown) => asSold(shown, visit) ?? []);
}

/** Returns the offer of this name. @throws Problem `not_found` when the viewer cannot submit by it. */
export async function soldOffer(name: string, visit: ViewerVisit<unknown>): Promise<OwnOffer> {
  const found = await readOffer.perform({ params: { name } }, visit.viewer, visit);
  const sold = found.kind === "own" ? found.offer : asSold(found.offer, visit);
  if (sold === null) throw unknownOffer();
  return sold;
}

/** Tells whether jobs are submitted by the name of an offer, and not by the upstream's own call. */
export function takesArguments({ name, path }: OwnOffer): boolean {
  return path === `/v1/submit/${name}`;
}

/** Returns an offer as a customer would read it that has no others. Null when nothing can be submitted by it. */
function asSold({ offer, fault }: ShownOffer, visit: ViewerVisit<unknown>): OwnOffer | null {
  if (offer === null || fault !== null) return null;
  return ownOffer({ offer, models: offer.models }, visit);
}
