/**
 * Tokens in hook URLs, which keep strangers from sending hooks. A token is an HMAC over the name of a connection
 * (configured credentials for a provider) and the id of a task, so it is valid only for this connection and this
 * task. The relay checks the token of a hook before anything else (api/hooks/hook-url.ts).
 */
import { type Bytes, bytesOf, fromBase64, toBase64Url } from "./encoding.ts";
import { signWithNewest, verifyAny } from "./hmac.ts";

/** Pattern of a token: an HMAC-SHA-256 in base64url without padding. */
const TOKEN = /^[A-Za-z0-9_-]{43}$/;

/**
 * Returns the token in the URL to which a provider sends hooks about a task, made with the newest of `keys`.
 * @param connection name of the configured connection to the provider.
 */
export async function hookToken(
  connection: string,
  taskId: string,
  keys: readonly CryptoKey[],
): Promise<string> {
  return toBase64Url(await signWithNewest(keys, contentOf(connection, taskId)));
}

/**
 * Tells whether a token was made for this connection and task with one of `keys`. The token is compared in constant
 * time.
 */
export async function isHookToken(
  token: string,
  connection: string,
  taskId: string,
  keys: readonly CryptoKey[],
): Promise<boolean> {
  return TOKEN.test(token) && verifyAny(keys, fromBase64(token), contentOf(connection, taskId));
}

function contentOf(connection: string, taskId: string): Bytes {
  return bytesOf(`${connection}\n${taskId}`);
}
