/**
 * Tokens in hook URLs, which keep strangers from sending hooks. A token is an HMAC over the name of a connection
 * (configured credentials for a provider) and the id of a task, so it is valid only for this connection and this
 * task. The token of a submission also contains and covers the id of the submission; only the upstream has seen it. The
 * relay checks the token of a hook before anything else (api/hooks/hook-url.ts).
 */
import { type Bytes, bytesOf, fromBase64, toBase64Url } from "./encoding.ts";
import { signWithNewest, verifyAny } from "./hmac.ts";

/**
 * Pattern of a token: an HMAC-SHA-256 in base64url without padding, in the token of a submission behind the submission's
 * id and a dot.
 */
const TOKEN = /^(?:([A-Za-z0-9_-]{22})\.)?([A-Za-z0-9_-]{43})$/;

/** A valid token. `submissionId` is the submission to which it belongs; null for that of a registered task. */
export interface HookToken {
  readonly submissionId: string | null;
}

/**
 * Returns the token in the URL to which a provider sends hooks about a task, made with the newest of `keys`.
 * @param connection name of the configured connection to the provider.
 * @param submissionId id of the task's submission; null for a task whose job the relay does not submit.
 */
export async function hookToken(
  connection: string,
  taskId: string,
  submissionId: string | null,
  keys: readonly CryptoKey[],
): Promise<string> {
  const mac = toBase64Url(await signWithNewest(keys, contentOf(connection, taskId, submissionId)));
  return submissionId === null ? mac : `${submissionId}.${mac}`;
}

/**
 * Returns what a token says if it was made for this connection and task with one of `keys`; null for any other token.
 * The token is compared in constant time.
 */
export async function readHookToken(
  token: string,
  connection: string,
  taskId: string,
  keys: readonly CryptoKey[],
): Promise<HookToken | null> {
  const [, submissionId = null, mac] = TOKEN.exec(token) ?? [];
  if (mac === undefined) return null;
  const content = contentOf(connection, taskId, submissionId);
  return (await verifyAny(keys, fromBase64(mac), content)) ? { submissionId } : null;
}

function contentOf(connection: string, taskId: string, submissionId: string | null): Bytes {
  const submission = submissionId === null ? "" : `\n${submissionId}`;
  return bytesOf(`${connection}\n${taskId}${submission}`);
}
