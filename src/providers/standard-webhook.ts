import { type HmacSecret, hmacSecret } from "../security/hmac.ts";
import { verify } from "../security/signature.ts";
import type { Authenticity, Connection, Hook, HookContext } from "./provider.ts";

/** Verifies a hook that is signed with Standard Webhooks (https://www.standardwebhooks.com). */
export async function standardWebhook(
  { headers, body }: Hook,
  { webhookSecret }: Connection,
  { now }: HookContext,
): Promise<Authenticity> {
  if (webhookSecret === null) return "unsigned";
  const secret = await importSecret(webhookSecret);
  if (secret === null) return "refused";
  return (await verify(headers, body, [secret], now)) ? "signed" : "refused";
}

/** Imports the secret of the hooks; null when the text is no secret of Standard Webhooks. */
async function importSecret(text: string): Promise<HmacSecret | null> {
  try {
    return await hmacSecret(text);
  } catch {
    return null;
  }
}
