/**
 * Signatures of Standard Webhooks: made for callbacks and for events to the operator, verified for
 * events from upstreams. They prove who wrote a body and, by the timestamp, that it is no old copy.
 */
import { toSeconds } from "../core/time.ts";
import { type Bytes, bytesOf, toBase64 } from "./encoding.ts";
import { type HmacSecret, macFromBase64, verifyAnyOf } from "./hmac.ts";
import type { Keyring } from "./keyring.ts";

/** The message that Standard Webhooks signs (https://www.standardwebhooks.com): id, timestamp and raw body. */
export interface SignedMessage {
  readonly id: string;
  /** Time of the signature in Unix seconds, as the header spells it. */
  readonly timestamp: string;
  readonly body: string | Bytes;
}

/** Largest difference in seconds between the time of a signature and the time of its check. */
export const TOLERANCE_S = 300;

/** Builds the three headers of Standard Webhooks: id, timestamp and signature. */
export function signedHeaders({ id, timestamp }: SignedMessage, signature: string) {
  return { "webhook-id": id, "webhook-timestamp": timestamp, "webhook-signature": signature };
}

/** Builds the header `webhook-signature`: a `v1` HMAC for every secret, then a `v1a` Ed25519 for every key. */
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
 * Tells, in constant time, whether the headers carry a `v1` signature of `body` under one of the
 * secrets, made within ±300 s of `now` (Unix milliseconds).
 */
export async function verify(
  headers: Headers,
  body: Bytes,
  secrets: readonly HmacSecret[],
  now: number,
): Promise<boolean> {
  const id = headers.get("webhook-id");
  const timestamp = headers.get("webhook-timestamp");
  if (!id || !isRecent(timestamp, now)) return false;
  const entries = (headers.get("webhook-signature") ?? "").split(" ");
  const signatures = entries.map((entry) => macFromBase64(/^v1,(.*)$/.exec(entry)?.[1]));
  const keys = secrets.map(({ key }) => key);
  return verifyAnyOf(keys, signatures, contentOf({ id, timestamp, body }));
}

/** Tells whether `timestamp` is Unix seconds within ±300 s of `now` (Unix milliseconds). */
export function isRecent(timestamp: string | null | undefined, now: number): timestamp is string {
  // Implementations disagree on other spellings of the same number, so only one is accepted.
  if (timestamp == null || !/^[1-9]\d{0,11}$/.test(timestamp)) return false;
  return Math.abs(Number(timestamp) - toSeconds(now)) <= TOLERANCE_S;
}

function contentOf({ id, timestamp, body }: SignedMessage): Bytes {
  return bytesOf(`${id}.${timestamp}.`, body);
}
