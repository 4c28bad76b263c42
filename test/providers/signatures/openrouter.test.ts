import { describe, expect, it } from "vitest";
import { openrouter } from "../../../src/providers/openrouter.ts";
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

const SECRET = "or-test-secret";
const BODY =
  '{"type":"video.generation.completed","created_at":"2026-01-01T00:00:00.000Z","data":{"id":"job-0001","status":"completed"}}';
const HEX = "cee7e7f68fc72f74d39b09e0e215eac089ded02cec6a0824362333a34b30b681";
const SIGNATURE = `t=${NOW_S},v1=${HEX}`;

interface Setting {
  readonly secret?: string | null;
  /** Unix milliseconds. */
  readonly now?: number;
}

function authenticity(
  signature: string | undefined,
  body: string | Uint8Array = BODY,
  { secret = SECRET, now = NOW }: Setting = {},
) {
  const hook = aHook({ "X-OpenRouter-Signature": signature }, body);
  const connection = aConnection({ webhookSecret: secret });
  return openrouter.hooks?.authenticate(hook, connection, aContext(now));
}

async function signatureOf(timestamp: string, body = BODY): Promise<string> {
  return `t=${timestamp},v1=${hex(await hmac(SECRET, `${timestamp},${body}`))}`;
}

describe("the signature of OpenRouter", () => {
  it("is accepted as composed by hand", async () => {
    expect(await authenticity(SIGNATURE)).toBe("signed");
  });

  it("is not looked at without a secret", async () => {
    expect(await authenticity(undefined, BODY, { secret: null })).toBe("unsigned");
  });

  it("is refused under an empty secret and under another", async () => {
    expect(await authenticity(SIGNATURE, BODY, { secret: "" })).toBe("refused");
    expect(await authenticity(SIGNATURE, BODY, { secret: "or-other-secret" })).toBe("refused");
  });

  it("covers every byte of the body", async () => {
    expect(await authenticity(SIGNATURE, tampered(BODY))).toBe("refused");
    expect(await authenticity(SIGNATURE, JSON.stringify(JSON.parse(BODY), null, 1))).toBe(
      "refused",
    );
    expect(await authenticity(SIGNATURE, "")).toBe("refused");
  });

  it("covers a body beyond ASCII as the bytes that came", async () => {
    const body = '{"data":{"id":"früher 🦊"}}';

    expect(await authenticity(await signatureOf(`${NOW_S}`, body), body)).toBe("signed");
  });

  it("is accepted within 300 s and refused beyond them", async () => {
    for (const [shift, verdict] of [
      [-301, "refused"],
      [-300, "signed"],
      [300, "signed"],
      [301, "refused"],
    ] as const) {
      expect(await authenticity(SIGNATURE, BODY, { now: NOW + shift * 1000 })).toBe(verdict);
    }
  });

  it("covers its timestamp", async () => {
    expect(await authenticity(`t=${NOW_S + 1},v1=${HEX}`)).toBe("refused");
  });

  it.each(otherSpellings(NOW_S))("is refused over the timestamp %j", async (timestamp) => {
    expect(await authenticity(await signatureOf(timestamp))).toBe("refused");
  });

  it("is accepted as the second of two, while a secret is rotated", async () => {
    expect(await authenticity(`t=${NOW_S},v1=${"0".repeat(64)},v1=${HEX}`)).toBe("signed");
  });

  it.each([
    ["when the header is missing", undefined],
    ["when the header is empty", ""],
    ["without timestamp", `v1=${HEX}`],
    ["without signature", `t=${NOW_S}`],
    ["cut short", SIGNATURE.slice(0, -2)],
    ["cut by half a byte", SIGNATURE.slice(0, -1)],
    ["with a character that is not hex", `${SIGNATURE.slice(0, -1)}g`],
    ["of another version", `t=${NOW_S},v2=${HEX}`],
    ["without the names of its parts", `${NOW_S},${HEX}`],
  ])("is refused %s", async (_, signature) => {
    expect(await authenticity(signature)).toBe("refused");
  });
});
