import * as z from "zod/mini";
import type { AccountState } from "../../objects/account/account-object.ts";
import { ledgerObject, profileObject } from "../../objects/object-names.ts";
import { toSeconds } from "../../core/time.ts";
import { log } from "../../lib/log.ts";
import { settingsOf } from "../../objects/account/account-profile.ts";
import { keyNameOf, readerOf } from "../../objects/task/caller.ts";
import { shardsOf } from "../../objects/index/index-shards.ts";
import type { Reader } from "../../core/views/reader.ts";
import { callLedger, forgetAccount } from "./account-client.ts";
import { json } from "../http/answer.ts";
import { queryIndex, requireIndex } from "../search/query-index.ts";
import { listAccountIds, noteAccount } from "../../index-db/account-list.ts";
import { INDEX_TIMEOUT_MS } from "../../index-db/database.ts";
import { withTimeout } from "../../lib/timeout.ts";
import { callObject } from "../http/object-call.ts";
import { Problem } from "../http/problem.ts";
import { pageLimit } from "../http/query.ts";
import { routeOf } from "../http/route.ts";
import pMap from "p-map";
import { NoBody, NoQuery, operation } from "../operation.ts";
import { NewAccount, Settings } from "./account-schemas.ts";

/** Largest number of account ledgers that are read at the same time for one list. */
const CONCURRENCY = 6;

/**
 * Schema of the query of `GET /v1/accounts`, which lists all accounts. The cursor is the id of the last
 * account of the previous page.
 */
const Page = z.strictObject({
  limit: pageLimit({ fallback: 50, max: 200 }),
  cursor: z._default(z.string().check(z.maxLength(64)), ""),
});

/** Creates an account. When an account with this id exists, returns the existing one. */
export const createAccount = operation(
  "createAccount",
  { access: "administer", query: NoQuery, body: NewAccount },
  async ({ env, runtime, caller, body: { id } }) => {
    const { isNew, account } = await callObject(() => ledgerObject(env, id).create());
    if (account.deletedAt !== null) throw idTaken();
    // Logged before the other steps, because a repeated request finds an account that is not new.
    if (isNew) log({ event: "account.create", account: id, by: keyNameOf(caller) });
    // If this call fails, creating the account again makes it again.
    await callObject(() => profileObject(env, id).createProfile(account));
    const shards = shardsOf(env, runtime.config);
    const { createdAt } = account;
    if (shards !== null) {
      await withTimeout(
        "index",
        () => noteAccount(shards.first, { id, createdAt }),
        undefined,
        INDEX_TIMEOUT_MS,
      );
    }
    return { isNew, id, account };
  },
);

export const createAccountRoute = routeOf(
  { method: "POST", path: "/v1/accounts" },
  createAccount,
  ({ isNew, id, account }, { caller }) =>
    json(accountView(id, account, readerOf(caller)), isNew ? 201 : 200),
);

/** Lists one page of all accounts, in the order of their ids. */
const listAccounts = operation(
  "listAccounts",
  { access: "inspect", query: Page, body: NoBody },
  async ({ env, runtime, query: { limit, cursor } }) => {
    const { first } = requireIndex(env, runtime);
    const accounts = await queryIndex(() => listAccountIds(first, cursor, limit));
    return { accounts, next: accounts.length === limit ? (accounts.at(-1)?.id ?? null) : null };
  },
);

export const listAccountsRoute = routeOf(
  { method: "GET", path: "/v1/accounts" },
  listAccounts,
  ({ accounts, next }) => {
    const data = accounts.map(({ id, createdAt }) => ({ id, created_at: toSeconds(createdAt) }));
    return json({ data, next_cursor: next });
  },
);

/**
 * Lists one page of all accounts with their balances. Only the console uses this operation. The balance of an account
 * without a ledger is null.
 */
export const listBalances = operation(
  "listBalances",
  { access: "inspect", query: Page, body: NoBody },
  async ({ env, runtime, query: { limit, cursor } }) => {
    const { first } = requireIndex(env, runtime);
    const found = await queryIndex(() => listAccountIds(first, cursor, limit + 1));
    const accounts = await pMap(
      found.slice(0, limit),
      async (account) => {
        const state = await callObject(() => ledgerObject(env, account.id).describe());
        return { ...account, balance: state?.balance ?? null };
      },
      { concurrency: CONCURRENCY },
    );
    return { accounts, next: found.length > limit ? (accounts.at(-1)?.id ?? null) : null };
  },
);

/** Reads the balance of an account, and when it was created and deleted. */
export const readAccount = operation(
  "readAccount",
  { access: "read", params: ["account"], query: NoQuery, body: NoBody },
  async ({ env, params: { account } }) =>
    await callLedger(env, account, (object) => object.describe()),
);

export const readAccountRoute = routeOf(
  { method: "GET", path: "/v1/accounts/{account}" },
  readAccount,
  (account, { params, caller }) => json(accountView(params.account, account, readerOf(caller))),
);

/**
 * Replaces the settings of an account: its tags, the balance below which the operator is told of it, and its monthly
 * limit.
 */
export const changeAccount = operation(
  "changeAccount",
  { access: "administer", params: ["account"], query: NoQuery, body: Settings },
  async ({ env, params: { account: id }, caller, body }) => {
    const { tags, low_balance: lowBalance, monthly_limit: monthlyLimit } = body;
    const account = await callLedger(env, id, (object) =>
      object.replaceSettings({ tags, lowBalance, monthlyLimit }),
    );
    log({ event: "account.change", account: id, by: keyNameOf(caller) });
    const { settings } = account;
    // If this call fails, a repeated request makes it again.
    if (settings !== undefined) {
      await callObject(() => profileObject(env, id).noteSettings(settings));
    }
    forgetAccount(id);
    return account;
  },
);

export const changeAccountRoute = routeOf(
  { method: "PUT", path: "/v1/accounts/{account}" },
  changeAccount,
  (account, { params, caller }) => json(accountView(params.account, account, readerOf(caller))),
);

/**
 * Returns the problem for an attempt to create an account under the id of a deleted account. Such an id cannot be used
 * again, because the tasks of the deleted account still carry it.
 */
function idTaken(): Problem {
  return new Problem("reference_reused", { detail: "An account with this id was deleted." });
}

/** Returns an account as the API shows it. Only operators see the tags, which may say what an account is to them. */
function accountView(id: string, account: AccountState, reader: Reader) {
  const { balance, monthSpent, createdAt, deletedAt } = account;
  const { tags, lowBalance, monthlyLimit } = settingsOf(account);
  return {
    id,
    balance,
    ...(reader === "operator" && { tags }),
    low_balance: lowBalance,
    monthly_limit: monthlyLimit,
    spent_this_month: monthSpent,
    created_at: toSeconds(createdAt),
    ...(deletedAt !== null && { deleted_at: toSeconds(deletedAt) }),
  };
}
