import { json } from "../http/answer.ts";
import { limitOf } from "../http/query.ts";
import { type AuthenticatedRequest, route } from "../http/route.ts";
import { callLedger } from "./account-client.ts";
import { exportEntries } from "./entry-export.ts";
import { entryView, sequenceOf } from "./entry-view.ts";

type Call = AuthenticatedRequest<{ readonly account: string }>;

const LIMITS = { fallback: 50, max: 200 };

export const listGrants = route(
  {
    method: "GET",
    path: "/v1/accounts/{account}/grants",
    access: "ledger",
    summary: "List grants, newest first",
    answers: { 200: "one page" },
    errors: ["not_found"],
  },
  (call) => pageOf(call, "grant"),
);

export const listEntries = route(
  {
    method: "GET",
    path: "/v1/accounts/{account}/entries",
    access: "ledger",
    summary: "List all ledger entries, newest first, or export them as CSV or JSON lines",
    answers: { 200: "one page" },
    errors: ["not_found"],
  },
  (call) => {
    const format = call.url.searchParams.get("format");
    return format === null ? pageOf(call, null) : exportEntries(call, format);
  },
);

/**
 * Answers with one page of the ledger of an account as JSON: only the grants, or with `kind` null all
 * entries.
 */
async function pageOf({ env, url, params }: Call, kind: "grant" | null): Promise<Response> {
  const limit = limitOf(url.searchParams.get("limit"), LIMITS);
  const before = sequenceOf(url.searchParams.get("cursor"));
  const entries = await callLedger(env, params.account, (object) =>
    object.entries(kind, before, limit + 1),
  );
  const page = entries.slice(0, limit);
  const nextCursor = entries.length > limit ? (page.at(-1)?.seq ?? null) : null;
  return json({
    data: page.map(entryView),
    next_cursor: nextCursor === null ? null : String(nextCursor),
  });
}
