import * as z from "zod/mini";
import { limit } from "../http/query.openapi.ts";
import { jsonAnswer, type RouteDescription } from "../http/route.openapi.ts";
import { described, named, pageOf, Time } from "../shapes/described.ts";

/** Example of an account, for the description of the API. */
export const ACCOUNT = { id: "acme", balance: 988, created_at: 1_767_225_600 };

const Account = named(
  "Account",
  z.strictObject({
    id: z.string(),
    balance: described(z.int(), "Whole credits; negative after an adjustment below zero."),
    created_at: Time,
    deleted_at: z.optional(Time),
  }),
  "An account: a tenant with API keys, a callback secret and credits of its own.",
);

const ListedAccount = z.strictObject({ id: z.string(), created_at: Time });

export const createAccountDescription = {
  audience: "operator",
  summary: "Create an account: a tenant with its own API keys, callback secret and credits",
  details: "The id of a deleted account is refused with `reference_reused`.",
  request: {
    example: { id: "acme" },
    fields: { id: "Id of the account: 1 to 64 of `A-Z a-z 0-9 _ -`." },
  },
  answers: {
    201: jsonAnswer("created", Account, { ...ACCOUNT, balance: 0 }),
    200: jsonAnswer("the account existed already", Account, ACCOUNT),
  },
  problems: ["reference_reused"],
} as const satisfies RouteDescription;

export const listAccountsDescription = {
  audience: "operator",
  summary: "List accounts, from the index",
  request: {
    query: {
      limit: limit(200, 50),
      cursor: { description: "`next_cursor` of the page before.", example: "acme" },
    },
  },
  answers: {
    200: jsonAnswer(
      "one page; ?cursor= takes the next_cursor of the page before",
      pageOf(ListedAccount),
      { data: [{ id: ACCOUNT.id, created_at: ACCOUNT.created_at }], next_cursor: null },
    ),
  },
  problems: ["index_disabled"],
} as const satisfies RouteDescription;

export const readAccountDescription = {
  audience: "client",
  summary: "Read an account and its balance",
  answers: { 200: jsonAnswer("the account", Account, ACCOUNT) },
  problems: ["not_found"],
} as const satisfies RouteDescription;
