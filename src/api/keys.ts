import { publicJwk, publicWhpk } from "../callback/keyring.ts";
import { json } from "./answer.ts";
import { openRoute, route, requireRelay } from "./route.ts";

export const readSigningSecrets = route(
  {
    method: "GET",
    path: "/v1/signing-secrets",
    who: "operator",
    summary: "What receivers verify callbacks with, and what your upstream signs events with",
    answers: { 200: "the secrets, newest first" },
    errors: [],
  },
  async ({ relay }) => {
    const { config, keyring } = relay;
    const { callbackSecrets, eventsSecrets, signingKeys } = keyring;
    const settlement = keyring.settlementSecrets.map(({ text }) => text);
    const operator = keyring.operatorSecrets.map(({ text }) => text);
    const secrets = {
      callbacks: callbackSecrets.map(({ text }) => text),
      events: eventsSecrets.map(({ text }) => text),
      public_keys: signingKeys.map(publicWhpk),
      ...(config.settlementUrl !== null && { settlement }),
      ...(config.operatorCallbackUrl !== null && { operator }),
    };
    return json(secrets, 200, { "Cache-Control": "no-store" });
  },
);

export const readJwks = openRoute(
  {
    method: "GET",
    path: "/.well-known/jwks.json",
    summary: "Public keys of the v1a signatures (RFC 7517)",
    answers: { 200: "the key set" },
    errors: [],
  },
  async ({ env }) => {
    const { keyring } = await requireRelay(env);
    const keys = keyring.signingKeys.map(publicJwk);
    return json({ keys }, 200, {
      "Content-Type": "application/jwk-set+json",
      "Cache-Control": "public, max-age=300",
    });
  },
);
