import type { Connection } from "./provider.ts";

/**
 * Tells whether the relay verifies the signatures of a connection's hooks. It does so when the provider signs them and
 * the connection has what is needed to verify them: the API key, the provider's published keys or the webhook secret,
 * depending on the provider. The `assurance` of the provider says what a verified hook proves.
 */
export function areHooksVerified({ provider, key, webhookSecret, jwksUrl }: Connection): boolean {
  const { hooks } = provider;
  if (hooks === null || hooks.assurance === "capability-url") return false;
  if (hooks.isSignedWithKey === true) return key !== null;
  return (provider.jwksUrl === undefined ? webhookSecret : jwksUrl) !== null;
}
