import * as z from "zod/mini";
import { jsonAnswer, type RouteDescription } from "../http/route.openapi.ts";
import { named } from "../shapes/described.ts";

const Booking = named(
  "Booking",
  z.strictObject({ reference: z.string(), amount: z.int(), balance: z.int() }),
  "A grant, with the balance after it.",
);

const AdjustmentBooking = named(
  "AdjustmentBooking",
  z.strictObject({
    reference: z.string(),
    amount: z.int(),
    reason: z.string(),
    balance: z.int(),
  }),
  "An adjustment, with the balance after it.",
);

const GRANT = { reference: "invoice-17", amount: 1000 };

const ADJUSTMENT = { reference: "ticket-3", amount: -12, reason: "booked twice" };

export const grantCreditsDescription = {
  audience: "operator",
  summary: "Grant credits, once per reference",
  request: {
    example: GRANT,
    fields: {
      reference: "Name of the grant: 1 to 255 characters, booked once.",
      amount: "Whole credits, at least 1.",
    },
  },
  answers: {
    201: jsonAnswer("granted", Booking, { ...GRANT, balance: 1000 }),
    200: jsonAnswer("the same grant again; nothing changed", Booking, {
      ...GRANT,
      balance: 1000,
    }),
  },
  problems: ["not_found", "reference_reused"],
} as const satisfies RouteDescription;

export const adjustCreditsDescription = {
  audience: "operator",
  summary: "Correct the balance by an amount of either sign, once per reference",
  request: {
    example: ADJUSTMENT,
    fields: {
      reference: "Name of the adjustment: 1 to 255 characters, booked once.",
      amount: "Whole credits of either sign, not 0.",
      reason: "Reason, 1 to 500 characters, which the ledger shows.",
    },
  },
  answers: {
    201: jsonAnswer("booked", AdjustmentBooking, { ...ADJUSTMENT, balance: 988 }),
    200: jsonAnswer("the same adjustment again; nothing changed", AdjustmentBooking, {
      ...ADJUSTMENT,
      balance: 988,
    }),
  },
  problems: ["not_found", "reference_reused"],
} as const satisfies RouteDescription;
