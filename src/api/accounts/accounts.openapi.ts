import * as z from "zod/mini";
import { limit } from "../http/query.openapi.ts";
import { jsonAnswer, type RouteDescription } from "../http/route.openapi.ts";
import { described, maybe, named, pageOf, Time } from "../shapes/described.ts";

/** Example of an account, for the description of the API. */
export const ACCOUNT = {
  id: "acme",
  balance: 988,
  tags: ["resellers"],
  low_balance: 200,
  monthly_limit: null,
  spent_this_month: 12,
  created_at: 1_767_225_600,
};

const Account = named(
  "Account",
  z.strictObject({
    id: z.string(),
    balance: described(z.int(), "Whole credits; negative after an adjustment below zero."),
    tags: maybe(z.array(z.string()), "Names of price lists. Only operators see them."),
    low_balance: described(
      z.nullable(z.int()),
      "Balance below which the operator gets `account.low_balance`.",
    ),
    monthly_limit: described(
      z.nullable(z.int()),
      "Credits that the charges of a month (UTC) may cost.",
    ),
    spent_this_month: described(
      z.int(),
      "What the charges of this month (UTC) cost: their credits, less what was given back of them.",
    ),
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
    201: jsonAnswer("created", Account, {
      ...ACCOUNT,
      balance: 0,
      tags: [],
      low_balance: null,
      spent_this_month: 0,
    }),
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

export const changeAccountDescription = {
  audience: "operator",
  summary: "Set the tags, the low balance and the monthly limit of an account",
  details:
    "The body replaces all three: a member that is left out or null is removed. Charges follow the limit from then on, offers the tags within about a minute.",
  request: {
    example: { tags: ["resellers"], low_balance: 200 },
    fields: {
      tags: "Names of price lists, at most 20, each 1 to 40 of `a-z 0-9 -`. An offer for `tag:NAME` is for all accounts with the tag.",
      low_balance: "Balance below which the operator gets `account.low_balance`, once per fall.",
      monthly_limit:
        "Credits that the charges of a month (UTC) may cost. A charge above it is refused with `monthly_limit`.",
    },
  },
  answers: { 200: jsonAnswer("the account", Account, ACCOUNT) },
  problems: ["not_found"],
} as const satisfies RouteDescription;
