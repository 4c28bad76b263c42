import * as z from "zod/mini";
import { jsonAnswer, type RouteDescription } from "../http/route.openapi.ts";
import { described, named } from "../shapes/described.ts";
import { PUBLIC_KEY, SECRET } from "../callbacks/signing-secrets.openapi.ts";

const AccountSecrets = named(
  "AccountSecrets",
  z.strictObject({
    generation: described(z.int(), "Number of the newest secret; each rotation raises it."),
    callbacks: described(z.array(z.string()), "Secrets of the `v1` signatures, newest first."),
    public_keys: described(z.array(z.string()), "Public keys of the `v1a` signatures."),
  }),
  "The secrets that receivers of an account verify callbacks with.",
);

const SECRETS = { generation: 2, callbacks: [SECRET, SECRET], public_keys: [PUBLIC_KEY] };

export const readAccountSecretsDescription = {
  audience: "client",
  summary: "Read the secrets that the account's receivers verify callbacks with",
  answers: { 200: jsonAnswer("the secrets, newest first", AccountSecrets, SECRETS) },
  problems: ["not_found"],
} as const satisfies RouteDescription;

export const rotateAccountSecretsDescription = {
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
} as const satisfies RouteDescription;
