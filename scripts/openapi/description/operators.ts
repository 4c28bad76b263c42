import * as z from "zod/mini";
import { jsonAnswer, type RouteDescription } from "./description.ts";
import { PUBLIC_KEY, SECRET } from "./examples.ts";
import { AnyObject, described, maybe } from "../../../src/api/shapes/described.ts";
import { Health, NotConfigured } from "./schemas/health.ts";

const Secrets = z.array(z.string());
const Jwk = z.strictObject({
  kty: z.literal("OKP"),
  crv: z.literal("Ed25519"),
  alg: z.literal("EdDSA"),
  use: z.literal("sig"),
  kid: z.string(),
  x: z.string(),
});
const PUBLIC_X = "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo";

/** Descriptions of the routes about the relay itself: its keys, its state and its pages. */
export const OPERATOR_ROUTES = {
  readSigningSecrets: {
    audience: "operator",
    summary:
      "Read the secrets that receivers verify callbacks with and that your upstream signs events with",
    answers: {
      200: jsonAnswer(
        "the secrets, newest first",
        z.strictObject({
          callbacks: described(Secrets, "Sign the callbacks of tasks without an account (`v1`)."),
          events: described(Secrets, "Sign the events that upstreams report."),
          public_keys: described(Secrets, "Public keys of the `v1a` signatures."),
          settlement: maybe(Secrets, "Sign refunds; present with SETTLEMENT_URL."),
          operator: maybe(Secrets, "Sign operator events; present with OPERATOR_CALLBACK_URL."),
        }),
        { callbacks: [SECRET], events: [SECRET], public_keys: [PUBLIC_KEY] },
      ),
    },
    problems: [],
  },
  readJwks: {
    audience: "client",
    summary: "Read the public keys of the v1a signatures (RFC 7517)",
    answers: {
      200: {
        description: "the key set",
        content: {
          "application/jwk-set+json": {
            schema: z.strictObject({ keys: z.array(Jwk) }),
            example: {
              keys: [
                {
                  kty: "OKP",
                  crv: "Ed25519",
                  alg: "EdDSA",
                  use: "sig",
                  kid: PUBLIC_X,
                  x: PUBLIC_X,
                },
              ],
            },
          },
        },
        headers: {},
      },
    },
    problems: ["not_configured"],
  },
  readHealth: {
    audience: "operator",
    summary: "Report whether the relay is configured; the operator also sees the settings",
    details:
      "Also says which version is deployed (null where the platform names none), and whether the relay is paused. The operator also sees what each connection to a provider needs, and the state of the index.",
    answers: {
      200: jsonAnswer("configured", Health, { status: "ok", version: null, paused: false }),
      503: jsonAnswer(
        "not configured; issues names the variables",
        NotConfigured,
        {
          status: "not_configured",
          issues: [{ path: "RELAY_SECRET", message: "is required" }],
        },
        { "Retry-After": "always" },
      ),
    },
    problems: ["unavailable"],
  },
  readOpenApi: {
    audience: "client",
    summary: "Read this description of the API (OpenAPI 3.1)",
    details: "The callbacks and operator events are its `webhooks`.",
    answers: {
      200: jsonAnswer("the description", AnyObject, { openapi: "3.1.1" }),
    },
    problems: [],
  },
} as const satisfies Readonly<Record<string, RouteDescription>>;
