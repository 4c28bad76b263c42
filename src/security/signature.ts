/**
 * Signatures of Standard Webhooks. The relay signs callbacks (outbound/webhooks.ts) and events for the operator, and
 * verifies the signatures of events from upstreams (api/http/auth.ts). The hooks of a provider are verified by its
 * adapter, which api/hooks/receive-hook.ts calls. A signature proves who has written a body. Its timestamp proves that
 * the message is not an old copy.
 */
import { toSeconds } from "../core/time.ts";
import { type Bytes, bytesOf, toBase64 } from "./encoding.ts";
import { type HmacSecret, macFromBase64, verifyAnyOf } from "./hmac.ts";
import type { Keyring } from "./keyring.ts";

/**
 * The parts of a message that Standard Webhooks signs (https://www.standardwebhooks.com): id, timestamp and raw body.
 */
export interface SignedMessage {
  readonly id: string;
  /** Time of the signature in Unix seconds, as the header contains it. */
  readonly timestamp: string;
  readonly body: string | Bytes;
}

/** Largest difference in seconds between the time at which a signature was made and the time at which it is checked. */
export const TOLERANCE_S = 300;

/** Returns the three headers of Standard Webhooks: id, timestamp and signature. */
export function signedHeaders({ id, timestamp }: SignedMessage, signature: string) {
  return { "webhook-id": id, "webhook-timestamp": timestamp, "webhook-signature": signature };
}

/**
 * Returns the header `webhook-signature`: a `v1` HMAC for every secret, then a `v1a` Ed25519 signature for every
 * key.
 */
export async function sign(
  message: SignedMessage,
  keyring: Pick<Keyring, "callbackSecrets" | "signingKeys">,
): Promise<string> {
  const content = contentOf(message);
  const signatures = await Promise.all([
    ...keyring.callbackSecrets.map(async ({ key }) => {
      return `v1,${toBase64(await crypto.subtle.sign("HMAC", key, content))}`;
    }),
    ...keyring.signingKeys.map(async ({ privateKey }) => {
      return `v1a,${toBase64(await crypto.subtle.sign("Ed25519", privateKey, content))}`;
    }),
  ]);
  return signatures.join(" ");
}

/**
 * Tells whether the headers have a `v1` signature of a body that is valid under one of the secrets and was made within
 * 300 s before or after `now` (Unix milliseconds). The signatures are compared in constant time.
 * @param readBody reads the body. It is called only when the headers contain a time and a signature that can be valid.
 */
export async function verify(
  headers: Headers,
  readBody: () => Promise<Bytes>,
  secrets: readonly HmacSecret[],
  now: number,
): Promise<boolean> {
  const id = headers.get("webhook-id");
  const timestamp = headers.get("webhook-timestamp");
  if (!id || !isRecent(timestamp, now)) return false;
  const entries = (headers.get("webhook-signature") ?? "").split(" ");
  const signatures = entries.map((entry) => macFromBase64(/^v1,(.*)$/.exec(entry)?.[1]));
  const keys = secrets.map(({ key }) => key);
  const content = async () => contentOf({ id, timestamp, body: await readBody() });
  return verifyAnyOf(keys, signatures, content);
}

/**
 * Tells whether `timestamp` is a time in Unix seconds, within `toleranceS` seconds before or after `now` (Unix
 * milliseconds).
 */
export function isRecent(
  timestamp: string | null | undefined,
  now: number,
  toleranceS = TOLERANCE_S,
): timestamp is string {
  // Implementations read other spellings of the same number in different ways, so only one spelling is accepted.
  if (timestamp == null || !/^[1-9]\d{0,11}$/.test(timestamp)) return false;
  return Math.abs(Number(timestamp) - toSeconds(now)) <= toleranceS;
}

function contentOf({ id, timestamp, body }: SignedMessage): Bytes {
  return bytesOf(`${id}.${timestamp}.`, body);
}
