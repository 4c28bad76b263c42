import * as z from "zod/mini";
import { limit } from "../http/query.openapi.ts";
import { jsonAnswer, type RouteDescription } from "../http/route.openapi.ts";
import { AnyObject, described, maybe, named, pageOf, Time } from "../shapes/described.ts";
import { exampleCall } from "./example-call.ts";
import { OfferForm, OfferPrice } from "./offer-form.openapi.ts";

const Disabled = described(
  z.nullable(z.strictObject({ path: z.string(), message: z.string() })),
  "Why nothing can be submitted by the offer, e.g. because its connection was removed; null when something can.",
);

const CHANGE = {
  version: described(
    z.int(),
    "Number of the change that has made the offer so. It rises with each change of any offer.",
  ),
  changed_at: Time,
  changed_by: maybe(z.string(), "Name of the key that made the change."),
};

const Form = described(
  z.nullable(OfferForm),
  "The offer, as `PUT` takes it; null when it cannot be read.",
);

export const OFFER_MEMBERS = {
  name: z.string(),
  version: maybe(CHANGE.version, "Version of the offer; absent for one of `OFFERS`."),
  changed_at: z.optional(Time),
  changed_by: CHANGE.changed_by,
  disabled: Disabled,
  offer: Form,
};

const Offer = named(
  "Offer",
  z.strictObject(OFFER_MEMBERS),
  "An offer: which jobs accounts may submit, within which limits and for how many credits.",
);

const OfferVersion = z.strictObject({
  ...CHANGE,
  deleted: described(z.boolean(), "Whether the change was the deletion of the offer."),
  disabled: Disabled,
  offer: Form,
});

const FORM: z.output<typeof OfferForm> = {
  name: "seedance",
  title: "Seedance 2.0",
  description: null,
  accounts: null,
  rank: 100,
  connection: "ark",
  key: null,
  path: "/contents/generations/tasks",
  models: ["doubao-seedance-*"],
  limits: { "/duration": { values: null, min: 0, max: 10, optional: false } },
  price: { credits: 60 },
  uploads: false,
  body: null,
  tool: null,
};

const CHANGED = { version: 42, changed_at: 1_767_225_600, changed_by: "main" };

/** Example of an offer, for the description of the API. */
export const OFFER: z.output<typeof Offer> = {
  name: "seedance",
  ...CHANGED,
  disabled: null,
  offer: FORM,
};

const OwnOffer = named(
  "OwnOffer",
  z.strictObject({
    name: z.string(),
    title: z.nullable(z.string()),
    description: z.nullable(z.string()),
    method: z.literal("POST"),
    path: described(
      z.string(),
      "Path at the relay; a final `*` stands for any path of the upstream.",
    ),
    models: described(z.array(z.string()), "Names of models; `*` stands for any characters."),
    body_schema: described(AnyObject, "JSON Schema of the body, with the limits of the offer."),
    query_schema: described(
      z.nullable(AnyObject),
      "JSON Schema of the parameters of the query; null when there may be none.",
    ),
    price: described(z.nullable(OfferPrice), "What a submission costs; null when it is free."),
    price_text: described(z.string(), "The same in words."),
    example: described(
      z.nullable(z.string()),
      "A command of curl; null when the offer is for every path of an upstream.",
    ),
  }),
  "An offer as the account reads it that pays by it.",
);

const OWN: z.output<typeof OwnOffer> = {
  name: "video",
  title: "Seedance 2.0",
  description: "Videos of 5 or 10 seconds.",
  method: "POST",
  path: "/v1/submit/video",
  models: ["doubao-seedance-2-0-260128"],
  body_schema: {
    type: "object",
    properties: { prompt: { type: "string" }, duration: { type: "integer", enum: [5, 10] } },
    required: ["prompt"],
    additionalProperties: false,
  },
  query_schema: null,
  price: { credits: 60 },
  price_text: "Price: 60 credits, returned if the job fails.",
  example: exampleCall({
    url: "https://relay.example.com/v1/submit/video",
    body: { type: "object", properties: { prompt: { type: "string" } }, required: ["prompt"] },
    query: null,
    headers: {},
    isAsync: false,
  }),
};

/** Explains how the response to a key of an account differs from that to an operator. */
const EITHER =
  "With a key of an account, each offer is an `OwnOffer`: of the offers for the same calls only the one by which the account pays, and nothing of the others. An offer for others is 404, like one that does not exist.";

export const listOffersDescription = {
  audience: "client",
  summary: "List offers: with an account's key, what the account may submit and at which price",
  details: EITHER,
  request: {
    query: {
      limit: limit(500, 50),
      cursor: { description: "`next_cursor` of the page before.", example: "seedance" },
      disabled: { description: "`true`: only offers by which nothing can be submitted." },
    },
  },
  answers: {
    200: jsonAnswer("one page, by name", pageOf(z.union([OwnOffer, Offer])), {
      data: [OWN],
      next_cursor: null,
    }),
  },
  problems: [],
} as const satisfies RouteDescription;

export const readOfferDescription = {
  audience: "client",
  summary: "Read an offer",
  details: EITHER,
  answers: {
    200: jsonAnswer("the offer", z.union([OwnOffer, Offer]), OWN, { ETag: "sometimes" }),
  },
  problems: ["not_found"],
} as const satisfies RouteDescription;

export const listOfferVersionsDescription = {
  audience: "operator",
  summary: "List the last 100 versions of an offer, newest first",
  answers: {
    200: jsonAnswer("the versions", z.strictObject({ data: z.array(OfferVersion) }), {
      data: [{ ...CHANGED, deleted: false, disabled: null, offer: FORM }],
    }),
  },
  problems: ["not_found"],
} as const satisfies RouteDescription;
