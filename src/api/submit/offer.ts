import { isModelOf } from "../../core/offers/model-glob.ts";
import type { Limit, Offer, UpstreamKeyOwner } from "../../core/offers/offer.ts";
import type { BuyersOffer } from "../../core/offers/offer-list.ts";
import type { Found } from "./json-body.ts";

/**
 * The parts of an account's submission that are known before its body is read: connection, path, and whose key it uses.
 * They decide which offers may apply to it.
 */
export interface OfferPlace {
  readonly connection: string;
  readonly keyOwner: UpstreamKeyOwner;
  /** Path of the submission below the base URL of the connection, exactly as the request spells it. */
  readonly path: string;
}

/**
 * The parts of an account's submission that decide which offer applies to it, and whether it is within the limits of
 * the offer.
 */
export interface OfferRequest extends OfferPlace {
  /** Model of the submission. Null when the request has none, or has it only in a body that the relay does not read. */
  readonly model: string | null;
  /** True when the values of all members are texts, as in a form. */
  readonly areTexts: boolean;
  /** Returns the member of the body at one of the `watchedPointers`; undefined when the body does not have it. */
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

const ANY_MODEL = "*";

/**
 * Returns those of a buyer's offers at a connection that are for a path and an owner of the key; a refusal when there is
 * none.
 * @param offers the buyer's offers at the connection, in the order in which a request is compared with them.
 */
export function offersAt(
  offers: readonly BuyersOffer[],
  { connection, keyOwner, path }: OfferPlace,
): { readonly kind: "offers"; readonly offers: readonly BuyersOffer[] } | Refused {
  if (offers.length === 0) return refused(`Nothing is offered at ${connection}.`);
  const ofOwner = offers.filter(({ offer }) => offer.keyOwner === keyOwner);
  if (ofOwner.length === 0) return refused(ownerRefusal({ connection, keyOwner }));
  const ofPath = ofOwner.filter(({ offer }) => offer.path === null || offer.path === path);
  if (ofPath.length === 0) return refused(`Nothing is offered at this path of ${connection}.`);
  return { kind: "offers", offers: ofPath };
}

/**
 * Decides whether an account may submit a request, and by which offer. The first offer for the request's connection,
 * path, model and owner of the key decides: a request outside the limits of this offer is refused even if a later offer
 * would permit it.
 * @param offers the account's offers at the connection, in the order in which a request is compared with them.
 */
export function decideOffer(offers: readonly BuyersOffer[], request: OfferRequest): OfferDecision {
  const found = offersAt(offers, request);
  if (found.kind === "refused") return found;
  const first = found.offers.find(({ offer }) => isForModel(offer, request));
  if (first === undefined) return refused(modelRefusal(request));
  const { offer } = first;
  const faults = offer.limits.map((limit) => faultOf(limit, request));
  const fault = faults.find((each) => each !== null) ?? unnamedParameter(offer, request);
  if (fault !== null) return refused(`The offer for this request limits it: ${fault}.`);
  return { kind: "offered", ...first };
}

/**
 * Returns the JSON Pointers of the members that offers limit, and of the objects around them. These members are needed
 * to decide about a request with a JSON body.
 */
export function watchedPointers(offers: readonly BuyersOffer[]): readonly string[] {
  const limits = offers.flatMap(({ offer }) => offer.limits);
  return [...new Set(limits.filter(isOfBody).flatMap(({ pointer }) => wayTo(pointer)))];
}

/** Tells whether the body of a request decides which of these offers apply to it, or whether it is within their limits. */
export function dependOnBody(offers: readonly BuyersOffer[]): boolean {
  return !offers.every(({ offer }) => isForAnyBody(offer));
}

function isForAnyBody({ models, limits }: Offer): boolean {
  return models.every((glob) => glob === ANY_MODEL) && !limits.some(isOfBody);
}

function isForModel({ models }: Offer, { model }: OfferRequest): boolean {
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

/** Tells whether a limit concerns a member of the body. If not, it concerns a parameter of the query. */
function isOfBody({ pointer }: Limit): boolean {
  return pointer.startsWith("/");
}

/**
 * Returns the JSON Pointer of a member after the pointers of all objects that contain it, the outermost first: `/a` and
 * `/a/b` for `/a/b`.
 */
function wayTo(pointer: string): readonly string[] {
  const names = pointer.split("/").slice(1);
  return names.map((_, i) => `/${names.slice(0, i + 1).join("/")}`);
}

function refused(detail: string): Refused {
  return { kind: "refused", detail };
}
