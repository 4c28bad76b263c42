import * as z from "zod/mini";
import { formOfPrice, type PriceForm } from "../../config/price.ts";
import { OfferList, type OfferReason } from "../../core/offers/offer-list.ts";
import type { Offer } from "../../core/offers/offer.ts";
import { decidePrice, type Price } from "../../core/record/price-rule.ts";
import type { JsonObject } from "../../core/json.ts";
import type { Caller } from "../../objects/task/caller.ts";
import { submitAdapterOf } from "../../providers/submit-target.ts";
import { AccountId } from "../http/fields.ts";
import { invalidRequest, type Issue, Problem } from "../http/problem.ts";
import { placeRefusal } from "../submit/offer-decision.ts";
import { prepareCall, type SubmitPlace } from "../submit/prepared-call.ts";
import { requireConnection } from "../submit/submit-place.ts";
import { UpstreamCall } from "../submit/upstream-call.ts";
import type { OfferContext } from "./offer-index.ts";
import { buyerOf } from "./offers-of-relay.ts";

/** Schema of a submission that is tried, and not made. */
export const Trial = z.strictObject({
  account: z.optional(AccountId),
  tags: z.optional(z.array(z.string())),
  path: z.optional(z.string()),
  query: z.optional(z.string()),
  body: z.optional(z.record(z.string(), z.unknown())),
  form: z.optional(z.record(z.string(), z.string())),
});
type Trial = z.output<typeof Trial>;

/** Result of a trial: the offer and price that a submission would get, or the reason why it would be refused. */
export type TrialOutcome =
  | {
      readonly outcome: "offered";
      /** Name of the offer by which the account would pay. */
      readonly offer: string;
      readonly reason: OfferReason;
      readonly model: string;
      /** Credits that are charged at first. */
      readonly credits: number;
      readonly price: PriceForm | null;
      /** Credits that the job costs in the end. Absent when the request does not decide them. */
      readonly final?: number;
    }
  | {
      readonly outcome: "refused";
      readonly code: string;
      readonly detail: string;
      readonly issues?: readonly Issue[];
    };

/** Account of a trial that names none. It is no account's id, so that no offer is for it alone. */
const ANYBODY = "";

/**
 * Finds out what a submission at the connection of an offer would cost an account, and by which offer, without making
 * it.
 * @param others the other offers of the relay.
 */
export async function tryOffer(
  offer: Offer,
  others: readonly Offer[],
  trial: Trial,
  context: OfferContext,
): Promise<TrialOutcome> {
  const path = trial.path ?? offer.path;
  if (path === null) {
    throw invalidRequest([
      { path: "/try/path", message: "is required, because the offer has none" },
    ]);
  }
  const account = trial.account ?? ANYBODY;
  const known = account === ANYBODY ? { tags: [] } : await buyerOf(account, context);
  const buyer = { account, tags: trial.tags ?? known.tags };
  const all = [...others, offer].toSorted((a, b) => (a.name < b.name ? -1 : 1));
  const offered = new OfferList(all).offersAt(offer.connection, buyer);
  const offers = offered.at(offer.keyOwner, path);
  if (offers.isEmpty) return refusal("forbidden", placeRefusal(offered, offer));
  const caller: Caller = { kind: "account", id: account, role: "full", key: "try" };
  const source = { offers, reserve: async () => {}, storeForm: null };
  try {
    const place = placeOf(offer, path, context);
    const call = callOf(trial, path, offer);
    const prepared = await prepareCall(call, place, caller, context.runtime, source);
    if (prepared.offer === null) throw new Error("an account has submitted without an offer");
    const { offer: chosen, reason } = prepared.offer;
    const cost = costOf(chosen.price, prepared.parameters);
    return { outcome: "offered", offer: chosen.name, reason, model: prepared.model, ...cost };
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    const { detail, issues } = error.details;
    return { ...refusal(error.code, detail), ...(issues && { issues }) };
  }
}

function refusal(code: string, detail: string) {
  return { outcome: "refused", code, detail } as const;
}

function placeOf(
  { connection: name }: Offer,
  path: string,
  { runtime }: Pick<OfferContext, "runtime">,
): SubmitPlace {
  const connection = requireConnection(name, runtime.config, true);
  const adapter = submitAdapterOf(connection);
  const target = adapter?.target(path) ?? null;
  if (adapter !== null && target !== null) return { connection, credential: null, adapter, target };
  const detail = "A POST to this path starts no job that the relay knows.";
  throw new Problem("not_found", { detail });
}

function callOf({ query = "", body = {}, form }: Trial, path: string, { keyOwner }: Offer) {
  const { headers, body: stream } = form === undefined ? Response.json(body) : responseOf(form);
  return new UpstreamCall("POST", path, query, headers, stream, keyOwner);
}

function responseOf(form: Readonly<Record<string, string>>): Response {
  const data = new FormData();
  for (const [name, text] of Object.entries(form)) data.append(name, text);
  return new Response(data);
}

/**
 * Returns the credits that are charged at first, the price, and what the job would cost in the end where the request
 * itself decides it.
 */
function costOf(price: Price | null, parameters: JsonObject | null) {
  if (price === null) return { credits: 0, price: null };
  const { credits, rule } = price;
  const shown = { credits, price: formOfPrice(price) };
  if (rule?.by !== "field") return shown;
  const { final } = decidePrice(credits, rule, { usage: null, metadata: parameters ?? {} });
  return final.basis === "hold" ? shown : { ...shown, final: final.credits };
}
