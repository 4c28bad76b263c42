import * as z from "zod/mini";
import { jsonAnswer, type Parameter, type RouteDescription } from "./description.ts";
import { ACCOUNT, TASK_ID } from "./examples.ts";
import { limit } from "./parameters.ts";
import { AdjustmentBooking, Booking, Entry } from "./schemas/account.ts";
import { pageOf } from "../../../src/api/shapes/described.ts";

const GRANT = { reference: "invoice-17", amount: 1000 };
const ADJUSTMENT = { reference: "ticket-3", amount: -12, reason: "booked twice" };
const ENTRY = {
  kind: "charge" as const,
  amount: 12,
  balance: 988,
  reference: "1d2c7b54-3f0a-4f61-8c11-5f1f0a3b9d20",
  task_id: TASK_ID,
  created_at: ACCOUNT.created_at,
};
const GRANT_ENTRY = {
  ...GRANT,
  kind: "grant" as const,
  balance: 1000,
  created_at: ACCOUNT.created_at,
};

const CURSOR: Parameter = { description: "`next_cursor` of the page before.", example: "1041" };
const CSV = [
  "kind,amount,balance,reference,task_id,reason,created_at",
  `charge,12,988,${ENTRY.reference},${TASK_ID},,${ENTRY.created_at}`,
  "",
].join("\r\n");

/** Descriptions of the routes that book credits and read the ledgers of accounts. */
export const LEDGER_ROUTES = {
  grantCredits: {
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
  },
  adjustCredits: {
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
  },
  listGrants: {
    audience: "client",
    summary: "List grants, newest first",
    request: { query: { limit: limit(200, 50), cursor: CURSOR } },
    answers: {
      200: jsonAnswer("one page", pageOf(Entry), { data: [GRANT_ENTRY], next_cursor: null }),
    },
    problems: ["not_found"],
  },
  listEntries: {
    audience: "client",
    summary: "List all ledger entries, newest first, or export them as CSV or JSON lines",
    request: {
      query: {
        format: { description: "Exports the entries in this format.", example: "csv" },
        limit: {
          description:
            "Largest number of entries on the page: at most 200, by default 50; of an export at most 10,000, which is its default.",
          integer: { min: 1, max: 10_000 },
        },
        cursor: CURSOR,
      },
    },
    answers: {
      200: {
        description: "one page",
        content: {
          "application/json": {
            schema: pageOf(Entry),
            example: { data: [ENTRY], next_cursor: null },
          },
          "text/csv; charset=utf-8": { schema: z.string(), example: CSV },
          "application/jsonl": { schema: z.string(), example: `${JSON.stringify(ENTRY)}\n` },
        },
        headers: { "Content-Disposition": "sometimes", "Next-Cursor": "sometimes" },
      },
    },
    problems: ["not_found"],
  },
} as const satisfies Readonly<Record<string, RouteDescription>>;
