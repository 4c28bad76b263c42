import * as z from "zod/mini";
import { jsonAnswer, type RouteDescription } from "../http/route.openapi.ts";
import { WINDOW_PARAMETERS } from "../search/filters.openapi.ts";
import { Count, described, named, Time } from "../shapes/described.ts";

const SPEND = {
  spent: described(z.int(), "What the charges cost: `charged` less `refunded` and `released`."),
  charged: described(z.int(), "Credits that were charged."),
  refunded: described(z.int(), "Credits that were given back because tasks failed."),
  released: described(z.int(), "Credits that were given back because tasks cost less."),
  charges: described(Count, "Number of charged tasks."),
  refunds: described(Count, "Number of refunded tasks."),
};

const AccountSpend = named(
  "AccountSpend",
  z.strictObject({
    since: Time,
    until: Time,
    ...SPEND,
    days: z.array(
      z.strictObject({
        at: described(Time, "Begin of the day."),
        balance: described(z.int(), "Balance at the end of the day, of today the present one."),
        ...SPEND,
      }),
    ),
    models: z.array(
      z.strictObject({
        model: z.string(),
        ...SPEND,
      }),
    ),
  }),
  "What an account has spent, by the ledger.",
);

const EXAMPLE = {
  spent: 55,
  charged: 140,
  refunded: 60,
  released: 25,
  charges: 2,
  refunds: 1,
};
const SINCE_S = 1_767_225_600;

export const readAccountSpendDescription = {
  audience: "client",
  summary: "Read what an account has spent by day and by model, and its balance day by day",
  details:
    "The window consists of whole days (UTC), by default the last 30, at most 366, and begins not before the account. What is given back counts on the day of its charge.",
  request: { query: WINDOW_PARAMETERS },
  answers: {
    200: jsonAnswer(
      "the days, oldest first, and the models, at most 100: those that cost most",
      AccountSpend,
      {
        since: SINCE_S,
        until: SINCE_S + 86_400,
        ...EXAMPLE,
        days: [{ at: SINCE_S, balance: 945, ...EXAMPLE }],
        models: [{ model: "doubao-seedance-2.0", ...EXAMPLE }],
      },
    ),
  },
  problems: ["not_found"],
} as const satisfies RouteDescription;
