import * as z from "zod/mini";
import type { StoredEntry } from "../../objects/account/entry-table.ts";
import type { Reader } from "../../core/views/reader.ts";
import type { Env } from "../../env.ts";
import { readerOf } from "../../objects/task/caller.ts";
import { json } from "../http/answer.ts";
import { Flag, pageLimit, wholeNumber } from "../http/query.ts";
import { routeOf } from "../http/route.ts";
import { NoBody, operation } from "../operation.ts";
import { callLedger } from "./account-client.ts";
import { exportEntries } from "./entry-export.ts";
import { EntryCursor, entryView } from "./entry-view.ts";

/**
 * Largest number of ledger entries on one page of an export. An export without a `limit` has pages of this size.
 */
const MAX_EXPORTED = 10_000;
const LIMITS = { fallback: 50, max: 200 };
const LIMIT_MESSAGE = `must be a whole number from 1 to ${LIMITS.max}, or to ${MAX_EXPORTED} with format`;

/** Schema of the query of `GET /v1/accounts/{account}/grants`, which lists the grants of an account page by page. */
const GrantPage = z.strictObject({ limit: pageLimit(LIMITS), cursor: EntryCursor });

/**
 * Query of `GET /v1/accounts/{account}/entries`. A query with a `format` asks for an export, whose pages may be
 * larger.
 */
const EntryPage = z
  .strictObject({
    format: z.optional(z.enum(["csv", "jsonl"], "must be csv or jsonl")),
    limit: z.optional(wholeNumber(1, MAX_EXPORTED, LIMIT_MESSAGE)),
    cursor: EntryCursor,
    bom: Flag,
  })
  .check(
    z.refine(({ format, bom }) => !bom || format === "csv", {
      path: ["bom"],
      message: "must be left out without format=csv",
    }),
    z.refine(({ format, limit = 1 }) => format !== undefined || limit <= LIMITS.max, {
      path: ["limit"],
      message: LIMIT_MESSAGE,
    }),
  );

/** Lists one page of the grants of an account, newest first. */
const listGrants = operation(
  "listGrants",
  {
    access: "ledger",
    rateLimit: "LIMIT_LISTS",
    params: ["account"],
    query: GrantPage,
    body: NoBody,
  },
  async ({ env, params: { account }, query }) => await pageOf(env, account, "grant", query),
);

export const listGrantsRoute = routeOf(
  { method: "GET", path: "/v1/accounts/{account}/grants" },
  listGrants,
  (page, { caller }) => json(pageView(page, readerOf(caller))),
);

const ENTRIES = {
  access: "ledger",
  rateLimit: "LIMIT_LISTS",
  params: ["account"],
  query: EntryPage,
  body: NoBody,
} as const;

/** Lists one page of the ledger of an account, newest entries first. */
export const listEntries = operation(
  "listEntries",
  ENTRIES,
  async ({ env, params: { account }, query: { limit = LIMITS.fallback, cursor } }) =>
    await pageOf(env, account, null, { limit, cursor }),
);

/** Returns one page of the ledger of an account as a file, in CSV or JSON Lines. */
const exportLedger = operation("exportLedger", ENTRIES, async (call) => {
  const { format = "csv", limit = MAX_EXPORTED, cursor, bom: hasByteOrderMark } = call.query;
  return await exportEntries(call, { format, hasByteOrderMark, limit, cursor });
});

const WIRE = {
  method: "GET",
  path: "/v1/accounts/{account}/entries",
} as const;
const exportRoute = routeOf(WIRE, exportLedger, (response) => response);
const pageRoute = routeOf(WIRE, listEntries, (page, { caller }) =>
  json(pageView(page, readerOf(caller))),
);

export const listEntriesRoute: typeof pageRoute = {
  ...pageRoute,
  handle: async (call) =>
    await (call.url.searchParams.has("format") ? exportRoute : pageRoute).handle(call),
};

/** One page of the ledger of an account. */
export interface LedgerPage {
  readonly entries: readonly StoredEntry[];
  /** Cursor of the next page; null when this page is the last one. */
  readonly next: number | null;
}

/**
 * Reads one page of the ledger of an account.
 * @param kind kind of the entries to read; null for entries of all kinds.
 */
async function pageOf(
  env: Env,
  account: string,
  kind: "grant" | null,
  { limit, cursor }: z.output<typeof GrantPage>,
): Promise<LedgerPage> {
  const found = await callLedger(env, account, (object) => object.entries(kind, cursor, limit + 1));
  const entries = found.slice(0, limit);
  return { entries, next: found.length > limit ? (entries.at(-1)?.seq ?? null) : null };
}

function pageView({ entries, next }: LedgerPage, reader: Reader) {
  return {
    data: entries.map((entry) => entryView(entry, reader)),
    next_cursor: next === null ? null : String(next),
  };
}
