import { fal } from "../../../src/providers/fal.ts";
import { hex, NOW_S, rfc8032Keys } from "../hook.ts";
import { OTHER_SECONDS, type Scheme } from "./scheme.ts";

/** Signs a hook of fal with a private key. */
export async function signedByFal(
  key: CryptoKey,
  body: string,
  changes: Readonly<Record<string, string>> = {},
): Promise<Record<string, string>> {
  const headers = { ...FAL.headers, ...changes };
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(body));
  const message = [
    headers["X-Fal-Webhook-Request-Id"],
    headers["X-Fal-Webhook-User-Id"],
    headers["X-Fal-Webhook-Timestamp"],
    hex(new Uint8Array(digest)),
  ].join("\n");
  const bytes = new TextEncoder().encode(message);
  const signature = hex(new Uint8Array(await crypto.subtle.sign("Ed25519", key, bytes)));
  return { ...headers, "X-Fal-Webhook-Signature": signature };
}

const FAL_SIGNATURE =
  "64c9ec33e2fb970a3b7b4bf878f537f78e063e91582d8141368d8f27662cf88829791f7b7ef2951b02c8f06ded7adf76aec8eddc19e986b2d2b33fef4b2b940e";

export const FAL: Scheme = {
  provider: fal,
  connection: { userId: "user-0001" },
  wrongConnections: [{ userId: "" }, { userId: "user-0002" }],
  proves: "signed",
  isOverBody: true,
  body: '{"request_id":"req-0001","gateway_request_id":"req-0001","status":"OK","payload":{"video":{"url":"https://v3.fal.media/files/a/b.mp4"},"seed":42}}',
  headers: {
    "X-Fal-Webhook-Request-Id": "req-0001",
    "X-Fal-Webhook-User-Id": "user-0001",
    "X-Fal-Webhook-Timestamp": `${NOW_S}`,
    "X-Fal-Webhook-Signature": FAL_SIGNATURE,
  },
  sign: async (time, body = FAL.body) =>
    signedByFal((await rfc8032Keys()).sign, body, { "X-Fal-Webhook-Timestamp": time }),
  otherTimes: OTHER_SECONDS,
  unicodeBody: '{"request_id":"früher 🦊"}',
  refused: {
    "is cut short": { "X-Fal-Webhook-Signature": FAL_SIGNATURE.slice(0, -2) },
    "is shorter by one hex digit": { "X-Fal-Webhook-Signature": FAL_SIGNATURE.slice(0, -1) },
    "ends with a letter that is not hex": {
      "X-Fal-Webhook-Signature": `${FAL_SIGNATURE.slice(0, -1)}g`,
    },
    "is changed in the last byte": { "X-Fal-Webhook-Signature": `${FAL_SIGNATURE.slice(0, -2)}00` },
    "is too long": { "X-Fal-Webhook-Signature": `${FAL_SIGNATURE}00` },
    "was made for another request id": { "X-Fal-Webhook-Request-Id": "req-0002" },
    "was made for a timestamp one second earlier": { "X-Fal-Webhook-Timestamp": `${NOW_S + 1}` },
  },
  rotated: null,
};
