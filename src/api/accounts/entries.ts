import { toSeconds } from "../../core/time.ts";
import type { GrantAnswer } from "../../account/ledger-book.ts";
import type { StoredEntry } from "../../account/entry-table.ts";
import { askAccount } from "./account-client.ts";
import { Grant } from "./account-schemas.ts";
import { json } from "../http/answer.ts";
import { invalidRequest, Problem } from "../http/problem.ts";
import { bodyRoute, type AuthenticatedRequest, route } from "../http/route.ts";

const DEFAULT_LIMIT = 50;
const MAX_LIMIT = 200;
const MAX_CURSOR = Number.MAX_SAFE_INTEGER;

export const grantCredits = bodyRoute(
  {
    method: "POST",
    path: "/v1/accounts/{account}/grants",
    access: "operator",
    summary: "Give credits, once per reference",
    answers: { 201: "granted", 200: "the same grant again" },
    errors: ["not_found", "reference_reused"],
  },
  Grant,
  async ({ env, accountId, body }) => {
    const answer = await askAccount<GrantAnswer>(env, accountId, (object) => object.grant(body));
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
    answers: { 200: "a page" },
    errors: ["not_found"],
  },
  (call) => pageOf(call, "grant"),
);

export const listEntries = route(
  {
    method: "GET",
    path: "/v1/accounts/{account}/entries",
    access: "owner",
    summary: "List what was booked, newest first",
    answers: { 200: "a page" },
    errors: ["not_found"],
  },
  (call) => pageOf(call, null),
);

async function pageOf(call: AuthenticatedRequest<null>, kind: "grant" | null): Promise<Response> {
  const { env, url, accountId } = call;
  const limit = integerOf(url.searchParams, "limit", DEFAULT_LIMIT, MAX_LIMIT);
  const before = integerOf(url.searchParams, "cursor", MAX_CURSOR, MAX_CURSOR);
  const entries = await askAccount(env, accountId, (object) =>
    object.entries(kind, before, limit + 1),
  );
  const page = entries.slice(0, limit);
  const nextCursor = entries.length > limit ? (page.at(-1)?.seq ?? null) : null;
  return json({
    data: page.map(entryView),
    next_cursor: nextCursor === null ? null : String(nextCursor),
  });
}

/** @throws Problem `invalid_request` when the parameter is not a whole number from 1 to `max`. */
function integerOf(query: URLSearchParams, name: string, fallback: number, max: number): number {
  const text = query.get(name);
  if (text === null) return fallback;
  const value = Number(text);
  if (/^\d{1,16}$/.test(text) && value >= 1 && value <= max) return value;
  const message = name === "limit" ? `must be a whole number from 1 to ${max}` : "is not a cursor";
  throw invalidRequest([{ path: `/${name}`, message }]);
}

function entryView({ kind, reference, amount, balance, taskId, createdAt }: StoredEntry) {
  const task = taskId === null ? {} : { task_id: taskId };
  return { kind, amount, balance, reference, ...task, created_at: toSeconds(createdAt) };
}
