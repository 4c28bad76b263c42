import { Webhook } from "standardwebhooks";
import { Webhook as Svix } from "svix";
import { describe, expect, it } from "vitest";
import { replicate } from "../../../src/providers/replicate.ts";
import { aConnection, aContext, aHook, NOW, NOW_S, otherSpellings, tampered } from "../hook.ts";

const SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
const BODY =
  '{"id":"pred-0001","status":"succeeded","output":"https://replicate.delivery/x/out.mp4"}';
const SIGNATURE = "v1,BCnDEUufS+fHpCD1xWasoHY2EZoYPy1zBW+PWEKsUx0=";
const SENT = {
  "webhook-id": "msg_0001",
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
  return replicate.hooks?.authenticate(aHook(headers, body), connection, aContext(now));
}

describe("the signature of Replicate", () => {
  it("is accepted as composed by hand", async () => {
    expect(await authenticity(SENT)).toBe("signed");
  });

  it("is accepted as the specification of Standard Webhooks gives it", async () => {
    const headers = {
      "webhook-id": "msg_p5jXN8AQM9LWM0D4loKWxJek",
      "webhook-timestamp": "1614265330",
      "webhook-signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
    };

    expect(await authenticity(headers, '{"test": 2432232314}', { now: 1_614_265_330_000 })).toBe(
      "signed",
    );
  });

  it("is accepted as OpenAI, which signs alike, sent a real one", async () => {
    const headers = {
      "webhook-id": "wh_685c059ae39c8190af8c71ed1022a24d",
      "webhook-timestamp": "1750861210",
      "webhook-signature": "v1,gUAg4R2hWouRZqRQG4uJypNS8YK885G838+EHb4nKBY=",
    };
    const body =
      '{"id": "evt_685c059ae3a481909bdc86819b066fb6", "object": "event", "created_at": 1750861210, ' +
      '"type": "response.completed", "data": {"id": "resp_123"}}';
    const secret = "whsec_RdvaYFYUXuIFuEbvZHwMfYFhUf7aMYjYcmM24+Aj40c=";

    expect(await authenticity(headers, body, { secret, now: 1_750_861_210_000 })).toBe("signed");
  });

  it.each([
    ["standardwebhooks", new Webhook(SECRET)],
    ["svix", new Svix(SECRET)],
  ])("is accepted as the package %s makes it, also beyond ASCII", async (_, webhook) => {
    const body = '{"id":"pred-0001","logs":"früher 🦊"}';
    const signature = webhook.sign("msg_0002", new Date(NOW), body);
    const headers = { ...SENT, "webhook-id": "msg_0002", "webhook-signature": signature };

    expect(await authenticity(headers, body)).toBe("signed");
    expect(await authenticity(headers, tampered(body))).toBe("refused");
  });

  it("is not looked at without a secret", async () => {
    expect(await authenticity({}, BODY, { secret: null })).toBe("unsigned");
  });

  it.each(["whsec_b3RoZXIgc2VjcmV0IG9mIG91cnM=", "whsec_", "whsec_%%%", ""])(
    "is refused under the secret %j",
    async (secret) => {
      expect(await authenticity(SENT, BODY, { secret })).toBe("refused");
    },
  );

  it("covers every byte of the body", async () => {
    expect(await authenticity(SENT, tampered(BODY))).toBe("refused");
    expect(await authenticity(SENT, JSON.stringify(JSON.parse(BODY), null, 1))).toBe("refused");
    expect(await authenticity(SENT, "")).toBe("refused");
  });

  it("covers the id", async () => {
    expect(await authenticity({ ...SENT, "webhook-id": "msg_0003" })).toBe("refused");
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
    expect(await authenticity({ ...SENT, "webhook-timestamp": timestamp })).toBe("refused");
  });

  it("is accepted as the second of two, while a secret is rotated", async () => {
    const old = new Webhook("whsec_b3RoZXIgc2VjcmV0IG9mIG91cnM=").sign(
      "msg_0001",
      new Date(NOW),
      BODY,
    );

    expect(await authenticity({ ...SENT, "webhook-signature": `${old} ${SIGNATURE}` })).toBe(
      "signed",
    );
    expect(await authenticity({ ...SENT, "webhook-signature": old })).toBe("refused");
  });

  it.each([
    ["cut short", SIGNATURE.slice(0, -4)],
    ["without padding", SIGNATURE.slice(0, -1)],
    ["of another version", SIGNATURE.replace("v1,", "v1a,")],
    ["without version", SIGNATURE.replace("v1,", "")],
  ])("is refused %s", async (_, signature) => {
    expect(await authenticity({ ...SENT, "webhook-signature": signature })).toBe("refused");
  });
});
