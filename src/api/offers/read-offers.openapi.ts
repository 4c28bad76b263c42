import * as z from "zod/mini";
import { limit } from "../http/query.openapi.ts";
import { jsonAnswer, type RouteDescription } from "../http/route.openapi.ts";
import { described, maybe, named, pageOf, Time } from "../shapes/described.ts";
import { OfferForm } from "./offer-form.openapi.ts";

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

export const listOffersDescription = {
  audience: "operator",
  summary: "List offers",
  request: {
    query: {
      limit: limit(500, 50),
      cursor: { description: "`next_cursor` of the page before.", example: "seedance" },
      disabled: { description: "`true`: only offers by which nothing can be submitted." },
    },
  },
  answers: {
    200: jsonAnswer("one page, by name", pageOf(Offer), { data: [OFFER], next_cursor: null }),
  },
  problems: [],
} as const satisfies RouteDescription;

export const readOfferDescription = {
  audience: "operator",
  summary: "Read an offer",
  answers: { 200: jsonAnswer("the offer", Offer, OFFER, { ETag: "sometimes" }) },
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
