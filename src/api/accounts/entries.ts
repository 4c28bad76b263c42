import { toSeconds } from "../../core/time.ts";
import type { GrantAnswer } from "../../account/ledger-book.ts";
import type { StoredEntry } from "../../account/entry-table.ts";
import { callAccount } from "./account-client.ts";
import { Grant } from "./account-schemas.ts";
import { json } from "../http/answer.ts";
import { invalidRequest, Problem } from "../http/problem.ts";
import { limitOf } from "../http/query.ts";
import { bodyRoute, type AuthenticatedRequest, route } from "../http/route.ts";

const LIMITS = { fallback: 50, max: 200 };
const MAX_CURSOR = Number.MAX_SAFE_INTEGER;

export const grantCredits = bodyRoute(
  {
    method: "POST",
    path: "/v1/accounts/{account}/grants",
    access: "operator",
    summary: "Grant credits, once per reference",
    answers: { 201: "granted", 200: "the same grant again; nothing changed" },
    errors: ["not_found", "reference_reused"],
  },
  Grant,
  async ({ env, params, body }) => {
    const answer = await callAccount<GrantAnswer>(env, params.account, (object) =>
      object.grant(body),
    );
    switch (answer.kind) {
      case "granted":
        return json({ ...body, balance: answer.balance }, 201);
      case "repeated":
        return json({ ...body, balance: answer.balance }, 200);
      case "reference_reused":
        throw new Problem("reference_reused", {
          detail: "Another amount was granted under this reference.",
        });
      case "too_large":
        throw invalidRequest([{ path: "/amount", message: "exceeds what an account can hold" }]);
    }
  },
);

export const listGrants = route(
  {
    method: "GET",
    path: "/v1/accounts/{account}/grants",
    access: "owner",
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
    access: "owner",
    summary: "List all ledger entries, newest first",
    answers: { 200: "one page" },
    errors: ["not_found"],
  },
  (call) => pageOf(call, null),
);

/** Answers with one page of the ledger of an account, of one kind of entry or of all. */
async function pageOf(
  { env, url, params }: AuthenticatedRequest<{ readonly account: string }>,
  kind: "grant" | null,
): Promise<Response> {
  const limit = limitOf(url.searchParams.get("limit"), LIMITS);
  const before = sequenceOf(url.searchParams.get("cursor"));
  const entries = await callAccount(env, params.account, (object) =>
    object.entries(kind, before, limit + 1),
  );
  const page = entries.slice(0, limit);
  const nextCursor = entries.length > limit ? (page.at(-1)?.seq ?? null) : null;
  return json({
    data: page.map(entryView),
    next_cursor: nextCursor === null ? null : String(nextCursor),
  });
}

/** Reads the cursor of a ledger page: the number of the last entry seen. @throws Problem `invalid_request`. */
function sequenceOf(cursor: string | null): number {
  if (cursor === null) return MAX_CURSOR;
  const sequence = Number(cursor);
  if (/^\d{1,16}$/.test(cursor) && sequence >= 1 && sequence <= MAX_CURSOR) return sequence;
  throw invalidRequest([{ path: "/cursor", message: "is not a cursor" }]);
}

function entryView({ kind, reference, amount, balance, taskId, createdAt }: StoredEntry) {
  const task = taskId === null ? {} : { task_id: taskId };
  return { kind, amount, balance, reference, ...task, created_at: toSeconds(createdAt) };
}
