import * as z from "zod/mini";
import { emptyAnswer, jsonAnswer, type RouteDescription } from "../http/route.openapi.ts";
import { described, maybe, named } from "../shapes/described.ts";
import { OfferForm, OfferPrice } from "./offer-form.openapi.ts";
import { OFFER, OFFER_MEMBERS } from "./read-offers.openapi.ts";

const StoredOffer = named(
  "StoredOffer",
  z.strictObject({
    ...OFFER_MEMBERS,
    seen_within_s: described(
      z.int(),
      "Seconds after which all submissions are priced by this version; until then some may be priced by the one before.",
    ),
  }),
  "An offer after a change.",
);

const Tried = named(
  "TriedOffer",
  z.strictObject({
    offer: described(OfferForm, "The offer as it would be stored."),
    replaces: described(z.nullable(z.int()), "Version that it would replace."),
    try: maybe(
      z.union([
        z.strictObject({
          outcome: z.literal("offered"),
          offer: described(z.string(), "Name of the offer by which the account would pay."),
          reason: described(
            z.strictObject({
              kind: z.enum(["account", "tag", "general"]),
              tag: z.optional(z.string()),
            }),
            "Why this offer comes first: it names the account, or a tag of it, or is for all.",
          ),
          model: z.string(),
          credits: described(z.int(), "Credits that are charged at first."),
          price: z.nullable(OfferPrice),
          final: maybe(
            z.int(),
            "Credits that the job costs in the end, where the call decides it.",
          ),
        }),
        z.strictObject({
          outcome: z.literal("refused"),
          code: described(z.string(), "`code` of the problem that the account would get."),
          detail: z.string(),
          issues: z.optional(z.array(z.strictObject({ path: z.string(), message: z.string() }))),
        }),
      ]),
      "What the submission in `try` would get.",
    ),
  }),
  "What a change of an offer would do.",
);

const STORED: z.output<typeof StoredOffer> = { ...OFFER, seen_within_s: 60 };

export const putOfferDescription = {
  audience: "operator",
  summary: "Create or replace an offer",
  details:
    "A faulty offer is refused as a whole, with each fault. [docs/accounts.md](accounts.md#offers) has the members.",
  request: {
    example: {
      connection: "ark",
      path: "/contents/generations/tasks",
      models: ["doubao-seedance-*"],
      limits: { "/duration": { max: 10 } },
      price: { credits: 60 },
      title: "Seedance 2.0",
    },
    headers: ["If-Match", "If-None-Match"],
    query: {
      dry_run: {
        description:
          "`true`: nothing is stored. The answer says what would be, and what the submission in `try` would get.",
      },
    },
    fields: {
      title: "Name for people, at most 100 characters.",
      description: "Text for people, at most 1,000 characters.",
      accounts:
        "List of the accounts for which the offer is: ids, and `tag:NAME` for all that have the tag. Without it, all.",
      rank: "Whole number from 0 to 10,000, 100 by default: of offers for the same accounts, those with a lower one are compared first, and of equal ones the first by name.",
      connection: "Name of the connection or pool.",
      key: "`customer`: for calls with the customer's own key, and for no others.",
      path: "The upstream's own path; without it, every path that submits jobs.",
      models: "List of names of models; `*` stands for any characters.",
      limits: "Limits by place, e.g. `/duration` or `?n`.",
      price: "Credits, or a price by usage; without it the job is free.",
      uploads: "`true`: accounts may upload files to the connection.",
      body: "JSON Schema of what agents may set; it makes the offer a tool.",
      tool: "Name of the tool.",
      try: "Only with `dry_run`: a submission, with `account` or `tags`, `path` (that of the offer by default), `query`, and `body` or `form` (the text fields of a form).",
    },
  },
  answers: {
    200: jsonAnswer(
      "replaced; it was so already; or, with dry_run, what would happen",
      z.union([StoredOffer, Tried]),
      STORED,
      { ETag: "sometimes" },
    ),
    201: jsonAnswer("created", StoredOffer, STORED, { ETag: "always" }),
  },
  problems: ["offers_in_configuration", "offers_full", "offer_changed"],
} as const satisfies RouteDescription;

export const deleteOfferDescription = {
  audience: "operator",
  summary: "Delete an offer",
  details: "Its versions stay readable, and can be restored.",
  request: { headers: ["If-Match"] },
  answers: { 204: emptyAnswer("deleted") },
  problems: ["not_found", "offers_in_configuration", "offer_changed"],
} as const satisfies RouteDescription;

export const restoreOfferDescription = {
  audience: "operator",
  summary: "Make an earlier version of an offer the present one",
  details: "It becomes a new version. It also brings back a deleted offer.",
  request: { example: {}, headers: ["If-Match", "If-None-Match"] },
  answers: {
    200: jsonAnswer("restored", StoredOffer, STORED, { ETag: "always" }),
    201: jsonAnswer("restored after its deletion", StoredOffer, STORED, { ETag: "always" }),
  },
  problems: ["not_found", "offers_in_configuration", "offers_full", "offer_changed"],
} as const satisfies RouteDescription;
