import { emptyAnswer, jsonAnswer, type RouteDescription } from "./description.ts";
import { ACCOUNT, PUBLIC_KEY, SECRET } from "./examples.ts";
import { limit, WINDOW_PARAMETERS } from "./parameters.ts";
import { Account, AccountSecrets, ListedAccount } from "./schemas/account.ts";
import { pageOf } from "../../../src/api/shapes/described.ts";
import { AccountStats } from "./schemas/monitoring.ts";

const SECRETS = { generation: 2, callbacks: [SECRET, SECRET], public_keys: [PUBLIC_KEY] };

/** Descriptions of the routes that create, read and delete accounts and their callback secrets. */
export const ACCOUNT_ROUTES = {
  createAccount: {
    audience: "operator",
    summary: "Create an account: a tenant with its own API keys, callback secret and credits",
    details: "The id of a deleted account is refused with `reference_reused`.",
    request: {
      example: { id: "acme" },
      fields: { id: "Id of the account: 1 to 64 of `A-Z a-z 0-9 _ -`." },
    },
    answers: {
      201: jsonAnswer("created", Account, { ...ACCOUNT, balance: 0 }),
      200: jsonAnswer("the account existed already", Account, ACCOUNT),
    },
    problems: ["reference_reused"],
  },
  listAccounts: {
    audience: "operator",
    summary: "List accounts, from the index",
    request: {
      query: {
        limit: limit(200, 50),
        cursor: { description: "`next_cursor` of the page before.", example: "acme" },
      },
    },
    answers: {
      200: jsonAnswer(
        "one page; ?cursor= takes the next_cursor of the page before",
        pageOf(ListedAccount),
        { data: [{ id: ACCOUNT.id, created_at: ACCOUNT.created_at }], next_cursor: null },
      ),
    },
    problems: ["index_disabled"],
  },
  readAccount: {
    audience: "client",
    summary: "Read an account and its balance",
    answers: { 200: jsonAnswer("the account", Account, ACCOUNT) },
    problems: ["not_found"],
  },
  readAccountStats: {
    audience: "client",
    summary: "Count the tasks of an account and their callbacks by status, in a window of time",
    details: "The window is that of the creation of the tasks, by default the last 7 days.",
    request: { query: WINDOW_PARAMETERS },
    answers: {
      200: jsonAnswer("the counts of at most 10,000 tasks, the newest", AccountStats, {
        since: ACCOUNT.created_at,
        until: ACCOUNT.created_at + 604_800,
        oldest_at: ACCOUNT.created_at + 60,
        is_capped: false,
        tasks: {
          total: 12,
          pending: 0,
          processing: 1,
          completed: 10,
          failed: 1,
          failures: { moderation: 1 },
        },
        callbacks: {
          waiting: 1,
          sending: 0,
          delivered: 10,
          failed: 1,
          attempts: 13,
          success_rate: 0.9091,
        },
      }),
    },
    problems: ["index_disabled"],
  },
  deleteAccount: {
    audience: "operator",
    summary: "Delete an account: its keys end and nothing can be registered for it",
    details:
      "Refused with `task_open` while the index knows open tasks of it, while a task that was charged in the last ten minutes is open, or when more than 20 were charged then, unless `force` is true, which also needs no index. The index knows open tasks from about 30 seconds after their creation.",
    request: {
      query: {
        force: { description: "`true` deletes it in spite of open tasks.", example: true },
      },
    },
    answers: { 202: emptyAnswer("deleted; its ledger is folded to one total later") },
    problems: ["not_found", "task_open", "index_disabled"],
  },
  readAccountSecrets: {
    audience: "client",
    summary: "Read the secrets that the account's receivers verify callbacks with",
    answers: { 200: jsonAnswer("the secrets, newest first", AccountSecrets, SECRETS) },
    problems: ["not_found"],
  },
  rotateAccountSecrets: {
    audience: "operator",
    summary: "Create a new callback secret; callbacks are still signed with the previous one too",
    request: {
      example: { generation: 1 },
      fields: {
        generation:
          "Newest generation that the caller has seen, so that a repeated request rotates once.",
      },
    },
    answers: { 200: jsonAnswer("the secrets, newest first", AccountSecrets, SECRETS) },
    problems: ["not_found"],
  },
} as const satisfies Readonly<Record<string, RouteDescription>>;
