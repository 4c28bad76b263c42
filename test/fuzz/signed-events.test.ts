import { describe } from "vitest";
import { hmacSecret } from "../../src/security/hmac.ts";
import { sign, verify } from "../../src/security/signature.ts";
import type { Choices } from "./choices.ts";
import { announce, fuzz } from "./fuzz.ts";
import { damagedBytes } from "./mutations.ts";
import { headerText, mutatedOften } from "./text.ts";

announce("signature headers");

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

interface Sent {
  readonly headers: Headers;
  readonly body: Uint8Array<ArrayBuffer>;
  /** `v1,…` over what was signed. */
  readonly signed: Signed;
}

interface Signed {
  readonly timestamp: string;
  readonly signature: string;
  readonly isOurs: boolean;
}

/** Made in advance: by each secret, at every time around the tolerance. */
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

/** A signed message with one part changed, or none. */
function generate(choices: Choices): Sent {
  const signed = choices.pick(MADE);
  const changed = choices.below(6);
  const part = (number: number, text: string) =>
    number === changed ? headerText(mutatedOften(text, choices, 2)) : text;
  const headers = new Headers({
    "webhook-id": part(1, ID),
    "webhook-timestamp": part(2, signed.timestamp),
    "webhook-signature": part(3, listed(signed.signature, choices)),
  });
  if (changed === 5)
    headers.delete(choices.pick(["webhook-id", "webhook-timestamp", "webhook-signature"]));
  return { headers, body: changed === 4 ? damagedBytes(BODY, choices) : BODY, signed };
}

function listed(signature: string, choices: Choices): string {
  const other = choices.pick(MADE).signature;
  return choices.pick([
    signature,
    `${other} ${signature}`,
    `v1a,${signature.slice(3)} ${signature}`,
    `${`${other.replace("v1", "v2")} `.repeat(choices.pick([14, 15, 16]))}${signature}`,
    signature.replace("v1,", "v1a,"),
    signature.replaceAll("+", "-").replaceAll("/", "_"),
  ]);
}

/** Whether it was made with a right secret, over these bytes, not long ago: told without any cryptography. */
function isGenuine({ headers, body, signed }: Sent): boolean {
  const timestamp = headers.get("webhook-timestamp");
  const isSame =
    signed.isOurs &&
    headers.get("webhook-id") === ID &&
    timestamp === signed.timestamp &&
    body.length === BODY.length &&
    body.every((byte, i) => byte === BODY[i]);
  const isNear = Math.abs(Number(timestamp) - NOW_S) <= 300;
  const entries = (headers.get("webhook-signature") ?? "").split(" ").slice(0, 16);
  return isSame && isNear && entries.some((entry) => saysSame(entry, signed.signature));
}

/** The last character of 32 bytes in base64 says four bits: four characters say the same. */
function saysSame(a: string, b: string): boolean {
  const bits = (text: string) => ALPHABET.indexOf(text.charAt(45)) >> 2;
  const isLong = a.length === 47 && a.endsWith("=") && ALPHABET.includes(a.charAt(45));
  return isLong && a.slice(0, 45) === b.slice(0, 45) && bits(a) === bits(b);
}

describe("signature headers", () => {
  fuzz({
    promise: "are taken only when made with a right secret, over these bytes, within 300 s",
    cases: 100_000,
    atOnce: 32,
    generate,
    check: async (sent) => {
      const secrets = [SECRET, OLDER].filter((secret) => secret !== undefined);
      const isTaken = await verify(sent.headers, sent.body, secrets, NOW);
      const isOtherMessage = !isGenuine(sent) && !isTakenAnyway(sent);
      if (isTaken === isOtherMessage) throw new Error(isTaken ? "was taken" : "was refused");
      return isTaken;
    },
  });
});

/** Another message of ours whose signature happens to stand in the list as well. */
function isTakenAnyway(sent: Sent): boolean {
  return MADE.some((signed) => isGenuine({ ...sent, signed }));
}
