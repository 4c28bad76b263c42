import type { Offer, OfferedTool } from "../../core/offers/offer.ts";
import { accountOf } from "../../objects/task/caller.ts";
import type { Connection } from "../../providers/provider.ts";
import { Problem } from "../http/problem.ts";
import type { Call } from "../operation.ts";
import { disabledConnection } from "../tasks/connection.ts";
import { buyerAmong, offersOfRelay } from "./offers-of-relay.ts";
import { unknownOffer } from "./read-offers.ts";

/** An offer with a body, and the connection at which its jobs are submitted. */
interface OfferWithBody {
  readonly offer: Offer;
  readonly tool: OfferedTool;
  readonly connection: Connection;
}

type Asking = Pick<Call<"offer", unknown, unknown>, "caller" | "env" | "runtime">;

/**
 * Returns the offer of this name by which the caller may submit jobs. An account keeps the use of a general offer's name
 * when it gets an offer of its own for the same model: which offer prices the job is decided as for any other call.
 * @throws Problem `not_found`, in the same words for an offer that is only for others and for none; `not_configured` when
 * the connection of the offer is disabled.
 */
export async function requireOffer(name: string, asking: Asking): Promise<OfferWithBody> {
  const { runtime } = asking;
  const offer = await usableOffer(name, asking);
  if (offer === null) throw unknownOffer();
  const { tool } = offer;
  if (tool === null) {
    const path = `/v1/submit/${offer.connection}${offer.path ?? "/…"}`;
    const detail = `The offer ${JSON.stringify(name)} has no body: send the upstream's own call to ${path}.`;
    throw new Problem("not_found", { detail });
  }
  const connection = runtime.config.connections.get(offer.connection);
  if (connection === undefined) throw unusable(offer, asking);
  return { offer, tool, connection };
}

/** Returns the offer of this name, if it is for the caller. */
async function usableOffer(name: string, asking: Asking): Promise<Offer | null> {
  const account = accountOf(asking.caller);
  const offers = await offersOfRelay(asking);
  const offer = offers.named(name);
  if (offer === null || account === null) return offer;
  const own = offers.at(offer.connection, await buyerAmong(offers, account, asking));
  return own.some((each) => each.offer === offer) ? offer : null;
}

/** Returns the problem for an offer whose connection is disabled. An account is not told why. */
function unusable({ name, connection }: Offer, { caller }: Asking): Problem {
  if (accountOf(caller) === null) return disabledConnection(connection);
  const detail = `The offer ${JSON.stringify(name)} is not available at the moment.`;
  return new Problem("not_configured", { detail, headers: { "Retry-After": "60" } });
}
