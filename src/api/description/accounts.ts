import type { RouteDescription } from "./description.ts";

/** Descriptions of the routes of accounts: their ledgers, API keys and callback secrets. */
export const ACCOUNT_ROUTES = {
  createAccount: {
    audience: "operator",
    summary: "Create an account: a tenant with its own API keys, callback secret and credits",
    answers: {
      201: { description: "created" },
      200: { description: "the account existed already" },
    },
    problems: ["reference_reused"],
  },
  listAccounts: {
    audience: "operator",
    summary: "List accounts, from the index",
    answers: {
      200: { description: "one page; ?cursor= takes the next_cursor of the page before" },
    },
    problems: ["index_disabled"],
  },
  readAccount: {
    audience: "client",
    summary: "Read an account and its balance",
    answers: { 200: { description: "the account" } },
    problems: ["not_found"],
  },
  deleteAccount: {
    audience: "operator",
    summary: "Delete an account: its keys end and nothing can be registered for it",
    answers: { 202: { description: "deleted; its ledger is folded to one total later" } },
    problems: ["not_found", "task_open", "index_disabled"],
  },
  grantCredits: {
    audience: "operator",
    summary: "Grant credits, once per reference",
    answers: {
      201: { description: "granted" },
      200: { description: "the same grant again; nothing changed" },
    },
    problems: ["not_found", "reference_reused"],
  },
  adjustCredits: {
    audience: "operator",
    summary: "Correct the balance by an amount of either sign, once per reference",
    answers: {
      201: { description: "booked" },
      200: { description: "the same adjustment again; nothing changed" },
    },
    problems: ["not_found", "reference_reused"],
  },
  listGrants: {
    audience: "client",
    summary: "List grants, newest first",
    answers: { 200: { description: "one page" } },
    problems: ["not_found"],
  },
  listEntries: {
    audience: "client",
    summary: "List all ledger entries, newest first, or export them as CSV or JSON lines",
    answers: { 200: { description: "one page" } },
    problems: ["not_found"],
  },
  createKey: {
    audience: "operator",
    summary: "Create an API key, shown once, or import one by its SHA-256",
    answers: { 201: { description: "the key" } },
    problems: ["not_found", "reference_reused"],
  },
  listKeys: {
    audience: "client",
    summary: "List API keys without the keys themselves",
    answers: { 200: { description: "the keys" } },
    problems: ["not_found"],
  },
  revokeKey: {
    audience: "operator",
    summary: "Revoke an API key; it stops working everywhere within about a minute",
    answers: { 204: { description: "revoked" } },
    problems: ["not_found"],
  },
  readAccountSecrets: {
    audience: "client",
    summary: "Read the secrets that the account's receivers verify callbacks with",
    answers: { 200: { description: "the secrets, newest first" } },
    problems: ["not_found"],
  },
  rotateAccountSecrets: {
    audience: "operator",
    summary: "Create a new callback secret; callbacks are still signed with the previous one too",
    answers: { 200: { description: "the secrets, newest first" } },
    problems: ["not_found"],
  },
} as const satisfies Readonly<Record<string, RouteDescription>>;
