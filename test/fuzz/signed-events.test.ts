import * as fc from "fast-check";
import { hmacSecret } from "../../src/security/hmac.ts";
import { sign, verify } from "../../src/security/signature.ts";
import { changed, fuzz, weighted } from "./fuzz.ts";
import { byteChange } from "./mutations.ts";
import { headerText, textChange } from "./text.ts";

const NOW = 1_792_497_600_250;
const NOW_S = 1_792_497_600;
const [SECRET, OLDER, WRONG] = await Promise.all(
  ["a", "b", "c"].map((letter) => hmacSecret(`whsec_${btoa(letter.repeat(32))}`)),
);
const BODY = new Uint8Array(
  new TextEncoder().encode('{"id":"0199f3a2-7c41-4d7e-9b1a-2f60c1d2e3f4"}'),
);
const ID = "msg_1";
const ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

interface Signed {
  readonly timestamp: string;
  /** Text of the signature, `v1,…`. */
  readonly signature: string;
  readonly isOurs: boolean;
}

interface Sent {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array<ArrayBuffer>;
  /** Message from which this one was made by changes. */
  readonly signed: Signed;
}

/** Messages signed with each secret, at times around the tolerance of 300 s. */
const MADE: readonly Signed[] = await Promise.all(
  [0, 1, -1, 299, 300, 301, -299, -300, -301, 86_400, -NOW_S + 1].flatMap((offset) =>
    [SECRET, OLDER, WRONG].map(async (secret) => {
      const timestamp = String(NOW_S + offset);
      const keys = { callbackSecrets: secret === undefined ? [] : [secret], signingKeys: [] };
      const signature = await sign({ id: ID, timestamp, body: BODY }, keys);
      return { timestamp, signature, isOurs: secret !== WRONG };
    }),
  ),
);

/** Header values that contain the signature beside others, or in another version or alphabet. */
const SPELLINGS: readonly ((signature: string, other: string, times: number) => string)[] = [
  (signature) => signature,
  (signature, other) => `${other} ${signature}`,
  (signature) => `v1a,${signature.slice(3)} ${signature}`,
  (signature, other, times) => `${`${other.replace("v1", "v2")} `.repeat(times)}${signature}`,
  (signature) => signature.replace("v1,", "v1a,"),
  (signature) => signature.replaceAll("+", "-").replaceAll("/", "_"),
];
const messages: fc.Arbitrary<Sent> = fc
  .record({
    signed: fc.constantFrom(...MADE),
    other: fc.constantFrom(...MADE),
    spelling: fc.constantFrom(...SPELLINGS),
    times: fc.constantFrom(14, 15, 16),
  })
  .map(({ signed, other, spelling, times }) => ({
    headers: {
      "webhook-id": ID,
      "webhook-timestamp": signed.timestamp,
      "webhook-signature": spelling(signed.signature, other.signature, times),
    },
    body: BODY,
    signed,
  }));

const headerName = fc.constantFrom("webhook-id", "webhook-timestamp", "webhook-signature");
const damages = weighted(
  [
    3,
    fc.tuple(headerName, textChange).map(([name, change]) => (sent: Sent) => {
      const value = headerText(change(sent.headers[name] ?? ""));
      return { ...sent, headers: { ...sent.headers, [name]: value } };
    }),
  ],
  [
    1,
    headerName.map((missing) => (sent: Sent) => {
      const { [missing]: _, ...headers } = sent.headers;
      return { ...sent, headers };
    }),
  ],
  [1, byteChange.map((change) => (sent: Sent) => ({ ...sent, body: change(sent.body) }))],
);

/** Decides without cryptography whether a message has a right secret, these bytes and a recent time. */
function isGenuine({ headers: given, body, signed }: Sent): boolean {
  // Receivers read header values without the spaces around them.
  const headers = new Headers(given);
  const timestamp = headers.get("webhook-timestamp");
  const isSame =
    signed.isOurs &&
    headers.get("webhook-id") === ID &&
    timestamp === signed.timestamp &&
    body.length === BODY.length &&
    body.every((byte, i) => byte === BODY[i]);
  const isNear = Math.abs(Number(timestamp) - NOW_S) <= 300;
  const entries = (headers.get("webhook-signature") ?? "").split(" ").slice(0, 16);
  return isSame && isNear && entries.some((entry) => isSameSignature(entry, signed.signature));
}

/** Compares base64 of 32 bytes, whose last character carries only four of its six bits. */
function isSameSignature(a: string, b: string): boolean {
  const bits = (text: string) => ALPHABET.indexOf(text.charAt(45)) >> 2;
  const isLong = a.length === 47 && a.endsWith("=") && ALPHABET.includes(a.charAt(45));
  return isLong && a.slice(0, 45) === b.slice(0, 45) && bits(a) === bits(b);
}

fuzz(
  "any signed request to POST /v1/events is accepted exactly when its timestamp is within 300 s of the relay's clock and a configured secret has signed its bytes",
  {
    inputs: changed(messages, damages, 2),
    subject: verify,
    defects: {
      "accepts any message": async () => true,
      "accepts any time": async (headers, body, secrets) =>
        verify(headers, body, secrets, Number(headers.get("webhook-timestamp")) * 1000),
      "accepts only the newest secret": async (headers, body, secrets, now) =>
        verify(headers, body, secrets.slice(0, 1), now),
      "compares only the first signature": async (headers, body, secrets, now) => {
        const [first = ""] = (headers.get("webhook-signature") ?? "").split(" ");
        const changes = new Headers(headers);
        changes.set("webhook-signature", first);
        return verify(changes, body, secrets, now);
      },
      "does not sign the body": async (headers, _body, secrets, now) =>
        verify(headers, async () => BODY, secrets, now),
    },
    check: async (sent, subject) => {
      const secrets = [SECRET, OLDER].filter((secret) => secret !== undefined);
      const isAccepted = await subject(
        new Headers(sent.headers),
        async () => sent.body,
        secrets,
        NOW,
      );
      // The header may also contain the signature of another message with the same content.
      const isWanted = MADE.some((signed) => isGenuine({ ...sent, signed }));
      if (isAccepted !== isWanted)
        throw new Error(isAccepted ? "a forged message was accepted" : "the message was refused");
      return isAccepted;
    },
  },
);
