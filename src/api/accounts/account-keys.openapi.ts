import * as z from "zod/mini";
import { emptyAnswer, jsonAnswer, type RouteDescription } from "../http/route.openapi.ts";
import { described, maybe, named, Time } from "../shapes/described.ts";
import { ACCOUNT } from "./accounts.openapi.ts";

const KEY_FIELDS = {
  id: z.string(),
  name: described(z.string(), "First eight hex digits of the SHA-256 of the key."),
  prefix: described(z.string(), "First characters of the key, by which people tell keys apart."),
  label: z.nullable(z.string()),
  role: z.enum(["read", "full"]),
  created_at: Time,
};

const AccountKey = named(
  "AccountKey",
  z.strictObject({ ...KEY_FIELDS, last_used_at: maybe(Time, "Day of the last use.") }),
  "An API key of an account, without the key itself.",
);

const NewAccountKey = named(
  "NewAccountKey",
  z.strictObject({
    ...KEY_FIELDS,
    last_used_at: z.optional(Time),
    key: maybe(z.string(), "The key, which is never shown again; absent for an imported one."),
  }),
  "A new API key of an account.",
);

const SHA256 = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08";

const KEY = {
  id: "0b6f4c5e-3d0f-4c53-9a57-6f0a2f9d8e11",
  name: "9f86d081",
  prefix: "rk_acme_3q2",
  label: "web server",
  role: "full" as const,
  created_at: ACCOUNT.created_at,
};

export const createKeyDescription = {
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
} as const satisfies RouteDescription;

export const listKeysDescription = {
  audience: "client",
  summary: "List API keys without the keys themselves",
  answers: {
    200: jsonAnswer("the keys", z.strictObject({ data: z.array(AccountKey) }), { data: [KEY] }),
  },
  problems: ["not_found"],
} as const satisfies RouteDescription;

export const revokeKeyDescription = {
  audience: "operator",
  summary: "Revoke an API key; it stops working everywhere within about a minute",
  answers: { 204: emptyAnswer("revoked") },
  problems: ["not_found"],
} as const satisfies RouteDescription;
