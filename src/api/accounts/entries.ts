import * as z from "zod/mini";
import { readerOf } from "../../task-object/caller.ts";
import { json } from "../http/answer.ts";
import { pageLimit, wholeNumber } from "../http/query.ts";
import { queryRoute } from "../http/route.ts";
import { callLedger } from "./account-client.ts";
import { exportEntries, type LedgerRequest } from "./entry-export.ts";
import { EntryCursor, entryView } from "./entry-view.ts";

/** Largest number of ledger entries on one page of an export, which is also the default. */
const MAX_EXPORTED = 10_000;
const LIMITS = { fallback: 50, max: 200 };
const LIMIT_MESSAGE = `must be a whole number from 1 to ${LIMITS.max}, or to ${MAX_EXPORTED} with format`;

/**
 * Schema of the query of `GET /v1/accounts/{account}/grants`, which lists the grants of an account by pages.
 */
const GrantPage = z.strictObject({ limit: pageLimit(LIMITS), cursor: EntryCursor });

/** Query of `GET /v1/accounts/{account}/entries`. With a format the page is an export, which may be larger. */
const EntryPage = z
  .strictObject({
    format: z.optional(z.enum(["csv", "jsonl"], "must be csv or jsonl")),
    limit: z.optional(wholeNumber(1, MAX_EXPORTED, LIMIT_MESSAGE)),
    cursor: EntryCursor,
  })
  .check(
    z.refine(({ format, limit = 1 }) => format !== undefined || limit <= LIMITS.max, {
      path: ["limit"],
      message: LIMIT_MESSAGE,
    }),
  );

export const listGrants = queryRoute(
  {
    id: "listGrants",
    method: "GET",
    path: "/v1/accounts/{account}/grants",
    access: "ledger",
    rateLimit: "LIMIT_LISTS",
  },
  GrantPage,
  (call) => pageOf(call, "grant", call.query),
);

export const listEntries = queryRoute(
  {
    id: "listEntries",
    method: "GET",
    path: "/v1/accounts/{account}/entries",
    access: "ledger",
    rateLimit: "LIMIT_LISTS",
  },
  EntryPage,
  async (call) => {
    const { format, limit, cursor } = call.query;
    if (format === undefined) {
      return pageOf(call, null, { limit: limit ?? LIMITS.fallback, cursor });
    }
    return exportEntries(call, format, { limit: limit ?? MAX_EXPORTED, cursor });
  },
);

/**
 * Answers with one page of the ledger of an account as JSON: only the grants, or with `kind` null all
 * entries.
 */
async function pageOf(
  { env, params, caller }: LedgerRequest,
  kind: "grant" | null,
  { limit, cursor }: z.output<typeof GrantPage>,
): Promise<Response> {
  const entries = await callLedger(env, params.account, (object) =>
    object.entries(kind, cursor, limit + 1),
  );
  const page = entries.slice(0, limit);
  const nextCursor = entries.length > limit ? (page.at(-1)?.seq ?? null) : null;
  return json({
    data: page.map((entry) => entryView(entry, readerOf(caller))),
    next_cursor: nextCursor === null ? null : String(nextCursor),
  });
}
