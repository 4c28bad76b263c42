import { publicJwk, publicWhpk } from "../security/keyring.ts";
import { json } from "./http/answer.ts";
import { publicRoute, route, requireRuntime } from "./http/route.ts";

export const readSigningSecrets = route(
  {
    method: "GET",
    path: "/v1/signing-secrets",
    access: "administer",
    summary:
      "Read the secrets that receivers verify callbacks with and that your upstream signs events with",
    answers: { 200: "the secrets, newest first" },
    errors: [],
  },
  async ({ runtime }) => {
    const { config, keyring } = runtime;
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
    return json(secrets);
  },
);

export const readJwks = publicRoute(
  {
    method: "GET",
    path: "/.well-known/jwks.json",
    summary: "Read the public keys of the v1a signatures (RFC 7517)",
    answers: { 200: "the key set" },
    errors: [],
  },
  async ({ env }) => {
    const { keyring } = await requireRuntime(env);
    const keys = keyring.signingKeys.map(publicJwk);
    return json({ keys }, 200, {
      "Content-Type": "application/jwk-set+json",
      "Cache-Control": "public, max-age=300",
    });
  },
);
