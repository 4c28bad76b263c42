import * as z from "zod/mini";
import { jsonAnswer, type RouteDescription } from "../http/route.openapi.ts";
import { described, maybe } from "../shapes/described.ts";

export const SECRET = "whsec_c2FtcGxlLW9ubHktc2lnbmluZy1zZWNyZXQ=";

export const PUBLIC_KEY = "whpk_11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo=";

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

export const readSigningSecretsDescription = {
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
} as const satisfies RouteDescription;

export const readJwksDescription = {
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
} as const satisfies RouteDescription;
