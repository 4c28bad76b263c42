import * as z from "zod/mini";
import { limit } from "../http/query.openapi.ts";
import { jsonAnswer, type Parameter, type RouteDescription } from "../http/route.openapi.ts";
import { described, Id, maybe, named, pageOf, Time } from "../shapes/described.ts";
import { TASK_ID } from "../shapes/task-shape.openapi.ts";
import { ACCOUNT } from "./accounts.openapi.ts";

const Entry = named(
  "Entry",
  z.strictObject({
    kind: z.enum(["opening", "grant", "adjustment", "charge", "refund", "release"]),
    amount: described(z.int(), "Credits; an adjustment has its sign, and a charge is subtracted."),
    balance: described(z.int(), "Balance after the entry."),
    reference: z.string(),
    task_id: z.optional(Id),
    reason: maybe(z.string(), "Reason of an adjustment."),
    created_at: Time,
    booked_by: maybe(z.string(), "Name of the key that ordered it. Only operators see it."),
  }),
  "An entry of a ledger.",
);

const ENTRY = {
  kind: "charge" as const,
  amount: 12,
  balance: 988,
  reference: "1d2c7b54-3f0a-4f61-8c11-5f1f0a3b9d20",
  task_id: TASK_ID,
  created_at: ACCOUNT.created_at,
};

const GRANT_ENTRY = {
  reference: "invoice-17",
  amount: 1000,
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

export const listGrantsDescription = {
  audience: "client",
  summary: "List grants, newest first",
  request: { query: { limit: limit(200, 50), cursor: CURSOR } },
  answers: {
    200: jsonAnswer("one page", pageOf(Entry), { data: [GRANT_ENTRY], next_cursor: null }),
  },
  problems: ["not_found"],
} as const satisfies RouteDescription;

export const listEntriesDescription = {
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
      bom: {
        description:
          "`true` begins the CSV with a byte order mark, by which Excel recognises UTF-8.",
        example: "true",
      },
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
} as const satisfies RouteDescription;
