import * as z from "zod/mini";
import type { AccountState } from "../../account/account-object.ts";
import { ledgerObject, profileObject } from "../../objects/object-names.ts";
import { toSeconds } from "../../core/time.ts";
import { log } from "../../log.ts";
import { keyNameOf } from "../../task-object/caller.ts";
import { callLedger } from "./account-client.ts";
import { json } from "../http/answer.ts";
import { queryIndex, requireIndex } from "../search/query-index.ts";
import { listAccountIds, noteAccount } from "../../index-db/accounts.ts";
import { INDEX_TIMEOUT_MS } from "../../index-db/database.ts";
import { withTimeout } from "../../timeout.ts";
import { callObject } from "../http/object-call.ts";
import { Problem } from "../http/problem.ts";
import { pageLimit } from "../http/query.ts";
import { queryRoute, route, routeOf } from "../http/route.ts";
import { NoQuery, operation } from "../operation.ts";
import { NewAccount } from "./account-schemas.ts";

/**
 * Schema of the query of `GET /v1/accounts`, which lists all accounts. The cursor is the id of the last
 * account of the previous page.
 */
const Page = z.strictObject({
  limit: pageLimit({ fallback: 50, max: 200 }),
  cursor: z._default(z.string().check(z.maxLength(64)), ""),
});

/** Creates an account, or finds the one that exists under this id. */
export const createAccount = operation(
  { access: "administer", query: NoQuery, body: NewAccount },
  async ({ env, caller, body: { id } }) => {
    // An object that still runs an earlier release answers without `deletedAt`.
    const { isNew, account } = await callObject(() => ledgerObject(env, id).create());
    if (account.deletedAt != null) throw idTaken();
    // Logged before the other steps, because a repeated request finds an account that is not new.
    if (isNew) log({ event: "account.create", account: id, by: keyNameOf(caller) });
    // If this call fails, creating the account again makes it again.
    await callObject(() => profileObject(env, id).createProfile(account));
    const { INDEX_DB: db } = env;
    const { createdAt } = account;
    if (db !== undefined) {
      await withTimeout(
        "index",
        () => noteAccount(db, { id, createdAt }),
        undefined,
        INDEX_TIMEOUT_MS,
      );
    }
    return { isNew, account: accountView(id, account) };
  },
);

export const createAccountRoute = routeOf(
  { id: "createAccount", method: "POST", path: "/v1/accounts" },
  createAccount,
  ({ isNew, account }) => json(account, isNew ? 201 : 200),
);

export const listAccounts = queryRoute(
  {
    id: "listAccounts",
    method: "GET",
    path: "/v1/accounts",
    access: "inspect",
  },
  Page,
  async ({ env, runtime, query: { limit, cursor } }) => {
    const { first } = requireIndex(env, runtime);
    const accounts = await queryIndex(() => listAccountIds(first, cursor, limit));
    const data = accounts.map(({ id, createdAt }) => ({ id, created_at: toSeconds(createdAt) }));
    const next_cursor = data.length === limit ? (data.at(-1)?.id ?? null) : null;
    return json({ data, next_cursor });
  },
);

export const readAccount = route(
  {
    id: "readAccount",
    method: "GET",
    path: "/v1/accounts/{account}",
    access: "read",
  },
  async ({ env, params: { account: id } }) => {
    const account = await callLedger(env, id, (object) => object.describe());
    return json(accountView(id, account));
  },
);

/**
 * Builds the problem for creating an account whose id belonged to a deleted account. Such an id cannot be
 * used again, because the tasks of the deleted account still carry it.
 */
function idTaken(): Problem {
  return new Problem("reference_reused", { detail: "An account with this id was deleted." });
}

function accountView(id: string, { balance, createdAt, deletedAt }: AccountState) {
  const deleted = deletedAt == null ? {} : { deleted_at: toSeconds(deletedAt) };
  return { id, balance, created_at: toSeconds(createdAt), ...deleted };
}
