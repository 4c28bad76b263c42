import { isOfBody, wayTo } from "../../core/offers/limit-pointer.ts";
import type { BuyersOffer, ConnectionOffers, PlacedOffers } from "../../core/offers/offer-list.ts";
import type { Limit, Offer, UpstreamKeyOwner } from "../../core/offers/offer.ts";
import type { Found } from "./json-body.ts";

/** The connection of an account's submission, and whose key it uses. */
interface OfferPlace {
  readonly connection: string;
  readonly keyOwner: UpstreamKeyOwner;
}

/**
 * The parts of an account's submission that decide which offer applies to it, and whether it is within the limits of
 * the offer.
 */
export interface OfferRequest extends Pick<OfferPlace, "connection"> {
  /** Model of the submission. Null when the request has none, or has it only in a body that the relay does not read. */
  readonly model: string | null;
  /** True when the values of all members are texts, as in a form. */
  readonly areTexts: boolean;
  /** Returns the member of the body at one of the offers' `limitedPointers`; undefined when the body does not have it. */
  readonly member: (pointer: string) => Found | undefined;
  readonly query: URLSearchParams;
  /**
   * Field for the hook URL in the adapter's notation, e.g. `?fal_webhook`. If it is a parameter of the query, an
   * account may use it although no limit of the offer names it. Empty when the upstream accepts no hook URL at this
   * path.
   */
  readonly hookField: string;
}

/** Refusal of an account's submission. `detail` is a sentence that tells the account what is not offered. */
interface Refused {
  readonly kind: "refused";
  readonly detail: string;
}

export type OfferDecision = ({ readonly kind: "offered" } & BuyersOffer) | Refused;

/**
 * The value in a request that is compared with a limit of an offer; or the fact that the request has no such value, or
 * the reason why its value cannot be compared.
 */
type LimitedValue =
  | { readonly kind: "value"; readonly value: unknown }
  | { readonly kind: "absent" }
  | { readonly kind: "fault"; readonly fault: string };

/** Says why none of a buyer's offers is for a place, in a sentence for the buyer. */
export function placeRefusal(offers: ConnectionOffers, place: OfferPlace): string {
  const { connection, keyOwner } = place;
  if (offers.all.length === 0) return `Nothing is offered at ${connection}.`;
  const isOfOwner = offers.all.some(({ offer }) => offer.keyOwner === keyOwner);
  return isOfOwner ? `Nothing is offered at this path of ${connection}.` : ownerRefusal(place);
}

/**
 * Decides whether an account may submit a request, and by which offer. The first offer for the model decides: a request
 * outside the limits of this offer is refused even if a later offer would permit it.
 * @param offers the offers of the account for the connection, the path and the owner of the key of the request.
 */
export function decideOffer(offers: PlacedOffers, request: OfferRequest): OfferDecision {
  const first = offers.first(request.model);
  if (first === null) return refused(modelRefusal(request));
  const { offer } = first;
  const faults = offer.limits.map((limit) => faultOf(limit, request));
  const fault = faults.find((each) => each !== null) ?? unnamedParameter(offer, request);
  if (fault !== null) return refused(`The offer for this request limits it: ${fault}.`);
  return { kind: "offered", ...first };
}

function ownerRefusal({ connection, keyOwner }: OfferPlace): string {
  return keyOwner === "customer"
    ? `Nothing is offered at ${connection} with a key of your own.`
    : `${connection} is offered only with a key of your own: send it in the header of the upstream, and the key of the relay in Relay-Key.`;
}

function modelRefusal({ connection, model }: OfferRequest): string {
  const place = `at this path of ${connection}`;
  return model === null
    ? `The request names no model, and only certain models are offered ${place}.`
    : `The model of the request is not offered ${place}.`;
}

/** Returns how a request violates a limit of an offer, as the rest of a sentence. @returns null when it does not. */
function faultOf(limit: Limit, request: OfferRequest): string | null {
  const { pointer, isOptional } = limit;
  const found = isOfBody(limit) ? memberAt(pointer, request) : parameterAt(pointer, request);
  if (found.kind === "fault") return found.fault;
  const demand = `${pointer} must be ${describeRule(limit)}`;
  if (found.kind === "absent") return isOptional ? null : `${demand}, and is missing`;
  return isWithin(limit, found.value, request.areTexts) ? null : demand;
}

/**
 * Finds the value for a limit in the body of a request. Everything on the path to the value must be an object, because
 * the relay would not find the value inside a list.
 */
function memberAt(pointer: string, { member }: OfferRequest): LimitedValue {
  const around = wayTo(pointer).slice(0, -1);
  const wrong = around.find((each) => (member(each)?.kind ?? "object") !== "object");
  if (wrong !== undefined) return { kind: "fault", fault: `${wrong} must be an object` };
  const found = member(pointer);
  if (found === undefined) return { kind: "absent" };
  return { kind: "value", value: found.kind === "scalar" ? found.value : undefined };
}

/** Finds the value for a limit among the query's parameters, in which numbers, true and false are texts. */
function parameterAt(pointer: string, { query }: OfferRequest): LimitedValue {
  const [value, ...others] = query.getAll(pointer.slice(1));
  if (others.length > 0) return { kind: "fault", fault: `${pointer} must not be given twice` };
  return value === undefined ? { kind: "absent" } : { kind: "value", value };
}

/**
 * Returns a fault, as the rest of a sentence, when the query of a request has a parameter that no limit of the offer
 * names.
 * @returns null when it has no such parameter.
 */
function unnamedParameter({ limits }: Offer, { query, hookField }: OfferRequest): string | null {
  const named = new Set([hookField, ...limits.map(({ pointer }) => pointer)]);
  const unnamed = [...query.keys()].map((name) => `?${name}`).find((each) => !named.has(each));
  return unnamed === undefined ? null : `${unnamed} must be left out`;
}

/** @param areTexts true when the members of the body are texts, as the parameters of the query always are. */
function isWithin(limit: Limit, value: unknown, areTexts: boolean): boolean {
  const { values, min, max } = limit;
  const isText = areTexts || !isOfBody(limit);
  if (values !== null) return values.some((each) => (isText ? String(each) : each) === value);
  const number = isText ? decimalOf(value) : value;
  if (typeof number !== "number" || !Number.isFinite(number)) return false;
  return number >= (min ?? number) && number <= (max ?? number);
}

/**
 * Returns the number that a text spells in decimal digits.
 * @returns null for any spelling but the shortest, e.g. `010` or `1e1`, because the upstream may read it as another
 * number.
 */
function decimalOf(text: unknown): number | null {
  if (typeof text !== "string" || !/^-?\d+(?:\.\d+)?$/.test(text)) return null;
  const number = Number(text);
  return String(number) === text ? number : null;
}

function describeRule({ values, min, max }: Limit): string {
  if (values !== null) {
    const listed = values.map((value) => JSON.stringify(value)).join(", ");
    return values.length === 1 ? listed : `one of ${listed}`;
  }
  return max === null ? `a number of at least ${min}` : `a number from ${min} to ${max}`;
}

function refused(detail: string): Refused {
  return { kind: "refused", detail };
}
