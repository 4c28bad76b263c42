import { publicJwk, publicWhpk } from "../security/keyring.ts";
import { json } from "./http/answer.ts";
import { publicRoute, route, requireRuntime } from "./http/route.ts";

export const readSigningSecrets = route(
  {
    id: "readSigningSecrets",
    method: "GET",
    path: "/v1/signing-secrets",
    access: "administer",
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
    id: "readJwks",
    method: "GET",
    path: "/.well-known/jwks.json",
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
