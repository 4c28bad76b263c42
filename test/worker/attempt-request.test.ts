import { env } from "cloudflare:workers";
import { Webhook } from "standardwebhooks";
import { expect, it } from "vitest";
import * as z from "zod";
import { aKey, anAccount } from "./accounts.ts";
import { call, callWith, type Message, post, refusal } from "./client.ts";
import { pass, START_S, useClock } from "./clock.ts";
import { ENDPOINT_URL, endpointPath, putEndpoint, putSecretEndpoint } from "./endpoints.ts";
import { untilIdle, wake } from "./objects.ts";
import { aReceiver, requestAt, status } from "./receiver.ts";
import { secretsOf } from "./secrets.ts";
import { CALLBACK_URL, completed, read, redeliver, register } from "./tasks.ts";

useClock();

const OTHER_URL = "https://client.example.net/repaired";
const Computed = z.strictObject({
  method: z.string(),
  url: z.string(),
  headers: z.record(z.string(), z.string()),
  body: z.string(),
  exact: z.nullable(z.boolean()),
  hidden_headers: z.optional(z.array(z.string())),
  signed_by: z.array(z.looseObject({ scheme: z.string(), age: z.string() })),
});

function requestPath(id: string, number: number | string): string {
  return `/v1/tasks/${id}/attempts/${number}/request`;
}

async function requestOf(id: string, number: number, query = "", message: Message = {}) {
  const { headers, ...rest } = Computed.parse(
    await (await call(requestPath(id, number) + query, message)).json(),
  );
  const names = Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]);
  return { ...rest, headers: Object.fromEntries(names) };
}

it("GET /v1/tasks/{id}/attempts/{number}/request returns the request that a callback attempt sent, even after a redelivery to another URL", async () => {
  const received = aReceiver(status(200));
  const id = await completed();
  pass(5_000);
  await redeliver(id, { callback_url: OTHER_URL });
  await untilIdle(id);
  const signed_by = [
    { scheme: "v1", age: "current" },
    { scheme: "v1a", age: "current", kid: expect.any(String) },
  ];
  for (const number of [1, 2]) {
    const { url, method, headers, body } = requestAt(received, number - 1);
    const sent = { url, method, headers, body, exact: true, signed_by };
    expect(await requestOf(id, number)).toEqual(sent);
  }
  expect(received.map(({ url }) => url)).toEqual([CALLBACK_URL, OTHER_URL]);
  expect(await read(id)).toMatchObject({
    callback: { url: OTHER_URL, attempts: [{ url: CALLBACK_URL, late_ms: 0 }, { late_ms: 0 }] },
  });
});

it("GET /v1/tasks/{id}/attempts/{number}/request returns the request of each attempt with the secret and the names of the headers of the endpoint to which it went", async () => {
  const received = aReceiver(status(200));
  await putSecretEndpoint("first", { own_secret: true });
  await putEndpoint("second", { headers: { "X-Token": "a-value" } });
  const id = await completed({ callback_url: "endpoint:first" });
  for (const order of [
    { endpoint: "second" },
    { callback_url: OTHER_URL },
    { endpoint: "second" },
  ]) {
    pass(5_000);
    await redeliver(id, order);
    await untilIdle(id);
  }
  const hidden = [["Authorization"], ["X-Token"], undefined, ["X-Token"]];
  for (const [at, hidden_headers] of hidden.entries()) {
    const shown = await requestOf(id, at + 1);
    expect(requestAt(received, at)).toMatchObject({ url: shown.url, headers: shown.headers });
    expect(shown).toMatchObject({ exact: true, url: at === 2 ? OTHER_URL : ENDPOINT_URL });
    expect(shown.hidden_headers).toEqual(hidden_headers);
  }
  const { callback } = await read(id);
  expect(callback).toMatchObject({ attempts: [{}, {}, { url: OTHER_URL }, {}] });
  expect(callback).not.toHaveProperty("attempts.0.url");
});

it("GET /v1/tasks/{id}/attempts/{number}/request shows an account with which of its secrets a request is signed, and whether each is still current", async () => {
  aReceiver(status(200));
  const account = await anAccount();
  const id = await completed({ account });
  const { key } = await aKey(account, "read");
  const secrets = [1, 2].map((generation) => ({ scheme: "v1", generation }));
  const named = (...ages: string[]) => ages.map((age, at) => ({ ...secrets[at], age }));
  const before = await requestOf(id, 1, "", { key });
  const key1a = { scheme: "v1a" };
  expect(before.signed_by).toMatchObject([...named("current", "next"), key1a]);
  await post(`/v1/accounts/${account}/signing-secrets`, { generation: 1 });
  const after = await requestOf(id, 1, "", { key });
  expect(after.signed_by).toMatchObject([...named("previous", "current"), key1a]);
  expect(after.exact).toBe(true);
});

it("after RELAY_SECRET has changed, GET /v1/tasks/{id}/attempts/{number}/request says that the request it shows is not exactly the one that was sent", async () => {
  aReceiver(status(200));
  const id = await completed();
  const other = { ...env, RELAY_SECRET: "a-newer-test-only-secret-0123456789abcdef" };
  const answer = await callWith(other, requestPath(id, 1));
  expect(await answer.json()).toMatchObject({ exact: false });
});

it("GET /v1/tasks/{id}/attempts/{number}/request?fresh=true returns the callback signed for the present time, and answers 403 to a key with the role read", async () => {
  const received = aReceiver(status(200));
  const account = await anAccount();
  const id = await completed({ account });
  pass(600_000);
  const { url, headers, body, exact } = await requestOf(id, 1, "?fresh=true");
  expect({ url, body, exact }).toEqual({
    url: CALLBACK_URL,
    body: requestAt(received, 0).body,
    exact: false,
  });
  expect(headers["x-timestamp"]).toBe(String(START_S + 600));
  const [secret = ""] = await accountSecretsOf(account);
  expect(() => new Webhook(secret).verify(body, headers)).not.toThrow();
  const { key } = await aKey(account, "read");
  const forbidden = await call(`${requestPath(id, 1)}?fresh=true`, { key });
  expect(await refusal(forbidden)).toEqual({ status: 403, code: "forbidden" });
});

function accountSecretsOf(account: string): Promise<readonly string[]> {
  return secretsAt(`/v1/accounts/${account}/signing-secrets`);
}

async function secretsAt(path: string): Promise<readonly string[]> {
  const Secrets = z.looseObject({ callbacks: z.array(z.string()) });
  return Secrets.parse(await (await call(path)).json()).callbacks;
}

it.each([
  ["an attempt that has not been made", () => completed(), "2", { status: 404, code: "not_found" }],
  ["an attempt that is no number", () => completed(), "x", { status: 404, code: "not_found" }],
  ["a task that is open", () => register(), "1", { status: 409, code: "task_open" }],
  [
    "a task without a callback_url",
    () => completed({ callback_url: null }),
    "1",
    { status: 409, code: "no_callback" },
  ],
])(
  "GET /v1/tasks/{id}/attempts/{number}/request answers 404 or 409 for %s",
  async (_, taskOf, number, refused) => {
    aReceiver(status(200));
    expect(await refusal(await call(requestPath(await taskOf(), number)))).toEqual(refused);
  },
);

it("POST /v1/tasks/{id}/verify says whether a callback that a server received is valid, stale (too old) or invalid, and names the fault", async () => {
  const received = aReceiver(status(500));
  const id = await completed();
  const { headers, body } = requestAt(received, 0);
  const judged = async (changes: object) =>
    (await post(`/v1/tasks/${id}/verify`, { headers, body, ...changes })).json();
  expect(await judged({})).toMatchObject({ verdict: "valid", attempt: 1, age_s: 0, faults: [] });
  pass(412_000);
  const old = { code: "too_old", by_s: 112 };
  expect(await judged({})).toMatchObject({ verdict: "stale", age_s: 412, faults: [old] });
  expect(await judged({ received_at: START_S + 1 })).toMatchObject({ verdict: "valid" });
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
  const text = { headers: lines.join("\n"), body: JSON.stringify(JSON.parse(body), null, 1) };
  expect(await judged(text)).toMatchObject({
    verdict: "invalid",
    faults: [{ code: "body_reserialised", byte: 1 }, old],
  });
});

it("POST /v1/tasks/{id}/verify says so when a received callback is signed with the secret for events instead of a secret for callbacks", async () => {
  aReceiver(status(200));
  const id = await completed();
  const { headers, body } = await requestOf(id, 1);
  const by = new Webhook((await secretsOf()).events[0] ?? "");
  const signature = by.sign(`msg_${id}`, new Date(START_S * 1000), body);
  const forged = { ...headers, "webhook-signature": signature };
  const answer = await post(`/v1/tasks/${id}/verify`, { headers: forged, body });
  const message =
    "No signature of the header was made with a secret of the relay itself, which signs callbacks of tasks without an account, but with the secret for events of upstreams.";
  const cure = expect.stringContaining("GET /v1/signing-secrets");
  const verdict = await answer.json();
  expect(verdict).toMatchObject({ faults: [{ code: "wrong_secret", message, cure }] });
  expect(verdict).not.toHaveProperty("account");
});

/** Returns the headers of a task's callback with the signature of a secret, and its body. */
async function signedWith(secret: string, id: string) {
  const { headers, body } = await requestOf(id, 1);
  const signature = new Webhook(secret).sign(`msg_${id}`, new Date(START_S * 1000), body);
  return { headers: { ...headers, "webhook-signature": signature }, body };
}

/** Returns the verdict on the first attempt of a task's callback as the relay itself has sent it. */
async function verdictOnOwn(id: string): Promise<unknown> {
  const { headers, body } = await requestOf(id, 1);
  return await (await post(`/v1/tasks/${id}/verify`, { headers, body })).json();
}

const Verdict = z.looseObject({ faults: z.array(z.looseObject({})) });

/** Returns the first fault of a task's callback with the signature of a secret. */
async function faultOf(id: string, secret: string): Promise<unknown> {
  const answer = await post(`/v1/tasks/${id}/verify`, await signedWith(secret, id));
  return Verdict.parse(await answer.json()).faults[0];
}

const rotate = (account: string) => post(`/v1/accounts/${account}/signing-secrets`, "");

it.each(["operator", "account"])(
  "POST /v1/tasks/{id}/verify, asked by the %s, says that a replaced secret of the account has signed, also when the callback is too old",
  async (by) => {
    aReceiver(status(200));
    const account = await anAccount();
    const { key: ownKey } = await aKey(account);
    const [first = ""] = await accountSecretsOf(account);
    for (let times = 0; times < 3; times++) await rotate(account);
    const id = await completed({ account });
    const received = await signedWith(first, id);
    pass(412_000);
    const key = by === "operator" ? {} : { key: ownKey };
    expect(await (await post(`/v1/tasks/${id}/verify`, received, key)).json()).toMatchObject({
      verdict: "invalid",
      account,
      faults: [
        {
          code: "wrong_secret",
          message: `No signature of the header was made with a secret of the account ${account}, which signs the callbacks of its tasks, but with secret no. 1 of the account ${account}, which a rotation has replaced.`,
        },
        { code: "too_old", by_s: 112 },
      ],
    });
  },
);

it("POST /v1/tasks/{id}/verify says whose secret has signed: for a task of an account its own, for another one the relay's", async () => {
  aReceiver(status(200));
  const account = await anAccount();
  const own = await completed({ account });
  expect(await verdictOnOwn(own)).toMatchObject({
    signed_with: `secret no. 1 (current) of the account ${account}, not a secret of the relay itself`,
  });
  pass(412_000);
  expect(await verdictOnOwn(await completed())).toMatchObject({
    signed_with: "the current secret of the relay itself, not that of an account",
  });
});

it.each(["account", "relay"])(
  "POST /v1/tasks/{id}/verify tells the secret of an endpoint of the %s from that of its owner, and which has signed in place of the other",
  async (kind) => {
    aReceiver(status(200));
    const place = kind === "account" ? { account: await anAccount() } : {};
    const { account } = place;
    const owner = account === undefined ? "the relay itself" : `the account ${account}`;
    const endpoint = `the endpoint orders of ${account === undefined ? "the relay" : owner}`;
    await putEndpoint("orders", { own_secret: true }, place);
    const path = `${endpointPath("orders", account)}/signing-secrets`;
    const [own = ""] = await secretsAt(path);
    const [ofOwner = ""] =
      account === undefined ? (await secretsOf()).callbacks : await accountSecretsOf(account);
    const addressed = () => completed({ ...place, callback_url: "endpoint:orders" });
    const id = await addressed();

    expect(await verdictOnOwn(id)).toMatchObject({
      signed_with: expect.stringMatching(
        `^secret no. 1 .current. of ${endpoint}, not that of the `,
      ),
    });
    expect(await faultOf(id, ofOwner)).toMatchObject({
      message: expect.stringMatching(
        `with a secret of ${endpoint}, which signs the callbacks to it, but with .* of ${owner}.$`,
      ),
      cure: expect.stringContaining(`GET ${path}.`),
    });
    expect(await faultOf(await completed(place), own)).toMatchObject({
      message: expect.stringMatching(
        `a secret of ${owner}, .*, but with secret no. 1 of ${endpoint}.$`,
      ),
    });
    for (let times = 0; times < 3; times++) await post(path, "");
    expect(await faultOf(await addressed(), own)).toMatchObject({
      message: expect.stringMatching(`no. 1 of ${endpoint}, which a rotation has replaced.$`),
    });
  },
);

it("POST /v1/tasks/{id}/verify says of a task older than two rotations that only replaced secrets sign its callbacks", async () => {
  aReceiver(status(200));
  const account = await anAccount();
  const id = await completed({ account });
  for (let times = 0; times < 2; times++) await rotate(account);
  expect(await verdictOnOwn(id)).toMatchObject({
    verdict: "valid",
    signed_with: `secret no. 1 (previous) of the account ${account}, not a secret of the relay itself`,
    faults: [{ code: "old_secret" }],
  });
});

it("GET of a task shows for its second callback attempt how late it was after its planned time, and how long after the end of the task it came", async () => {
  aReceiver(status(500));
  const id = await completed();
  await wake(id, 180_040);
  expect(await read(id)).toMatchObject({
    callback: {
      attempts: [
        { late_ms: 0, after_ms: 0 },
        { late_ms: 40, after_ms: 180_040 },
      ],
    },
  });
});
