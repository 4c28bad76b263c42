import { bytesOf } from "../../security/encoding.ts";
import { hmacKey, hmacSecret, type HmacSecret } from "../../security/hmac.ts";
import { verify } from "../../security/signature.ts";
import type { Authenticity, Connection, Hook, HookContext } from "../provider.ts";

/** Verifies a hook that is signed by the rules of Standard Webhooks (https://www.standardwebhooks.com). */
export function standardWebhook(
  hook: Hook,
  connection: Connection,
  context: HookContext,
): Promise<Authenticity> {
  return verified(hook, connection, context, hmacSecret);
}

/**
 * Verifies a hook that is signed by the rules of Standard Webhooks with one difference: the key is the text of the
 * secret itself, and not the bytes that this text encodes.
 */
export function standardWebhookWithText(
  hook: Hook,
  connection: Connection,
  context: HookContext,
): Promise<Authenticity> {
  return verified(hook, connection, context, async (text) => ({
    text,
    key: await hmacKey(bytesOf(text)),
  }));
}

async function verified(
  { headers, readBody }: Hook,
  { webhookSecret }: Connection,
  { now }: HookContext,
  importSecret: (text: string) => Promise<HmacSecret>,
): Promise<Authenticity> {
  if (webhookSecret === null) return "unsigned";
  // The import fails when the text is not a secret and, in some runtimes, when it is empty.
  const secret = webhookSecret === "" ? null : await importSecret(webhookSecret).catch(() => null);
  if (secret === null) return "refused";
  return (await verify(headers, readBody, [secret], now)) ? "signed" : "refused";
}
