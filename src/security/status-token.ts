/**
 * Tokens of status links. With such a link a browser reads one task without an API key. A token has the form
 * `st_<created>_<expires>_<recorded>_<MAC>`; the MAC is an HMAC over the id of the task and the three times. A token
 * therefore gives access to one task until it expires, and not to a later task with the same id.
 * api/tasks/status-url.ts makes the tokens, and api/tasks/status-token-reading.ts reads a task by a token.
 */
import { type Bytes, bytesOf, fromBase64Url, toBase64Url } from "./encoding.ts";
import { signWithNewest, verifyAny } from "./hmac.ts";

/** Characters with which every status token begins. */
export const STATUS_TOKEN_PREFIX = "st_";
/**
 * Pattern of a status token. It captures all times as one text, which the MAC covers, then each single time, and the
 * MAC.
 */
const TOKEN = /^st_((\d{1,11})_(\d{1,11})_(\d{1,15}))_([\w-]{43})$/;
const MAC_BYTES = 32;

/** The times that a status token contains. */
export interface StatusTimes {
  /** Creation time of the task as its JSON states it (`created_at`), in Unix seconds. */
  readonly createdAtS: number;
  /** Time from which the relay refuses the token, in Unix seconds. */
  readonly expiresAtS: number;
  /**
   * Time at which the relay first stored the task, in Unix milliseconds. It distinguishes two tasks with the same id
   * that were created in the same second.
   */
  readonly recordedAt: number;
}

/** Returns the status token of a task, made with the newest of `keys`. */
export async function statusToken(
  taskId: string,
  { createdAtS, expiresAtS, recordedAt }: StatusTimes,
  keys: readonly CryptoKey[],
): Promise<string> {
  const times = `${createdAtS}_${expiresAtS}_${recordedAt}`;
  const mac = await signWithNewest(keys, contentOf(taskId, times));
  return `${STATUS_TOKEN_PREFIX}${times}_${toBase64Url(mac)}`;
}

/**
 * Returns the times in a status token whose MAC is valid for this task, even if the token has expired. The MAC is
 * compared in constant time. Null when the MAC was made with none of `keys`.
 */
export async function timesOfStatusToken(
  token: string,
  taskId: string,
  keys: readonly CryptoKey[],
): Promise<StatusTimes | null> {
  const [, times = "", createdAtS, expiresAtS, recordedAt, text = null] = TOKEN.exec(token) ?? [];
  const mac = fromBase64Url(text, MAC_BYTES);
  if (mac === null || !(await verifyAny(keys, mac, contentOf(taskId, times)))) return null;
  return {
    createdAtS: Number(createdAtS),
    expiresAtS: Number(expiresAtS),
    recordedAt: Number(recordedAt),
  };
}

function contentOf(taskId: string, times: string): Bytes {
  return bytesOf(`${taskId}\n${times}`);
}
