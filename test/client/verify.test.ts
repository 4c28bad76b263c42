import { generateKeyPairSync, sign as signEd25519 } from "node:crypto";
import { Webhook } from "standardwebhooks";
import { beforeEach, expect, it, vi } from "vitest";
import { verify, VerificationError } from "../../client/src/index.ts";

const SECRET = secretOf(1);
const OTHER_SECRET = secretOf(2);
const NOW_S = 1_795_254_355;
const TASK = {
  id: "0edf0c76-03df-4fc8-941b-1cc4f8b7c465",
  status: "completed",
  model: "m",
  created_at: NOW_S - 60,
  completed_at: NOW_S,
  output: { urls: ["https://cdn.example.com/ä.mp4"], metadata: {} },
};
const BODY = JSON.stringify(TASK);
const VERIFIED = { webhookId: "msg_1", sentAt: NOW_S, task: TASK };

const pair = generateKeyPairSync("ed25519");
const raw = pair.publicKey.export({ format: "der", type: "spki" }).subarray(-32);
const PUBLIC_KEY = `whpk_${raw.toString("base64")}`;

function secretOf(byte: number): string {
  return `whsec_${Buffer.alloc(32, byte).toString("base64")}`;
}

/** Returns the headers of a callback, signed with the reference implementation of Standard Webhooks. */
function signed(body: string, sentAt = NOW_S, secret = SECRET): Record<string, string> {
  const signature = new Webhook(secret).sign("msg_1", new Date(sentAt * 1000), body);
  return {
    "webhook-id": "msg_1",
    "webhook-timestamp": String(sentAt),
    "webhook-signature": signature,
  };
}

function asymmetric(body: string): Record<string, string> {
  const content = Buffer.from(`msg_1.${NOW_S}.${body}`);
  const signature = signEd25519(null, content, pair.privateKey).toString("base64");
  return { ...signed(body), "webhook-signature": `v1a,${signature}` };
}

const requestOf = (headers: Record<string, string>, body = BODY) =>
  new Request("https://client.example.com/hook", { method: "POST", headers, body });

beforeEach(() => {
  vi.useFakeTimers({ now: NOW_S * 1000, toFake: ["Date"] });
  return () => vi.useRealTimers();
});

const capitalized = Object.fromEntries(
  Object.entries(signed(BODY)).map(([name, value]) => [name.toUpperCase(), [value]]),
);
it.each<[string, Parameters<typeof verify>]>([
  ["a Request signed with the given secret", [requestOf(signed(BODY)), SECRET]],
  [
    "a plain object of upper-case headers with a body that is a string",
    [{ headers: capitalized, body: BODY }, SECRET],
  ],
  [
    "a Headers object with a body of bytes",
    [{ headers: new Headers(signed(BODY)), body: Buffer.from(BODY) }, SECRET],
  ],
  [
    "a plain object of headers with a body that is an ArrayBuffer",
    [{ headers: signed(BODY), body: new TextEncoder().encode(BODY).buffer }, SECRET],
  ],
  [
    "a Request signed with the second of two given secrets",
    [requestOf(signed(BODY)), [OTHER_SECRET, SECRET]],
  ],
  [
    "a v1a (Ed25519) signature when the public key is given",
    [requestOf(asymmetric(BODY)), PUBLIC_KEY],
  ],
  [
    "a Request with signatures of several versions",
    [
      requestOf({
        ...signed(BODY),
        "webhook-signature": `v1,AAAA v9,x ${asymmetric(BODY)["webhook-signature"]}`,
      }),
      [SECRET, PUBLIC_KEY],
    ],
  ],
])("verify, which checks the signature of a callback, accepts %s", async (_, args) => {
  await expect(verify(...args)).resolves.toEqual(VERIFIED);
});

it.each([NOW_S - 300, NOW_S + 300])(
  "verify, which checks the signature of a callback, accepts the timestamp %i, which is 300 s before or after the time of the check (1795254355)",
  async (sentAt) => {
    await expect(verify(requestOf(signed(BODY, sentAt)), SECRET)).resolves.toMatchObject({
      sentAt,
    });
  },
);

const PROGRESS = { id: "task-1", status: "processing", model: "m", created_at: 1, progress: null };

it("verify reads a progress callback for a receiver that asks for progress, and refuses it for any other", async () => {
  const body = JSON.stringify(PROGRESS);
  const asked = verify(requestOf(signed(body), body), SECRET, { progress: true });
  await expect(asked).resolves.toMatchObject({ task: PROGRESS });
  const other = verify(requestOf(signed(body), body), SECRET);
  await expect(other).rejects.toMatchObject({ failure: "not_a_task" });
});

const without = (name: string) => ({ ...signed(BODY), [name]: "" });
it.each<[string, Request, Partial<VerificationError>]>([
  ["no id", requestOf(without("webhook-id")), { failure: "missing_header", header: "webhook-id" }],
  [
    "no timestamp",
    requestOf(without("webhook-timestamp")),
    { failure: "missing_header", header: "webhook-timestamp" },
  ],
  [
    "no signature",
    requestOf(without("webhook-signature")),
    { failure: "missing_header", header: "webhook-signature" },
  ],
  [
    "a timestamp that is the word today",
    requestOf({ ...signed(BODY), "webhook-timestamp": "today" }),
    { failure: "malformed_header", header: "webhook-timestamp" },
  ],
  [
    "a timestamp that is 301 s old",
    requestOf(signed(BODY, NOW_S - 301)),
    { failure: "too_old", ageS: 301, message: "The timestamp is 301 s old; 300 s are allowed." },
  ],
  [
    "a timestamp that is 301 s in the future",
    requestOf(signed(BODY, NOW_S + 301)),
    { failure: "too_new", ageS: -301 },
  ],
  [
    "a signature made with another secret",
    requestOf(signed(BODY, NOW_S, OTHER_SECRET)),
    { failure: "no_matching_signature", message: expect.stringContaining("key is another one") },
  ],
  ["a changed body", requestOf(signed(BODY), `${BODY} `), { failure: "no_matching_signature" }],
  [
    "only a v1a (Ed25519) signature, when a secret is given",
    requestOf(asymmetric(BODY)),
    { failure: "no_matching_signature", message: expect.stringContaining("has no v1 signature") },
  ],
  [
    "a signature that is not base64",
    requestOf({ ...signed(BODY), "webhook-signature": "v1,%%%" }),
    { failure: "no_matching_signature" },
  ],
  ["a body that is not JSON", requestOf(signed("hello"), "hello"), { failure: "not_json" }],
  ["a body that is a JSON list", requestOf(signed("[]"), "[]"), { failure: "not_a_task" }],
])(
  "verify refuses a callback with %s, in an error that does not contain the secret",
  async (_, request, expected) => {
    const error = await verify(request, SECRET).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(VerificationError);
    expect(error).toMatchObject({ header: null, ageS: null, ...expected });
    expect(String(error)).not.toContain(SECRET.slice("whsec_".length));
  },
);

const read = requestOf(signed(BODY));
await read.text();
const locked = requestOf(signed(BODY));
locked.body?.getReader();
it.each<[string, { headers: Headers | Record<string, string>; body: unknown }]>([
  ["a Request whose body was read before", read],
  ["a Request whose body is locked by another reader", locked],
  ["a body that is an object already parsed from JSON", { headers: signed(BODY), body: TASK }],
  ["a body that is undefined", { headers: signed(BODY), body: undefined }],
])("verify rejects with the failure body_already_read for %s", async (_, request) => {
  const verified: unknown = Reflect.apply(verify, null, [request, SECRET]);
  await expect(verified).rejects.toMatchObject({ failure: "body_already_read" });
});

it.each([
  "",
  "planted",
  "whsec_",
  "whsec_%%",
  PUBLIC_KEY.slice(0, -8),
  PUBLIC_KEY.replace("whpk", "sk"),
  undefined,
  [[]],
])(
  "verify rejects with a TypeError, which does not contain the key, when the receiver passes the invalid key %j",
  async (key) => {
    const verified: unknown = Reflect.apply(verify, null, [requestOf(signed(BODY)), key]);
    const error = await Promise.resolve(verified).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(TypeError);
    expect(String(error)).toBe(
      "TypeError: A key is a secret (whsec_ and base64) or a public key (whpk_ and base64).",
    );
  },
);
