import { describe, expect, it } from "vitest";
import { wavespeed } from "../../../src/providers/wavespeed.ts";
import {
  aConnection,
  aContext,
  aHook,
  hex,
  hmac,
  NOW,
  NOW_S,
  otherSpellings,
  tampered,
} from "../hook.ts";

const SECRET = "whsec_dGVzdC1rZXk=";
const KEY = "dGVzdC1rZXk=";
const BODY =
  '{"id":"ws-0001","model":"bytedance/seedance","outputs":["https://cdn.example/v.mp4"],"status":"completed"}';
const SIGNATURE = "v3,4769cb87013ae9445f04f42287081974ce6b849a8692ae7b29058305f65fead9";

const SENT = {
  "webhook-id": "ws-0001",
  "webhook-timestamp": `${NOW_S}`,
  "webhook-signature": SIGNATURE,
};

interface Setting {
  readonly secret?: string | null;
  /** Unix milliseconds. */
  readonly now?: number;
}

function authenticity(
  headers: Readonly<Record<string, string | undefined>>,
  body: string | Uint8Array = BODY,
  { secret = SECRET, now = NOW }: Setting = {},
) {
  const connection = aConnection({ webhookSecret: secret });
  return wavespeed.hooks?.authenticate(aHook(headers, body), connection, aContext(now));
}

async function signatureOf(timestamp: string, body = BODY, key = KEY): Promise<string> {
  return `v3,${hex(await hmac(key, `ws-0001.${timestamp}.${body}`))}`;
}

describe("the signature of WaveSpeed", () => {
  it("is accepted as composed by hand", async () => {
    expect(await authenticity(SENT)).toBe("signed");
  });

  it("is not looked at without a secret", async () => {
    expect(await authenticity({}, BODY, { secret: null })).toBe("unsigned");
  });

  it("is refused under an empty secret", async () => {
    expect(await authenticity(SENT, BODY, { secret: "whsec_" })).toBe("refused");
    expect(await authenticity(SENT, BODY, { secret: "" })).toBe("refused");
  });

  it("is refused under another secret, or with the secret decoded", async () => {
    const decoded = await signatureOf(`${NOW_S}`, BODY, atob(KEY));

    expect(await authenticity(SENT, BODY, { secret: "whsec_b3RoZXI=" })).toBe("refused");
    expect(await authenticity({ ...SENT, "webhook-signature": decoded })).toBe("refused");
  });

  it("covers every byte of the body", async () => {
    expect(await authenticity(SENT, tampered(BODY))).toBe("refused");
    expect(await authenticity(SENT, JSON.stringify(JSON.parse(BODY), null, 1))).toBe("refused");
    expect(await authenticity(SENT, "")).toBe("refused");
  });

  it("covers a body beyond ASCII as the bytes that came", async () => {
    const body = '{"id":"ws-0001","prompt":"früher 🦊"}';
    const signature = await signatureOf(`${NOW_S}`, body);

    expect(await authenticity({ ...SENT, "webhook-signature": signature }, body)).toBe("signed");
  });

  it("covers the id, which cannot be empty", async () => {
    const ofEmpty = `v3,${hex(await hmac(KEY, `.${NOW_S}.${BODY}`))}`;

    expect(await authenticity({ ...SENT, "webhook-id": "ws-0002" })).toBe("refused");
    expect(await authenticity({ ...SENT, "webhook-id": "", "webhook-signature": ofEmpty })).toBe(
      "refused",
    );
  });

  it.each(Object.keys(SENT))("is refused without %s", async (name) => {
    expect(await authenticity({ ...SENT, [name]: undefined })).toBe("refused");
    expect(await authenticity({ ...SENT, [name]: "" })).toBe("refused");
  });

  it("is accepted within 300 s and refused beyond them", async () => {
    for (const [shift, verdict] of [
      [-301, "refused"],
      [-300, "signed"],
      [300, "signed"],
      [301, "refused"],
    ] as const) {
      expect(await authenticity(SENT, BODY, { now: NOW + shift * 1000 })).toBe(verdict);
    }
  });

  it.each(otherSpellings(NOW_S))("is refused over the timestamp %j", async (timestamp) => {
    const signature = await signatureOf(timestamp);
    const headers = { "webhook-timestamp": timestamp, "webhook-signature": signature };

    expect(await authenticity({ ...SENT, ...headers })).toBe("refused");
  });

  it("is accepted as the second of two, while a secret is rotated", async () => {
    const both = `v3,${"0".repeat(64)} ${SIGNATURE}`;

    expect(await authenticity({ ...SENT, "webhook-signature": both })).toBe("signed");
  });

  it.each([
    ["cut short", SIGNATURE.slice(0, -2)],
    ["cut by half a byte", SIGNATURE.slice(0, -1)],
    ["with a character that is not hex", `${SIGNATURE.slice(0, -1)}g`],
    ["with a digit that lax readers drop", SIGNATURE.replace("8701", "871g")],
    ["too long", `${SIGNATURE}00`],
    ["of another version", SIGNATURE.replace("v3,", "v1,")],
    ["without version", SIGNATURE.replace("v3,", "")],
  ])("is refused %s", async (_, signature) => {
    expect(await authenticity({ ...SENT, "webhook-signature": signature })).toBe("refused");
  });
});
