import { Webhook } from "standardwebhooks";
import { Webhook as Svix } from "svix";
import { expect, it } from "vitest";
import { bytesOf } from "../../../src/security/encoding.ts";
import { macFromBase64, verifyWithText } from "../../../src/security/hmac.ts";
import { hex, hmac, NOW, NOW_S, tampered } from "../hook.ts";
import { authenticity } from "./scheme.ts";
import {
  KIE,
  KLING,
  OPENROUTER,
  REPLICATE,
  REPLICATE_SECRET,
  signedByVidu,
  VIDU,
  WAVESPEED,
} from "./schemes.ts";

/** Returns hex signatures, all of them wrong. */
const wrong = (count: number) => Array.from({ length: count }, () => "0".repeat(64));

it.each([
  [
    "unsigned",
    "with the job id in the field taskId, besides other fields",
    '{"code":200,"data":{"taskId":"task-0001","state":"fail","failMsg":"früher"}}',
  ],
  ["unsigned", "with the job id in the field task_id", KIE.body.replace("taskId", "task_id")],
  ["refused", "with another job id", KIE.body.replace("task-0001", "task-0002")],
  ["refused", 'with the job id in the field "id"', KIE.body.replace("taskId", "id")],
  ["refused", "whose bytes are damaged", tampered(KIE.body)],
  ["refused", "that is the bare job id", "task-0001"],
  ["refused", "that is empty", ""],
])(
  "the signature check of a kie.ai hook, whose signature covers only the job id, returns %s for a body %s",
  async (verdict, _what, body) => {
    expect(await authenticity(KIE, { body })).toBe(verdict);
  },
);

it.each([
  [
    "unsigned",
    "completed, but has no list of links that open without an API key (urls), so that a poll must fetch them",
    { status: "completed" },
  ],
  [
    "unsigned",
    "completed, but has an empty list of links that open without an API key (urls), so that a poll must fetch them",
    { status: "completed", urls: [] },
  ],
  ["signed", "failed", { status: "failed" }],
])(
  "the signature check of an OpenRouter hook returns %s for a validly signed event of a job that is %s",
  async (verdict, _, data) => {
    const body = JSON.stringify({ type: "video.generation", data: { id: "job-0001", ...data } });
    const headers = await OPENROUTER.sign(`${NOW_S}`, body);
    expect(await authenticity(OPENROUTER, { headers, body })).toBe(verdict);
  },
);

it.each([
  [
    "the signed example that Standard Webhooks has published",
    { "webhook-id": "msg_p5jXN8AQM9LWM0D4loKWxJek", "webhook-timestamp": "1614265330" },
    "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
    '{"test": 2432232314}',
    REPLICATE_SECRET,
  ],
  [
    "a real hook of OpenAI, which signs hooks in the same way",
    {
      "webhook-id": "wh_685c059ae39c8190af8c71ed1022a24d",
      "webhook-timestamp": "1750861210",
    },
    "v1,gUAg4R2hWouRZqRQG4uJypNS8YK885G838+EHb4nKBY=",
    '{"id": "evt_685c059ae3a481909bdc86819b066fb6", "object": "event", "created_at": 1750861210, ' +
      '"type": "response.completed", "data": {"id": "resp_123"}}',
    "whsec_RdvaYFYUXuIFuEbvZHwMfYFhUf7aMYjYcmM24+Aj40c=",
  ],
  [
    "the signed example that Kling has published",
    { "webhook-id": "9876543210", "webhook-timestamp": "1781080794" },
    "v1,UsKlJP00XoQyOn410NM9xv34sP+Gl0jnOO9Lcpr7NJ4=",
    '{"id":"1234567890","status":"succeeded","message":"","create_time":1781080778802,"update_time":1781080794151}',
    "whsec_dGVzdHNlY3JldHRlc3RzZWNyZXR0ZXN0c2VjcmV0MTI=",
  ],
])(
  "the signature check of Replicate and Kling hooks, which are signed alike, accepts %s",
  async (_, sent, signature, body, webhookSecret) => {
    const headers = { ...sent, "webhook-signature": signature };
    const now = Number(sent["webhook-timestamp"]) * 1000;
    const connection = { webhookSecret };
    for (const scheme of [REPLICATE, KLING])
      expect(await authenticity(scheme, { headers, body, connection, now })).toBe("signed");
  },
);

it.each([
  ["standardwebhooks", new Webhook(REPLICATE_SECRET)],
  ["svix", new Svix(REPLICATE_SECRET)],
])("a Replicate hook signed by the npm package %s is accepted as signed", async (_, webhook) => {
  const body = REPLICATE.unicodeBody;
  const signature = webhook.sign("msg_0002", new Date(NOW), body);
  const headers = { "webhook-id": "msg_0002", "webhook-signature": signature };
  expect(await authenticity(REPLICATE, { headers, body })).toBe("signed");
  expect(await authenticity(REPLICATE, { headers, body: tampered(body) })).toBe("refused");
});

it("the signature check of Vidu hooks accepts the signed example that Apache APISIX has published", async () => {
  const content = [
    "GET",
    "/index.html",
    "age=36&name=james",
    "user-key",
    "Tue, 19 Jan 2021 11:33:20 GMT",
    "User-Agent:curl/7.29.0",
    "x-custom-a:test",
    "",
  ].join("\n");
  const signatures = [macFromBase64("8XV1GB7Tq23OJcoz6wjqTs4ZLxr9DiLoY4PxzScWGYg=")];
  const verdictOn = async (text: string) =>
    verifyWithText("my-secret-key", signatures, async () => bytesOf(text));
  expect(await verdictOn(content)).toBe(true);
  expect(await verdictOn(content.trimEnd())).toBe(false);
});

it("the signature of a Vidu hook covers the path of the request, but not the body", async () => {
  expect(await authenticity(VIDU, { body: tampered(VIDU.body) })).toBe("unsigned");
  expect(await authenticity(VIDU, { body: "" })).toBe("unsigned");
  expect(await authenticity(VIDU, { path: "/hooks/vidu/" })).toBe("refused");
});

it.each([
  ["as it was sent", "X7THxS7616k32++3dvRlqtMAy9t2JzgjGW/AK6Jxb70="],
  ["with sorted parameters", "gU0RHphZrPL3OaeJhP9U/uZbH+SWcz67N2IYgPrh/5c="],
])(
  "a Vidu hook signed over its query string %s is accepted but treated as unsigned, and refused if the query was changed",
  async (_, signature) => {
    const headers = { "X-HMAC-SIGNATURE": signature };
    expect(await authenticity(VIDU, { headers, query: "b=2&a=1" })).toBe("unsigned");
    expect(await authenticity(VIDU, { headers, query: "b=2&a=2" })).toBe("refused");
    expect(await authenticity(VIDU, { headers, query: "" })).toBe("refused");
  },
);

it.each(["Date", "x-request-nonce", "user-agent"])(
  "a Vidu hook whose signature covers no header but %s is refused, because it could be replayed",
  async (names) => {
    const headers = await signedByVidu({ ...VIDU.headers, "user-agent": "vidu" }, names);
    expect(await authenticity(VIDU, { headers })).toBe("refused");
  },
);

it("the signature of a Vidu hook may cover further headers, in the order and spelling in which the hook lists them", async () => {
  const sent = { ...VIDU.headers, "User-Agent": "vidu/1" };
  const headers = await signedByVidu(sent, "User-Agent;X-Request-Nonce;date");
  expect(await authenticity(VIDU, { headers })).toBe("unsigned");
  expect(await authenticity(VIDU, { headers: { ...headers, "User-Agent": "vidu/2" } })).toBe(
    "refused",
  );
});

it("a Vidu hook whose signature names a header twice is refused, because the signed text could be far longer than the request", async () => {
  const headers = await signedByVidu(VIDU.headers, "Date;x-request-nonce;X-Request-Nonce");
  expect(await authenticity(VIDU, { headers })).toBe("refused");
});

const [version = "", valid = ""] = (WAVESPEED.headers["webhook-signature"] ?? "").split(",");

it.each([
  ["only signature is valid, in upper-case hex", [valid.toUpperCase()], "signed"],
  ["16th is the only valid one", [...wrong(15), valid], "signed"],
  ["17th is the only valid one", [...wrong(16), valid], "refused"],
])(
  "a WaveSpeed hook is accepted as signed if one of its first 16 signatures is valid, and otherwise refused: here the %s",
  async (_, signatures, verdict) => {
    const entries = signatures.map((signature) => `${version},${signature}`);
    const headers = { "webhook-signature": entries.join(" ") };
    expect(await authenticity(WAVESPEED, { headers })).toBe(verdict);
  },
);

it.each([
  ["with the base64-decoded secret instead of its text", "test-key", "ws-0001"],
  ["with an empty webhook-id", "dGVzdC1rZXk=", ""],
])("a WaveSpeed hook is refused when signed %s", async (_, key, id) => {
  const signature = hex(await hmac(key, `${id}.${NOW_S}.${WAVESPEED.body}`));
  const headers = { "webhook-id": id, "webhook-signature": `v3,${signature}` };
  expect(await authenticity(WAVESPEED, { headers })).toBe("refused");
});
