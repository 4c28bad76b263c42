import { fromBase64, toBase64 } from "./encoding.ts";
import type { HmacSecret } from "./hmac.ts";
import type { Keyring } from "./keyring.ts";

/** The signed content of Standard Webhooks (https://www.standardwebhooks.com): id, timestamp, raw body. */
export interface SignedMessage {
  readonly id: string;
  /** Unix seconds, as the header spells them. */
  readonly timestamp: string;
  readonly body: string | Uint8Array<ArrayBuffer>;
}

const TOLERANCE_S = 300;
const MAX_SIGNATURES_READ = 16;

/** The three headers of Standard Webhooks. */
export function signedHeaders({ id, timestamp }: SignedMessage, signature: string) {
  return { "webhook-id": id, "webhook-timestamp": timestamp, "webhook-signature": signature };
}

/** `webhook-signature`: a `v1` HMAC for every secret, then a `v1a` Ed25519 for every key. */
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
 * Whether the headers carry a `v1` signature of `body` under one of the secrets, made within
 * ±300 s of `now` (Unix milliseconds). The comparison is the platform's, in constant time.
 */
export async function verify(
  headers: Headers,
  body: Uint8Array<ArrayBuffer>,
  secrets: readonly HmacSecret[],
  now: number,
): Promise<boolean> {
  const id = headers.get("webhook-id");
  const timestamp = headers.get("webhook-timestamp");
  if (!id || !isRecent(timestamp, now)) return false;
  const content = contentOf({ id, timestamp, body });
  const given = v1Signatures(headers.get("webhook-signature") ?? "");
  const checks = given.flatMap((signature) =>
    secrets.map(({ key }) => crypto.subtle.verify("HMAC", key, signature, content)),
  );
  return (await Promise.all(checks)).includes(true);
}

/** Whether `timestamp` is Unix seconds within ±300 s of `now` (Unix milliseconds). */
export function isRecent(timestamp: string | null | undefined, now: number): timestamp is string {
  // Implementations disagree on other spellings of the same number, so only one is accepted.
  if (timestamp == null || !/^[1-9]\d{0,11}$/.test(timestamp)) return false;
  return Math.abs(Number(timestamp) - Math.floor(now / 1000)) <= TOLERANCE_S;
}

function contentOf({ id, timestamp, body }: SignedMessage): Uint8Array<ArrayBuffer> {
  const head = new TextEncoder().encode(`${id}.${timestamp}.`);
  const tail = typeof body === "string" ? new TextEncoder().encode(body) : body;
  const content = new Uint8Array(head.length + tail.length);
  content.set(head);
  content.set(tail, head.length);
  return content;
}

function v1Signatures(header: string): Uint8Array<ArrayBuffer>[] {
  const versioned = header.split(" ").slice(0, MAX_SIGNATURES_READ);
  return versioned.flatMap((entry) => {
    const base64 = /^v1,([A-Za-z0-9+/]{43}=)$/.exec(entry)?.[1];
    return base64 === undefined ? [] : [fromBase64(base64)];
  });
}
