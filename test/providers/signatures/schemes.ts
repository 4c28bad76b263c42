import { higgsfield } from "../../../src/providers/higgsfield/higgsfield.ts";
import { kie } from "../../../src/providers/kie/kie.ts";
import { kling } from "../../../src/providers/kling/kling.ts";
import { openaiVideos } from "../../../src/providers/openai-videos/openai-videos.ts";
import { openrouter } from "../../../src/providers/openrouter/openrouter.ts";
import type { SigningProvider } from "../../../src/providers/registry.ts";
import { replicate } from "../../../src/providers/replicate/replicate.ts";
import { vidu } from "../../../src/providers/vidu/vidu.ts";
import { wavespeed } from "../../../src/providers/wavespeed/wavespeed.ts";
import { atlascloud } from "../../../src/providers/atlascloud/atlascloud.ts";
import { fal } from "../../../src/providers/fal/fal.ts";
import { base64, base64Url, hex, hmac, NOW_S, rfc8032Keys } from "../hook.ts";
import { OTHER_SECONDS, type Scheme } from "./scheme.ts";

const KIE_SIGNATURE = "eYLB9HDwSBhsRjDcftCH+KvUl+8yjZTwHDxcFBGpnrI=";

export const KIE: Scheme = {
  provider: kie,
  connection: { webhookSecret: "kie-test-key" },
  wrongConnections: [{ webhookSecret: "" }, { webhookSecret: "kie-other-key" }],
  proves: "unsigned",
  isOverBody: false,
  body: '{"code":200,"data":{"taskId":"task-0001","state":"success"}}',
  headers: { "X-Webhook-Timestamp": `${NOW_S}`, "X-Webhook-Signature": KIE_SIGNATURE },
  sign: async (time, body = KIE.body) => {
    const jobId = /"taskId":"([^"]*)"/.exec(body)?.[1] ?? "";
    const signature = base64(await hmac("kie-test-key", `${jobId}.${time}`));
    return { "X-Webhook-Timestamp": time, "X-Webhook-Signature": signature };
  },
  otherTimes: OTHER_SECONDS,
  unicodeBody: '{"data":{"taskId":"früher 🦊"}}',
  refused: {
    "is cut short": { "X-Webhook-Signature": KIE_SIGNATURE.slice(0, -4) },
    "lacks the base64 padding": { "X-Webhook-Signature": KIE_SIGNATURE.slice(0, -1) },
    "is in the URL-safe base64 alphabet": {
      "X-Webhook-Signature": KIE_SIGNATURE.replaceAll("+", "-"),
    },
    "is in hex, not base64": { "X-Webhook-Signature": "0".repeat(64) },
    "has a wrong first byte": { "X-Webhook-Signature": `A${KIE_SIGNATURE.slice(1)}` },
  },
  rotated: null,
};

const OPENROUTER_HEX = "038625efd034daa55c72c888a2b9c07e2929bcce31cd4256d65af4e9a43d728c";
const openrouterHeader = (value: string) => ({ "X-OpenRouter-Signature": value });

export const OPENROUTER: Scheme = {
  provider: openrouter,
  connection: { webhookSecret: "or-test-secret" },
  wrongConnections: [{ webhookSecret: "" }, { webhookSecret: "or-other-secret" }],
  proves: "signed",
  isOverBody: true,
  body: '{"type":"video.generation.completed","created_at":"2026-01-01T00:00:00.000Z","data":{"id":"job-0001","status":"completed","urls":["https://cdn.example/v.mp4"]}}',
  headers: openrouterHeader(`t=${NOW_S},v1=${OPENROUTER_HEX}`),
  sign: async (time, body = OPENROUTER.body) =>
    openrouterHeader(`t=${time},v1=${hex(await hmac("or-test-secret", `${time},${body}`))}`),
  otherTimes: OTHER_SECONDS,
  unicodeBody: '{"data":{"id":"früher 🦊"}}',
  refused: {
    "is sent without a timestamp": openrouterHeader(`v1=${OPENROUTER_HEX}`),
    "is missing beside the timestamp": openrouterHeader(`t=${NOW_S}`),
    "was made for a timestamp one second earlier": openrouterHeader(
      `t=${NOW_S + 1},v1=${OPENROUTER_HEX}`,
    ),
    "is cut short": openrouterHeader(`t=${NOW_S},v1=${OPENROUTER_HEX.slice(0, -2)}`),
    "is shorter by one hex digit": openrouterHeader(`t=${NOW_S},v1=${OPENROUTER_HEX.slice(0, -1)}`),
    "ends with a letter that is not hex": openrouterHeader(
      `t=${NOW_S},v1=${OPENROUTER_HEX.slice(0, -1)}g`,
    ),
    "is marked with another version": openrouterHeader(`t=${NOW_S},v2=${OPENROUTER_HEX}`),
    "is sent without the names (t, v1) of the header's parts": openrouterHeader(
      `${NOW_S},${OPENROUTER_HEX}`,
    ),
  },
  // The documented reader removes spaces around the parts.
  rotated: openrouterHeader(`t=${NOW_S}, v1=${"0".repeat(64)} , v1=${OPENROUTER_HEX}`),
};

export const REPLICATE_SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
const REPLICATE_SIGNATURE = "v1,BCnDEUufS+fHpCD1xWasoHY2EZoYPy1zBW+PWEKsUx0=";

export const REPLICATE: Scheme = {
  provider: replicate,
  connection: { webhookSecret: REPLICATE_SECRET },
  wrongConnections: ["whsec_b3RoZXIgc2VjcmV0IG9mIG91cnM=", "whsec_", "whsec_%%%", ""].map(
    (webhookSecret) => ({ webhookSecret }),
  ),
  proves: "signed",
  isOverBody: true,
  body: '{"id":"pred-0001","status":"succeeded","output":"https://replicate.delivery/x/out.mp4"}',
  headers: {
    "webhook-id": "msg_0001",
    "webhook-timestamp": `${NOW_S}`,
    "webhook-signature": REPLICATE_SIGNATURE,
  },
  sign: async (time, body = REPLICATE.body) => {
    const secret = atob(REPLICATE_SECRET.slice("whsec_".length));
    const key = Uint8Array.from(secret, (char) => char.charCodeAt(0));
    const signature = base64(await hmac(key, `msg_0001.${time}.${body}`));
    return {
      ...REPLICATE.headers,
      "webhook-timestamp": time,
      "webhook-signature": `v1,${signature}`,
    };
  },
  otherTimes: OTHER_SECONDS,
  unicodeBody: '{"id":"pred-0001","logs":"früher 🦊"}',
  refused: {
    "was made for another webhook-id": { "webhook-id": "msg_0003" },
    "is cut short": { "webhook-signature": REPLICATE_SIGNATURE.slice(0, -4) },
    "lacks the base64 padding": { "webhook-signature": REPLICATE_SIGNATURE.slice(0, -1) },
    "is marked with another version": {
      "webhook-signature": REPLICATE_SIGNATURE.replace("v1,", "v1a,"),
    },
    "is sent without a version": { "webhook-signature": REPLICATE_SIGNATURE.replace("v1,", "") },
  },
  rotated: { "webhook-signature": `v1,${"A".repeat(43)}= ${REPLICATE_SIGNATURE}` },
};

export const KLING: Scheme = { ...REPLICATE, provider: kling };

const HIGGSFIELD: Scheme = { ...REPLICATE, provider: higgsfield };

const OPENAI_VIDEOS_SIGNATURE = "v1,9FkchxVDD8Le8GOlzq/gaRmAHsN3TfW8hmvv1VD+Xrk=";

/** The key is the text of the secret, even where it looks like a secret of Standard Webhooks. */
const OPENAI_VIDEOS: Scheme = {
  ...REPLICATE,
  provider: openaiVideos,
  connection: { webhookSecret: "whsec_dGVzdA==" },
  wrongConnections: ["", "test", "dGVzdA=="].map((webhookSecret) => ({ webhookSecret })),
  body: '{"object":"event","type":"video.completed","data":{"id":"video-0001","status":"completed","url":"https://cdn.example/v.mp4"}}',
  headers: {
    "webhook-id": "evt_0001",
    "webhook-timestamp": `${NOW_S}`,
    "webhook-signature": OPENAI_VIDEOS_SIGNATURE,
  },
  sign: async (time, body = OPENAI_VIDEOS.body) => {
    const signature = base64(await hmac("whsec_dGVzdA==", `evt_0001.${time}.${body}`));
    return {
      ...OPENAI_VIDEOS.headers,
      "webhook-timestamp": time,
      "webhook-signature": `v1,${signature}`,
    };
  },
  refused: {
    "was made for another webhook-id": { "webhook-id": "evt_0002" },
    "is cut short": { "webhook-signature": OPENAI_VIDEOS_SIGNATURE.slice(0, -4) },
    "is marked with another version": {
      "webhook-signature": OPENAI_VIDEOS_SIGNATURE.replace("v1,", "v1a,"),
    },
  },
  rotated: { "webhook-signature": `v1,${"A".repeat(43)}= ${OPENAI_VIDEOS_SIGNATURE}` },
};

const DATE = "Thu, 01 Jan 2026 00:00:00 GMT";
const NONCE = "123e4567-e89b-12d3-a456-426614174000";

/** Signs the `names` among `headers` as Vidu does. */
export async function signedByVidu(headers: Readonly<Record<string, string>>, names: string) {
  const sent = new Headers(headers);
  const lines = names.split(";").map((name) => `${name}:${sent.get(name) ?? ""}\n`);
  const content = `POST\n/hooks/vidu\n\nvidu\n${sent.get("Date") ?? ""}\n${lines.join("")}`;
  const signature = base64(await hmac("vda_test_key", content));
  return { ...headers, "X-HMAC-SIGNED-HEADERS": names, "X-HMAC-SIGNATURE": signature };
}

export const VIDU: Scheme = {
  provider: vidu,
  connection: { key: "vda_test_key" },
  wrongConnections: [{ key: "" }, { key: "vda_other_key" }],
  proves: "unsigned",
  isOverBody: false,
  body: '{"id":"1","state":"success"}',
  headers: {
    Date: DATE,
    "x-request-nonce": NONCE,
    "X-HMAC-SIGNED-HEADERS": "Date;x-request-nonce",
    "X-HMAC-SIGNATURE": "9o4I3fiJy0RVKXv0vjOOwHkWlHBZ8v7aiEyfknLsG1g=",
    "X-HMAC-ALGORITHM": "hmac-sha256",
  },
  sign: async (time) => signedByVidu({ ...VIDU.headers, Date: time }, "Date;x-request-nonce"),
  otherTimes: ["2026-01-01T00:00:00Z", `${NOW_S}`, DATE.slice(0, -4), "today GMT"],
  unicodeBody: '{"payload":"früher 🦊"}',
  refused: {
    "was made for another Date header": { Date: "Thu, 01 Jan 2026 00:00:01 GMT" },
    "was made for another nonce": { "x-request-nonce": `${NONCE}0` },
    "is said to cover headers with impossible names": {
      "X-HMAC-SIGNED-HEADERS": "Date;x-request-nonce;;a b",
    },
    "is marked with another algorithm": { "X-HMAC-ALGORITHM": "hmac-sha1" },
    "is cut short": { "X-HMAC-SIGNATURE": "9o4I3fiJy0RVKXv0vjOOwA==" },
  },
  rotated: null,
};

const WAVESPEED_SIGNATURE = "v3,4769cb87013ae9445f04f42287081974ce6b849a8692ae7b29058305f65fead9";

export const WAVESPEED: Scheme = {
  provider: wavespeed,
  connection: { webhookSecret: "whsec_dGVzdC1rZXk=" },
  wrongConnections: ["whsec_", "", "whsec_b3RoZXI="].map((webhookSecret) => ({ webhookSecret })),
  proves: "signed",
  isOverBody: true,
  body: '{"id":"ws-0001","model":"bytedance/seedance","outputs":["https://cdn.example/v.mp4"],"status":"completed"}',
  headers: {
    "webhook-id": "ws-0001",
    "webhook-timestamp": `${NOW_S}`,
    "webhook-signature": WAVESPEED_SIGNATURE,
  },
  sign: async (time, body = WAVESPEED.body) => {
    const signature = hex(await hmac("dGVzdC1rZXk=", `ws-0001.${time}.${body}`));
    return {
      ...WAVESPEED.headers,
      "webhook-timestamp": time,
      "webhook-signature": `v3,${signature}`,
    };
  },
  otherTimes: OTHER_SECONDS,
  unicodeBody: '{"id":"ws-0001","prompt":"früher 🦊"}',
  refused: {
    "was made for another webhook-id": { "webhook-id": "ws-0002" },
    "is cut short": { "webhook-signature": WAVESPEED_SIGNATURE.slice(0, -2) },
    "is shorter by one hex digit": { "webhook-signature": WAVESPEED_SIGNATURE.slice(0, -1) },
    "ends with a letter that is not hex": {
      "webhook-signature": `${WAVESPEED_SIGNATURE.slice(0, -1)}g`,
    },
    "has a letter in the middle that is not hex": {
      "webhook-signature": WAVESPEED_SIGNATURE.replace("8701", "871g"),
    },
    "is too long": { "webhook-signature": `${WAVESPEED_SIGNATURE}00` },
    "is marked with another version": {
      "webhook-signature": WAVESPEED_SIGNATURE.replace("v3,", "v1,"),
    },
    "is sent without a version": { "webhook-signature": WAVESPEED_SIGNATURE.replace("v3,", "") },
  },
  rotated: { "webhook-signature": `v3,${"0".repeat(64)} ${WAVESPEED_SIGNATURE}` },
};

const ATLASCLOUD_NAME = "X-AtlasCloud-Webhook-Signature-Ed25519";
const ATLASCLOUD_SIGNATURE =
  "4Uaj_xUUW0qjTa_w49NQsONhKb-jTeuCFrn13Cj1vQMp0hWfU3vfByDs_T_yhEBrwnUJr1jJLiX7MOL161O2AA";

export const ATLASCLOUD: Scheme = {
  provider: atlascloud,
  connection: {},
  wrongConnections: [],
  proves: "unsigned",
  isOverBody: true,
  body: '{"session_id":"a1b2-0001","event_type":"video.task.terminal","status":"OK","payload":{"id":"a1b2-0001","status":"completed","outputs":["https://cdn.example/v.mp4"]},"error":null}',
  headers: {
    "X-AtlasCloud-Webhook-Timestamp": `${NOW_S}`,
    [ATLASCLOUD_NAME]: ATLASCLOUD_SIGNATURE,
  },
  sign: async (time, body = ATLASCLOUD.body) => {
    const message = new TextEncoder().encode(`${time}.${body}`);
    const { sign } = await rfc8032Keys();
    const signature = new Uint8Array(await crypto.subtle.sign("Ed25519", sign, message));
    return { "X-AtlasCloud-Webhook-Timestamp": time, [ATLASCLOUD_NAME]: base64Url(signature) };
  },
  otherTimes: OTHER_SECONDS,
  unicodeBody: '{"session_id":"früher 🦊"}',
  refused: {
    "is cut short": { [ATLASCLOUD_NAME]: ATLASCLOUD_SIGNATURE.slice(0, -2) },
    "is too long": { [ATLASCLOUD_NAME]: `${ATLASCLOUD_SIGNATURE}AA` },
    "has base64 padding": { [ATLASCLOUD_NAME]: `${ATLASCLOUD_SIGNATURE}==` },
    "is in the standard base64 alphabet, not the URL-safe one": {
      [ATLASCLOUD_NAME]: ATLASCLOUD_SIGNATURE.replaceAll("_", "/").replaceAll("-", "+"),
    },
    "has the right bytes, but in another base64 spelling": {
      [ATLASCLOUD_NAME]: `${ATLASCLOUD_SIGNATURE.slice(0, -1)}B`,
    },
    "has wrong bytes": { [ATLASCLOUD_NAME]: `5${ATLASCLOUD_SIGNATURE.slice(1)}` },
    "was made for a timestamp one second earlier": {
      "X-AtlasCloud-Webhook-Timestamp": `${NOW_S + 1}`,
    },
    "is not of Ed25519, but an HMAC in hex, in the header for HMACs": {
      [ATLASCLOUD_NAME]: undefined,
      "X-AtlasCloud-Webhook-Signature": "0".repeat(64),
    },
  },
  rotated: null,
};

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

/** The way of signing of every provider that signs its hooks. */
export const SCHEMES: Readonly<Record<SigningProvider, Scheme>> = {
  fal: FAL,
  higgsfield: HIGGSFIELD,
  kie: KIE,
  kling: KLING,
  "openai-videos": OPENAI_VIDEOS,
  openrouter: OPENROUTER,
  replicate: REPLICATE,
  vidu: VIDU,
  wavespeed: WAVESPEED,
  atlascloud: ATLASCLOUD,
};
