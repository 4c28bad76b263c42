/**
 * Tokens of status links, with which a browser reads one task without a key:
 * `st_<created>_<expires>_<recorded>_<MAC>`, in which the MAC is an HMAC over the id of the task and the three
 * times. So a token opens one task until it expires, and no later task under the same id. Tokens of tasks that
 * an earlier release has created lack `<recorded>`.
 */
import { type Bytes, bytesOf, fromBase64Url, toBase64Url } from "./encoding.ts";
import { signWithNewest, verifyAny } from "./hmac.ts";

/** First characters of every status token. */
export const STATUS_TOKEN_PREFIX = "st_";
/**
 * Pattern of a token. It matches the times, joined as the MAC covers them, each of them, and the MAC.
 */
const TOKEN = /^st_((\d{1,11})_(\d{1,11})(?:_(\d{1,15}))?)_([\w-]{43})$/;
const MAC_BYTES = 32;

/** Times of a status token. */
export interface StatusTimes {
  /** Time at which the task was created according to its JSON (`created_at`), in Unix seconds. */
  readonly createdAtS: number;
  /** Time from which the token is refused, in Unix seconds. */
  readonly expiresAtS: number;
  /**
   * Time at which the relay stored the task first, in Unix milliseconds, which tells apart two tasks of the same id
   * and second; null when an earlier release stored it.
   */
  readonly recordedAt: number | null;
}

/** Makes the status token of a task. */
export async function statusToken(
  taskId: string,
  { createdAtS, expiresAtS, recordedAt }: StatusTimes,
  keys: readonly CryptoKey[],
): Promise<string> {
  const times = `${createdAtS}_${expiresAtS}${recordedAt === null ? "" : `_${recordedAt}`}`;
  const mac = await signWithNewest(keys, contentOf(taskId, times));
  return `${STATUS_TOKEN_PREFIX}${times}_${toBase64Url(mac)}`;
}

/**
 * Returns the times of a token, after checking its MAC in constant time; null when none of `keys` made it for
 * this task. The token may have expired.
 */
export async function timesOfStatusToken(
  token: string,
  taskId: string,
  keys: readonly CryptoKey[],
): Promise<StatusTimes | null> {
  const [, times = "", createdAtS, expiresAtS, recorded = null, text = null] =
    TOKEN.exec(token) ?? [];
  const mac = fromBase64Url(text, MAC_BYTES);
  if (mac === null || !(await verifyAny(keys, mac, contentOf(taskId, times)))) return null;
  const recordedAt = recorded === null ? null : Number(recorded);
  return { createdAtS: Number(createdAtS), expiresAtS: Number(expiresAtS), recordedAt };
}

function contentOf(taskId: string, times: string): Bytes {
  return bytesOf(`${taskId}\n${times}`);
}
