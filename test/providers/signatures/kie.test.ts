import { describe, expect, it } from "vitest";
import { kie } from "../../../src/providers/kie.ts";
import {
  aConnection,
  aContext,
  aHook,
  base64,
  hmac,
  NOW,
  NOW_S,
  otherSpellings,
  tampered,
} from "../hook.ts";

const SECRET = "kie-test-key";
const BODY = '{"code":200,"data":{"taskId":"task-0001","state":"success"}}';
const SIGNATURE = "eYLB9HDwSBhsRjDcftCH+KvUl+8yjZTwHDxcFBGpnrI=";
const SENT = { "X-Webhook-Timestamp": `${NOW_S}`, "X-Webhook-Signature": SIGNATURE };

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
  return kie.hooks?.authenticate(aHook(headers, body), connection, aContext(now));
}

async function signatureOf(timestamp: string, taskId = "task-0001"): Promise<string> {
  return base64(await hmac(SECRET, `${taskId}.${timestamp}`));
}

describe("the signature of kie.ai", () => {
  it("is accepted as composed by hand, and proves no body", async () => {
    expect(await authenticity(SENT)).toBe("unsigned");
  });

  it("is accepted whatever else the body says", async () => {
    const other = '{"code":200,"data":{"taskId":"task-0001","state":"fail","failMsg":"früher 🦊"}}';

    expect(await authenticity(SENT, other)).toBe("unsigned");
    expect(await authenticity(SENT, JSON.stringify(JSON.parse(BODY), null, 1))).toBe("unsigned");
  });

  it("is accepted where the id of the task is in snake case", async () => {
    expect(await authenticity(SENT, BODY.replace("taskId", "task_id"))).toBe("unsigned");
  });

  it("is not looked at without a secret", async () => {
    expect(await authenticity({}, BODY, { secret: null })).toBe("unsigned");
  });

  it("is refused under an empty secret and under another", async () => {
    expect(await authenticity(SENT, BODY, { secret: "" })).toBe("refused");
    expect(await authenticity(SENT, BODY, { secret: "kie-other-key" })).toBe("refused");
  });

  it("covers the id of the task, without which it is refused", async () => {
    expect(await authenticity(SENT, BODY.replace("task-0001", "task-0002"))).toBe("refused");
    expect(await authenticity(SENT, BODY.replace("taskId", "id"))).toBe("refused");
  });

  it("is refused with a body that is no JSON", async () => {
    expect(await authenticity(SENT, tampered(BODY))).toBe("refused");
    expect(await authenticity(SENT, "task-0001")).toBe("refused");
    expect(await authenticity(SENT, "")).toBe("refused");
  });

  it("covers an id beyond ASCII", async () => {
    const headers = { ...SENT, "X-Webhook-Signature": await signatureOf(`${NOW_S}`, "früher 🦊") };

    expect(await authenticity(headers, '{"data":{"taskId":"früher 🦊"}}')).toBe("unsigned");
  });

  it.each(Object.keys(SENT))("is refused without %s", async (name) => {
    expect(await authenticity({ ...SENT, [name]: undefined })).toBe("refused");
    expect(await authenticity({ ...SENT, [name]: "" })).toBe("refused");
  });

  it("is accepted within 300 s and refused beyond them", async () => {
    for (const [shift, verdict] of [
      [-301, "refused"],
      [-300, "unsigned"],
      [300, "unsigned"],
      [301, "refused"],
    ] as const) {
      expect(await authenticity(SENT, BODY, { now: NOW + shift * 1000 })).toBe(verdict);
    }
  });

  it.each(otherSpellings(NOW_S))("is refused over the timestamp %j", async (timestamp) => {
    const signature = await signatureOf(timestamp);
    const headers = { "X-Webhook-Timestamp": timestamp, "X-Webhook-Signature": signature };

    expect(await authenticity(headers)).toBe("refused");
  });

  it.each([
    ["cut short", SIGNATURE.slice(0, -4)],
    ["without padding", SIGNATURE.slice(0, -1)],
    ["in the other alphabet", SIGNATURE.replaceAll("+", "-")],
    ["in hex", "0".repeat(64)],
    ["made by another key", `A${SIGNATURE.slice(1)}`],
  ])("is refused %s", async (_, signature) => {
    expect(await authenticity({ ...SENT, "X-Webhook-Signature": signature })).toBe("refused");
  });
});
