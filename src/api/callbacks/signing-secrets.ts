import { publicJwk, publicWhpk } from "../../security/keyring.ts";
import { json } from "../http/answer.ts";
import { publicRoute, requireRuntime, routeOf } from "../http/route.ts";
import { NoBody, NoQuery, operation } from "../operation.ts";

/**
 * Reads the relay's own secrets: those with which it signs callbacks, and those with which upstreams sign the events
 * that they report.
 */
const readSigningSecrets = operation(
  "readSigningSecrets",
  { access: "administer", query: NoQuery, body: NoBody },
  async ({ runtime }) => {
    const { config, keyring } = runtime;
    const { callbackSecrets, eventsSecrets, signingKeys } = keyring;
    const settlement = keyring.settlementSecrets.map(({ text }) => text);
    const operator = keyring.operatorSecrets.map(({ text }) => text);
    return {
      callbacks: callbackSecrets.map(({ text }) => text),
      events: eventsSecrets.map(({ text }) => text),
      public_keys: signingKeys.map(publicWhpk),
      ...(config.settlementUrl !== null && { settlement }),
      ...(config.operatorCallbackUrl !== null && { operator }),
    };
  },
);

export const readSigningSecretsRoute = routeOf(
  { method: "GET", path: "/v1/signing-secrets" },
  readSigningSecrets,
  (secrets) => json(secrets),
);

export const readJwks = publicRoute(
  {
    id: "readJwks",
    method: "GET",
    path: "/.well-known/jwks.json",
  },
  async ({ env }) => {
    const { keyring } = requireRuntime(env);
    const keys = keyring.signingKeys.map(publicJwk);
    return json({ keys }, 200, {
      "Content-Type": "application/jwk-set+json",
      "Cache-Control": "public, max-age=300",
    });
  },
);
