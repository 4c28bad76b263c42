/**
 * Tokens in hook URLs, which keep strangers from posting hooks. The token of a URL is an HMAC over the name
 * of one connection (configured credentials for a provider) and the id of one task, so it is valid for no
 * other connection or task. The relay checks the token of a hook before anything else
 * (api/hooks/hook-url.ts).
 */
import { type Bytes, bytesOf, fromBase64, toBase64Url } from "./encoding.ts";
import { signWithNewest, verifyAny } from "./hmac.ts";

/** Pattern of a token: an HMAC-SHA-256 in base64url without padding. */
const TOKEN = /^[A-Za-z0-9_-]{43}$/;

/**
 * Makes the token in the URL to which a provider posts hooks about a task.
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
 * Tells, in constant time, whether `hookToken` made a token for this connection and task with one of `keys`.
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
