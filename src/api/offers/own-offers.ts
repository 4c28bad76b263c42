import { formOfPrice, type PriceForm } from "../../config/price.ts";
import type { OfferedTool } from "../../core/offers/offer.ts";
import type { VisibleOffer } from "../../core/offers/visible-offers.ts";
import type { Connection } from "../../providers/provider.ts";
import type { SubmitTarget } from "../../providers/submit.ts";
import { submitTargetOf } from "../../providers/submit-target.ts";
import type { Context } from "../operation.ts";
import { keyHeaderOf } from "../submit/customer-credential.ts";
import { exampleCall } from "./example-call.ts";
import { argumentSchema, callSchema, type JsonSchema, querySchema } from "./offer-schema.ts";
import { visibleOffersTo } from "./offers-of-relay.ts";
import { priceText } from "./price-text.ts";

/**
 * An offer as its customers read it: what they may send, where, and what it costs them. It has nothing of how the
 * operator fulfils it, except the name of the connection where that is part of the path.
 */
export interface OwnOffer {
  readonly name: string;
  readonly title: string | null;
  readonly description: string | null;
  readonly method: "POST";
  /** Path at the relay. `*` stands for the rest of a path, where the offer is for every path of an upstream. */
  readonly path: string;
  /** Names of models, in which `*` stands for any characters. */
  readonly models: readonly string[];
  readonly body_schema: JsonSchema;
  /** Schema of the parameters of the query. Null when there may be none. */
  readonly query_schema: JsonSchema | null;
  /** The price in the form of the offer. Null when a submission costs nothing. */
  readonly price: PriceForm | null;
  readonly price_text: string;
  /** A call as a command of curl. Null when the offer is for every path. */
  readonly example: string | null;
}

/** The parts of an offer that depend on how a customer calls the relay. */
type CallForm = Pick<OwnOffer, "path" | "body_schema" | "query_schema" | "example">;

/** The configuration, and the origin that examples of calls begin with unless `PUBLIC_URL` states another. */
type OwnContext = Pick<Context, "runtime" | "origin">;

/** Returns the offers of an account, as it reads them. */
export async function ownOffers(
  account: string,
  context: OwnContext & Pick<Context, "env">,
): Promise<readonly OwnOffer[]> {
  const visible = await visibleOffersTo(account, context);
  return visible.flatMap((each) => ownOffer(each, context) ?? []);
}

/**
 * Returns an offer as its customer reads it.
 * @returns null when nothing can be submitted by the offer, because its connection is gone, or its path starts no job
 * there.
 */
export function ownOffer(
  visible: VisibleOffer,
  { runtime: { config }, origin: calledOrigin }: OwnContext,
): OwnOffer | null {
  const { name, title, description, tool, price } = visible.offer;
  const connection = config.connections.get(visible.offer.connection);
  const origin = config.publicUrl ?? calledOrigin;
  const form = connection === undefined ? null : formOf(visible, connection, origin);
  if (form === null) return null;
  return {
    name,
    title: title ?? tool?.schema.title ?? null,
    description: description ?? tool?.schema.description ?? null,
    method: "POST",
    path: form.path,
    models: visible.models,
    body_schema: form.body_schema,
    query_schema: form.query_schema,
    price: price && formOfPrice(price),
    price_text: priceText(price),
    example: form.example,
  };
}

/** Returns how a customer submits by an offer. Null when its path starts no job at the connection. */
function formOf(visible: VisibleOffer, connection: Connection, origin: string): CallForm | null {
  const { tool, path } = visible.offer;
  const target = path === null ? null : submitTargetOf(connection, path);
  if (path !== null && target === null) return null;
  return tool === null
    ? callForm(visible, connection, target, origin)
    : argumentForm(visible, tool, origin);
}

/** Returns how a customer sends the arguments of an offer with a body. */
function argumentForm(
  { offer: { name, limits } }: VisibleOffer,
  { schema }: OfferedTool,
  origin: string,
): CallForm {
  const path = `/v1/submit/${name}`;
  const body = argumentSchema(schema, limits);
  const call = { url: `${origin}${path}`, body, query: null, headers: {}, isAsync: false };
  return { path, body_schema: body, query_schema: null, example: exampleCall(call) };
}

/**
 * Returns how a customer sends an upstream's own call.
 * @param target description of the calls at the path of the offer. Null when the offer is for every path.
 */
function callForm(
  { offer, models }: VisibleOffer,
  connection: Connection,
  target: SubmitTarget | null,
  origin: string,
): CallForm {
  const { limits, keyOwner } = offer;
  const path = `/v1/submit/${offer.connection}${offer.path ?? "/*"}`;
  const pointer = target !== null && "pointer" in target.model ? target.model.pointer : null;
  const job = callSchema(limits, pointer, models);
  const body = target?.isListOfOne === true ? listOfOne(job) : job;
  const query = querySchema(limits);
  const headers = keyOwner === "customer" ? customerKeys(connection) : {};
  const isAsync = target?.needsCall === true;
  const call = { url: `${origin}${path}`, body, query, headers, isAsync };
  const example = target === null ? null : exampleCall(call);
  return { path, body_schema: body, query_schema: query, example };
}

function listOfOne(items: JsonSchema): JsonSchema {
  return { type: "array", items, minItems: 1, maxItems: 1 };
}

/** Returns the headers with which a customer with a key of its own at the upstream identifies itself. */
function customerKeys({ provider }: Connection): Readonly<Record<string, string>> {
  if (provider.polls === null) return {};
  const { name, schemes } = keyHeaderOf(provider);
  const [scheme] = schemes;
  const key = scheme === undefined ? "$UPSTREAM_KEY" : `${scheme} $UPSTREAM_KEY`;
  return { [name]: key, "Relay-Key": "$KEY" };
}
