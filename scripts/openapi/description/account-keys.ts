import { emptyAnswer, jsonAnswer, type RouteDescription } from "./description.ts";
import { ACCOUNT, SHA256 } from "./examples.ts";
import { AccountKey, NewAccountKey } from "./schemas/account.ts";
import * as z from "zod/mini";

const KEY = {
  id: "0b6f4c5e-3d0f-4c53-9a57-6f0a2f9d8e11",
  name: "9f86d081",
  prefix: "rk_acme_3q2",
  label: "web server",
  role: "full" as const,
  created_at: ACCOUNT.created_at,
};

/** Descriptions of the routes that create, list and revoke the API keys of accounts. */
export const ACCOUNT_KEY_ROUTES = {
  createKey: {
    audience: "operator",
    summary: "Create an API key, shown once, or import one by its SHA-256",
    request: {
      example: { label: "web server", role: "full" },
      fields: {
        label: "Note for people, at most 100 characters.",
        role: "`full` (the default) also submits, redelivers, tests and reads secrets; `read` only reads.",
        sha256: `SHA-256 of a key to import, in lower-case hex, e.g. \`${SHA256}\`.`,
      },
    },
    answers: {
      201: jsonAnswer("the key", NewAccountKey, { ...KEY, key: "rk_acme_3q2-7w" }),
    },
    problems: ["not_found", "reference_reused"],
  },
  listKeys: {
    audience: "client",
    summary: "List API keys without the keys themselves",
    answers: {
      200: jsonAnswer("the keys", z.strictObject({ data: z.array(AccountKey) }), { data: [KEY] }),
    },
    problems: ["not_found"],
  },
  revokeKey: {
    audience: "operator",
    summary: "Revoke an API key; it stops working everywhere within about a minute",
    answers: { 204: emptyAnswer("revoked") },
    problems: ["not_found"],
  },
} as const satisfies Readonly<Record<string, RouteDescription>>;
