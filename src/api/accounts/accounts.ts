import type { AccountState } from "../../objects/account-object.ts";
import { toSeconds } from "../../core/result.ts";
import { askAccount } from "./account-client.ts";
import { json } from "../answer.ts";
import { Problem } from "../problem.ts";
import { reached } from "../reached.ts";
import { bodyRoute, route } from "../route.ts";
import { NewAccount } from "./account-schemas.ts";

export const createAccount = bodyRoute(
  {
    method: "POST",
    path: "/v1/accounts",
    who: "operator",
    summary: "Create an account: a tenant with its own keys, callback secret and credits",
    answers: { 201: "created", 200: "it exists" },
    errors: [],
  },
  NewAccount,
  async ({ env, body: { id } }) => {
    const { isNew, account } = await reached(() => env.ACCOUNTS.getByName(id).create());
    return json(accountView(id, account), isNew ? 201 : 200);
  },
);

export const listAccounts = route(
  {
    method: "GET",
    path: "/v1/accounts",
    who: "operator",
    summary: "List accounts, from the index",
    answers: {},
    errors: ["index_disabled"],
  },
  async () => {
    throw new Problem("index_disabled", { detail: "Listing needs the index." });
  },
);

export const readAccount = route(
  {
    method: "GET",
    path: "/v1/accounts/{account}",
    who: "owner",
    summary: "Read an account and its balance",
    answers: { 200: "the account" },
    errors: ["not_found"],
  },
  async ({ env, accountId }) => {
    const account = await askAccount(env, accountId, (object) => object.describe());
    return json(accountView(accountId, account));
  },
);

function accountView(id: string, { balance, createdAt }: AccountState) {
  return { id, balance, created_at: toSeconds(createdAt) };
}
