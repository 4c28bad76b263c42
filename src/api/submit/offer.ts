import { isModelOf } from "../../config/model-glob.ts";
import type { Limit, Offer, UpstreamKeyOwner } from "../../config/offers.ts";
import type { Price } from "../../core/record/price-rule.ts";
import type { Found } from "./json-body.ts";

/**
 * The parts of an account's submission that are known before its body is read: connection, owner of the key, and path.
 * They decide which offers may apply to it.
 */
export interface OfferPlace {
  readonly connection: string;
  readonly keyOwner: UpstreamKeyOwner;
  /** Path of the submission below the base URL of the connection, as the request spells it. */
  readonly path: string;
}

/**
 * The parts of an account's submission that decide which offer applies to it, and whether it is within the limits of
 * the offer.
 */
export interface OfferRequest extends OfferPlace {
  /** Model of the submission. Null when the request names none, or names it only in a multipart body. */
  readonly model: string | null;
  /** True for a multipart body, which the relay does not read. */
  readonly isMultipart: boolean;
  /** Returns the member of the body at one of the `watchedPointers`. Undefined when there is none. */
  readonly member: (pointer: string) => Found | undefined;
  readonly query: URLSearchParams;
  /**
   * Field for the hook URL in the adapter's notation, e.g. `?fal_webhook`: a parameter of the query that no limit needs
   * to name. Empty when the upstream takes none at this path.
   */
  readonly hookField: string;
}

/** Refusal of an account's submission. `detail` is a sentence for the account that says what is not offered. */
interface Refused {
  readonly kind: "refused";
  readonly detail: string;
}

export type OfferDecision = { readonly kind: "offered"; readonly price: Price | null } | Refused;

/**
 * Value of a request that is compared with a limit of an offer; or the statement that the request does not have it, or
 * why it cannot be compared.
 */
type LimitedValue =
  | { readonly kind: "value"; readonly value: unknown }
  | { readonly kind: "absent" }
  | { readonly kind: "fault"; readonly fault: string };

const ANY_MODEL = "*";

/** Returns the offers with this connection, owner of the key and path; a refusal when there is none. */
export function offersAt(
  offers: readonly Offer[],
  { connection, keyOwner, path }: OfferPlace,
): { readonly kind: "offers"; readonly offers: readonly Offer[] } | Refused {
  const ofConnection = offers.filter((offer) => offer.connection === connection);
  if (ofConnection.length === 0) return refused(`Nothing is offered at ${connection}.`);
  const ofOwner = ofConnection.filter((offer) => offer.keyOwner === keyOwner);
  if (ofOwner.length === 0) return refused(ownerRefusal({ connection, keyOwner }));
  const ofPath = ofOwner.filter((offer) => offer.path === null || offer.path === path);
  if (ofPath.length === 0) return refused(`Nothing is offered at this path of ${connection}.`);
  return { kind: "offers", offers: ofPath };
}

/**
 * Decides whether an account may submit a request, and at which price. The first offer with the connection, the owner of
 * the key, the path and the model of the request decides: a request outside its limits is refused even if a later offer
 * would permit it.
 */
export function decideOffer(offers: readonly Offer[], request: OfferRequest): OfferDecision {
  const found = offersAt(offers, request);
  if (found.kind === "refused") return found;
  const first = found.offers.find((offer) => isForModel(offer, request));
  if (first === undefined) return refused(modelRefusal(request));
  const faults = first.limits.map((limit) => faultOf(limit, request));
  const fault = faults.find((each) => each !== null) ?? unnamedParameter(first, request);
  if (fault !== null) return refused(`The offer for this request limits it: ${fault}.`);
  return { kind: "offered", price: first.price };
}

/**
 * Returns the JSON Pointers of the members that the offers of a connection limit, and of the objects around them.
 * A decision about a request with a JSON body needs these members.
 */
export function watchedPointers(offers: readonly Offer[], connection: string): readonly string[] {
  const limits = offers.flatMap((offer) => (offer.connection === connection ? offer.limits : []));
  return [...new Set(limits.filter(isOfBody).flatMap(({ pointer }) => wayTo(pointer)))];
}

/**
 * Tells whether an offer is for the model of a request. The relay does not read a multipart body, so only an offer for
 * any model and without limits of the body is for such a request.
 */
function isForModel({ models, limits }: Offer, { model, isMultipart }: OfferRequest): boolean {
  if (isMultipart) return models.every((glob) => glob === ANY_MODEL) && !limits.some(isOfBody);
  return models.some((glob) => (model === null ? glob === ANY_MODEL : isModelOf(glob, model)));
}

function ownerRefusal({
  connection,
  keyOwner,
}: Pick<OfferPlace, "connection" | "keyOwner">): string {
  return keyOwner === "customer"
    ? `Nothing is offered at ${connection} with a key of your own.`
    : `${connection} is offered only with a key of your own: send it in the header of the upstream, and the key of the relay in Relay-Key.`;
}

function modelRefusal({ connection, model, isMultipart }: OfferRequest): string {
  const place = `at this path of ${connection}`;
  if (isMultipart) return `No multipart body is offered ${place}.`;
  return model === null
    ? `The request names no model, and only certain models are offered ${place}.`
    : `The model of the request is not offered ${place}.`;
}

/** Returns how a request violates a limit of an offer, as the rest of a sentence. Null when it does not. */
function faultOf(limit: Limit, request: OfferRequest): string | null {
  const { pointer, isOptional } = limit;
  const found = isOfBody(limit) ? memberAt(pointer, request) : parameterAt(pointer, request);
  if (found.kind === "fault") return found.fault;
  const demand = `${pointer} must be ${describeRule(limit)}`;
  if (found.kind === "absent") return isOptional ? null : `${demand}, and is missing`;
  return isWithin(limit, found.value) ? null : demand;
}

/**
 * Finds the value of a limit in the body of a request. Every value on the path to it must be an object, because the
 * relay would not find it inside a list.
 */
function memberAt(pointer: string, { member }: OfferRequest): LimitedValue {
  const around = wayTo(pointer).slice(0, -1);
  const wrong = around.find((each) => (member(each)?.kind ?? "object") !== "object");
  if (wrong !== undefined) return { kind: "fault", fault: `${wrong} must be an object` };
  const found = member(pointer);
  if (found === undefined) return { kind: "absent" };
  return { kind: "value", value: found.kind === "scalar" ? found.value : undefined };
}

/** Finds the value of a limit among the parameters of the query, in which numbers, true and false are texts. */
function parameterAt(pointer: string, { query }: OfferRequest): LimitedValue {
  const [value, ...others] = query.getAll(pointer.slice(1));
  if (others.length > 0) return { kind: "fault", fault: `${pointer} must not be given twice` };
  return value === undefined ? { kind: "absent" } : { kind: "value", value };
}

/**
 * Returns a fault, as the rest of a sentence, when the query of a request has a parameter that no limit of the offer
 * names. Null when it has none.
 */
function unnamedParameter({ limits }: Offer, { query, hookField }: OfferRequest): string | null {
  const named = new Set([hookField, ...limits.map(({ pointer }) => pointer)]);
  const unnamed = [...query.keys()].map((name) => `?${name}`).find((each) => !named.has(each));
  return unnamed === undefined ? null : `${unnamed} must be left out`;
}

function isWithin(limit: Limit, value: unknown): boolean {
  const { values, min, max } = limit;
  const isText = !isOfBody(limit);
  if (values !== null) return values.some((each) => (isText ? String(each) : each) === value);
  const number = isText ? decimalOf(value) : value;
  if (typeof number !== "number" || !Number.isFinite(number)) return false;
  return number >= (min ?? number) && number <= (max ?? number);
}

/**
 * Returns the number that a text spells in decimal digits. Only the shortest spelling is accepted: null for others,
 * e.g. `010` and `1e1`, because the upstream may read them as another number.
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

/** Tells whether a limit is about a member of the body, and not about a parameter of the query. */
function isOfBody({ pointer }: Limit): boolean {
  return pointer.startsWith("/");
}

/**
 * Returns the JSON Pointer of a member, preceded by the pointers of all objects that contain it, the outermost first:
 * `/a` and `/a/b` for `/a/b`.
 */
function wayTo(pointer: string): readonly string[] {
  const names = pointer.split("/").slice(1);
  return names.map((_, i) => `/${names.slice(0, i + 1).join("/")}`);
}

function refused(detail: string): Refused {
  return { kind: "refused", detail };
}
