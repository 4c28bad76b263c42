import { fromBase64, toBase64Url } from "./encoding.ts";

/** HMAC-SHA-256 in base64url without padding. */
const TOKEN = /^[A-Za-z0-9_-]{43}$/;

/** The part of a hook URL that nobody can guess: it belongs to one connection and one task. */
export async function hookToken(
  connection: string,
  taskId: string,
  keys: readonly CryptoKey[],
): Promise<string> {
  const [newest] = keys;
  if (newest === undefined) throw new Error("there is no key for hook tokens");
  const mac = await crypto.subtle.sign("HMAC", newest, contentOf(connection, taskId));
  return toBase64Url(mac);
}

/** Whether a token was made for this connection and task, under any of the keys; in constant time. */
export async function isHookToken(
  token: string,
  connection: string,
  taskId: string,
  keys: readonly CryptoKey[],
): Promise<boolean> {
  if (!TOKEN.test(token)) return false;
  const mac = fromBase64(token);
  const content = contentOf(connection, taskId);
  const checks = keys.map((key) => crypto.subtle.verify("HMAC", key, mac, content));
  return (await Promise.all(checks)).includes(true);
}

function contentOf(connection: string, taskId: string): Uint8Array {
  return new TextEncoder().encode(`${connection}\n${taskId}`);
}
