import { atlascloud } from "../../../src/providers/atlascloud.ts";
import { NOW_S, rfc8032Keys } from "../hook.ts";
import { OTHER_SECONDS, type Scheme } from "./scheme.ts";

const NAME = "X-AtlasCloud-Webhook-Signature-Ed25519";
const SIGNATURE =
  "4Uaj_xUUW0qjTa_w49NQsONhKb-jTeuCFrn13Cj1vQMp0hWfU3vfByDs_T_yhEBrwnUJr1jJLiX7MOL161O2AA";

export const ATLASCLOUD: Scheme = {
  provider: atlascloud,
  connection: {},
  wrongConnections: [],
  proves: "unsigned",
  isOverBody: true,
  body: '{"session_id":"a1b2-0001","event_type":"video.task.terminal","status":"OK","payload":{"id":"a1b2-0001","status":"completed","outputs":["https://cdn.example/v.mp4"]},"error":null}',
  headers: { "X-AtlasCloud-Webhook-Timestamp": `${NOW_S}`, [NAME]: SIGNATURE },
  sign: async (time, body = ATLASCLOUD.body) => {
    const message = new TextEncoder().encode(`${time}.${body}`);
    const { sign } = await rfc8032Keys();
    const signature = new Uint8Array(await crypto.subtle.sign("Ed25519", sign, message));
    return { "X-AtlasCloud-Webhook-Timestamp": time, [NAME]: base64Url(signature) };
  },
  otherTimes: OTHER_SECONDS,
  unicodeBody: '{"session_id":"früher 🦊"}',
  refused: {
    "is cut short": { [NAME]: SIGNATURE.slice(0, -2) },
    "is too long": { [NAME]: `${SIGNATURE}AA` },
    "has base64 padding": { [NAME]: `${SIGNATURE}==` },
    "is in the standard base64 alphabet, not the URL-safe one": {
      [NAME]: SIGNATURE.replaceAll("_", "/").replaceAll("-", "+"),
    },
    "has the right bytes, but in another base64 spelling": { [NAME]: `${SIGNATURE.slice(0, -1)}B` },
    "has wrong bytes": { [NAME]: `5${SIGNATURE.slice(1)}` },
    "was made for a timestamp one second earlier": {
      "X-AtlasCloud-Webhook-Timestamp": `${NOW_S + 1}`,
    },
    "is not of Ed25519, but an HMAC in hex, in the header for HMACs": {
      [NAME]: undefined,
      "X-AtlasCloud-Webhook-Signature": "0".repeat(64),
    },
  },
  rotated: null,
};

/** Encodes bytes as base64url without padding. */
export function base64Url(bytes: Uint8Array): string {
  const text = btoa(String.fromCharCode(...bytes));
  return text.replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}
