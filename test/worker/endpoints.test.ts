import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { Webhook } from "standardwebhooks";
import { expect, it, vi } from "vitest";
import * as z from "zod";
import { profileObject } from "../../src/objects/object-names.ts";
import { isReservedHeader } from "../../src/security/reserved-headers.ts";
import { aKey, anAccount, priced } from "./accounts.ts";
import { call, callWith, invalid, post, refusal } from "./client.ts";
import { pass, START_S, until, useClock } from "./clock.ts";
import {
  deleteEndpoint,
  ENDPOINT_URL,
  endpointPath,
  HEADER_SECRET,
  putEndpoint,
  putSecretEndpoint,
} from "./endpoints.ts";
import { restart, stored, untilIdle, wake } from "./objects.ts";
import type { Sent } from "./outside.ts";
import { aReceiver, requestAt, status } from "./receiver.ts";
import { started } from "./started.ts";
import { anArk, ARK, BINDINGS, named, submit } from "./submitted.ts";
import {
  aCompletion,
  aFailure,
  CALLBACK_URL,
  finish,
  read,
  redeliver,
  register,
  report,
} from "./tasks.ts";

useClock();

const OTHER_URL = "https://other.example.net/hook";
const VIEW = {
  name: "orders",
  url: ENDPOINT_URL,
  headers: ["Authorization"],
  schedule_s: null,
  events: ["completed", "failed"],
  own_secret: false,
  created_at: START_S,
  changed_at: START_S,
};
/** Headers of which one has the name `__proto__`, as `JSON.parse` reads it. */
const PROTO: unknown = JSON.parse('{"X-A": "1", "__proto__": "2"}');
const Secrets = z.object({ generation: z.int(), callbacks: z.array(z.string()) });

/** Registers a task without a callback URL, and returns its id. */
function unaddressed(fields: object = {}): Promise<string> {
  return register({ callback_url: null, ...fields });
}

/** Registers a task whose callback goes to an endpoint of the account, and returns its id. */
function addressed(account: string, name = "orders", fields: object = {}): Promise<string> {
  return register({ account, callback_url: `endpoint:${name}`, ...fields });
}

async function secretsAt(path: string) {
  return Secrets.parse(await (await call(`${path}/signing-secrets`)).json());
}

/** Returns the endpoints of an account as they are stored. */
async function storedEndpointsOf(account: string): Promise<readonly unknown[]> {
  const profile = profileObject(await started(env), account);
  return runInDurableObject(profile, (_, { storage }) =>
    Array.from(storage.kv.list({ prefix: "endpoint:" }), ([, endpoint]) => endpoint),
  );
}

/** Tells whether a callback is signed with a secret. */
function isSignedWith({ body, headers }: Sent, secret: string | undefined): boolean {
  try {
    new Webhook(secret ?? "").verify(body, headers);
    return true;
  } catch {
    return false;
  }
}

it("an endpoint is created with 201, replaced with 200, read, listed by name, and deleted with 204 also the second time", async () => {
  const account = await anAccount();
  const created = await putSecretEndpoint("orders", {}, { account });
  expect([created.status, await created.json()]).toEqual([201, VIEW]);
  pass(5_000);
  const replaced = await putSecretEndpoint("orders", {}, { account });
  const changed = { ...VIEW, changed_at: START_S + 5 };
  expect([replaced.status, await replaced.json()]).toEqual([200, changed]);
  await putEndpoint("a", {}, { account });
  expect(await (await call(endpointPath("orders", account))).json()).toEqual(changed);
  const list = await call(endpointPath("", account));
  expect(await list.json()).toEqual({
    data: [{ ...changed, name: "a", headers: [], created_at: START_S + 5 }, changed],
  });
  for (const _ of [1, 2]) {
    expect((await deleteEndpoint("orders", { account })).status).toBe(204);
  }
  expect(await refusal(await call(endpointPath("orders", account)))).toEqual({
    status: 404,
    code: "not_found",
  });
});

it("a full key of an account changes its own endpoints alone, a read key none; the relay's own need an operator with the role operate", async () => {
  const [account, other] = [await anAccount(), await anAccount()];
  const { key } = await aKey(account);
  const { key: readKey } = await aKey(account, "read");
  const statuses = [
    await putEndpoint("orders", {}, { account, key }),
    await call(endpointPath("", account), { key: readKey }),
    await putEndpoint("orders", {}, { account: other, key }),
    await putEndpoint("orders", {}, { key }),
    await putEndpoint("orders", {}, { account: "acct_none" }),
  ].map((response) => response.status);
  expect(statuses).toEqual([201, 403, 404, 403, 404]);
});

it.each<[what: string, settings: object, path: string]>([
  ["a private URL", { url: "https://10.0.0.1/" }, "/url"],
  ["another endpoint as its URL", { url: "endpoint:a" }, "/url"],
  ["nine headers", { headers: Object.fromEntries(many(9)) }, "/headers"],
  ["a header twice", { headers: { "X-A": "1", "x-a": "2" } }, "/headers"],
  ["a header of the signature", { headers: { "Webhook-Id": "1" } }, "/headers/Webhook-Id"],
  ["a header of the event", { headers: { "x-event": "1" } }, "/headers/x-event"],
  ["the header Host", { headers: { Host: "a.example" } }, "/headers/Host"],
  ["the type of the body", { headers: { "content-type": "a/b" } }, "/headers/content-type"],
  ["a header of the connection", { headers: { Connection: "close" } }, "/headers/Connection"],
  ["a name with a blank", { headers: { "X A": "1" } }, "/headers/X A"],
  ["a value with a line feed", { headers: { "X-A": "a\nX-B: b" } }, "/headers/X-A"],
  ["a header named __proto__", { headers: PROTO }, "/headers/__proto__"],
  ["an empty value", { headers: { "X-A": "" } }, "/headers/X-A"],
  ["a value of 4,097 characters", { headers: { "X-A": "a".repeat(4_097) } }, "/headers/X-A"],
  ["eleven waits", { schedule_s: Array.from({ length: 11 }, () => 0) }, "/schedule_s"],
  ["an unknown event", { events: ["started"] }, "/events/0"],
  ["no event", { events: [] }, "/events"],
  ["an event twice", { events: ["failed", "failed"] }, "/events"],
  ["an unknown member", { secret: "a" }, "/secret"],
])("an endpoint with %s is refused, and the refusal names the field", async (_what, body, path) => {
  expect(await refusal(await putEndpoint("orders", body))).toEqual(invalid(path));
});

it("an endpoint keeps its headers when its change says so and leaves its URL; with another URL, with new headers or without any the change is refused", async () => {
  const account = await anAccount();
  await putSecretEndpoint("orders", {}, { account });
  const keep = { keep_headers: true };
  const kept = await putEndpoint("orders", { ...keep, events: ["failed"] }, { account });
  expect(await kept.json()).toMatchObject({ headers: ["Authorization"], events: ["failed"] });
  const refused = [
    await putEndpoint("orders", { ...keep, url: `${ENDPOINT_URL}/` }, { account }),
    await putEndpoint("orders", { ...keep, headers: { "X-A": "1" } }, { account }),
    await putEndpoint("new", keep, { account }),
  ];
  expect(await Promise.all(refused.map(refusal))).toEqual(
    refused.map(() => invalid("/keep_headers")),
  );
  const received = aReceiver();
  await finish(aFailure(await addressed(account)));
  const { url, headers } = requestAt(received, 0);
  expect([url, headers["authorization"]]).toEqual([ENDPOINT_URL, `Bearer ${HEADER_SECRET}`]);
  await putEndpoint("orders", {}, { account });
  const replaced = await putEndpoint("orders", keep, { account });
  expect(await refusal(replaced)).toEqual(invalid("/keep_headers"));
});

it("an endpoint may have a name of 40 characters, eight headers, a value of 4,096 characters, and ten waits or the word day", async () => {
  const headers = { ...Object.fromEntries(many(7)), "X-Long": "a".repeat(4_096) };
  const account = await anAccount();
  const waits = [...Array.from({ length: 9 }, () => 0), 86_400];
  for (const [given, schedule_s] of [
    [waits, waits],
    ["day", [0, 5, 300, 1_800, 7_200, 18_000, 36_000, 36_000]],
  ]) {
    const settings = { headers, schedule_s: given };
    const response = await putEndpoint("a".repeat(40), settings, { account });
    expect(await response.json()).toMatchObject({ headers: Object.keys(headers), schedule_s });
  }
});

it("an account may have 20 endpoints, of which each may still be replaced; after a deletion there is room for another", async () => {
  const account = await anAccount();
  const statusOf = async (number: number) =>
    (await putEndpoint(`e-${number}`, {}, { account })).status;
  for (let number = 1; number <= 20; number++) expect(await statusOf(number)).toBe(201);
  expect(await refusal(await putEndpoint("e-21", {}, { account }))).toEqual({
    status: 409,
    code: "endpoints_full",
  });
  expect(await statusOf(20)).toBe(200);
  await deleteEndpoint("e-1", { account });
  expect(await statusOf(21)).toBe(201);
});

it.each(["Orders", "a_b", "a".repeat(41)])("the endpoint name %j is refused", async (name) => {
  const account = await anAccount();
  for (const place of [{}, { account }]) {
    expect(await refusal(await putEndpoint(name, {}, place))).toEqual(invalid("/endpoint"));
  }
});

it("waits of an endpoint that together are longer than RETENTION_DAYS are refused", async () => {
  const body = { url: ENDPOINT_URL, schedule_s: [86_400, 1] };
  const isolate = { ...BINDINGS, RETENTION_DAYS: "1" };
  const response = await callWith(isolate, endpointPath("x"), { method: "PUT", body });
  expect(await refusal(response)).toEqual(invalid("/schedule_s"));
});

it("a task that names an endpoint sends its callback to the URL of the endpoint, with its headers and after its waits, and shows its name", async () => {
  const account = await anAccount();
  await putSecretEndpoint("orders", { schedule_s: [0, 7] }, { account });
  const id = await addressed(account);
  expect(await read(id)).toMatchObject({
    callback: { url: ENDPOINT_URL, endpoint: "orders", schedule_s: [0, 7], status: "waiting" },
  });
  const received = aReceiver(status(500));
  await finish(aCompletion(id));
  expect(await read(id)).toMatchObject({
    callback: { endpoint: "orders", status: "retrying", next_attempt_at: START_S + 7 },
  });
  const request = requestAt(received, 0);
  expect(request.url).toBe(ENDPOINT_URL);
  expect(request.headers).toMatchObject({ authorization: `Bearer ${HEADER_SECRET}` });
  const own = Object.keys(request.headers).filter((name) => !isReservedHeader(name));
  expect(own).toEqual(["authorization"]);
});

it("a change and a deletion of an endpoint while attempts are planned change neither the times nor the requests of the task, and hold for later tasks", async () => {
  const account = await anAccount();
  await putSecretEndpoint("orders", { schedule_s: [0, 7, 9] }, { account });
  const id = await addressed(account);
  const received = aReceiver(status(500));
  await finish(aCompletion(id));
  await putEndpoint("orders", { url: OTHER_URL, schedule_s: [1], own_secret: true }, { account });
  for (const waitS of [7, 9]) {
    if (waitS === 9) await deleteEndpoint("orders", { account });
    pass(waitS * 1_000);
    await wake(id);
    await untilIdle(id);
  }
  expect(await read(id)).toMatchObject({
    callback: { endpoint: "orders", schedule_s: [0, 7, 9], status: "failed" },
  });
  expect(received.map(({ url }) => url)).toEqual([ENDPOINT_URL, ENDPOINT_URL, ENDPOINT_URL]);
  for (const request of received) {
    expect(request.headers).toMatchObject({ authorization: `Bearer ${HEADER_SECRET}` });
  }
  const late = { model: "m", account, callback_url: "endpoint:orders" };
  expect(await refusal(await post("/v1/tasks", late))).toMatchObject({ code: "unknown_endpoint" });
});

it("a task without a receiver gets the endpoint named default: of its account or, without an account, of the relay", async () => {
  const account = await anAccount(10);
  await putEndpoint("default", {}, { account });
  await putEndpoint("default", { url: OTHER_URL });
  const charged = priced(account, 3, { callback_url: null });
  expect((await post("/v1/tasks", charged)).status).toBe(201);
  const tasks = [await unaddressed({ account }), charged.id, await unaddressed()];
  const callbacks = await Promise.all(tasks.map(async (id) => (await read(id))["callback"]));
  expect(callbacks).toMatchObject([
    { endpoint: "default", url: ENDPOINT_URL },
    { endpoint: "default", url: ENDPOINT_URL },
    { endpoint: "default", url: OTHER_URL },
  ]);
  const addressedTask = await register();
  expect(await read(addressedTask)).toMatchObject({ callback: { url: CALLBACK_URL } });
  await deleteEndpoint("default");
  expect(await read(await unaddressed())).toMatchObject({ callback: null });
});

it("an event that creates a task may name an endpoint", async () => {
  const account = await anAccount();
  await putEndpoint("orders", {}, { account });
  const received = aReceiver();
  const id = crypto.randomUUID();
  const fields = { model: "m", account, callback_url: "endpoint:orders" };
  await report(aCompletion(id, fields));
  await untilIdle(id);
  expect(requestAt(received, 0).url).toBe(ENDPOINT_URL);
});

it("a submission may name an endpoint of its account as Relay-Callback-Url", async () => {
  anArk();
  const account = await anAccount();
  await putEndpoint("orders", {}, { account });
  const { id, headers } = named({
    "Relay-Account": account,
    "Relay-Callback-Url": "endpoint:orders",
  });
  expect((await submit({ headers })).status).toBe(200);
  expect(await read(id)).toMatchObject({ callback: { endpoint: "orders", url: ENDPOINT_URL } });
});

it("the name of an endpoint that does not exist, or that only the relay or another account has, is refused before anything is charged or sent", async () => {
  const outside = anArk();
  const [account, other] = [await anAccount(10), await anAccount()];
  await putEndpoint("relays");
  await putEndpoint("others", {}, { account: other });
  for (const name of ["none", "relays", "others", "A B"]) {
    const callback_url = `endpoint:${name}`;
    const body = { model: "m", callback_url };
    const headers = { "Relay-Account": account, "Relay-Callback-Url": callback_url };
    const answers = [
      await post("/v1/tasks", priced(account, 3, { callback_url })),
      await report(aCompletion(crypto.randomUUID(), { ...body, account })),
      await submit(named({ ...headers, "Relay-Credits": "3" })),
    ];
    const unknown = { status: 400, code: "unknown_endpoint" };
    expect(await Promise.all(answers.map(refusal))).toEqual([
      { ...unknown, paths: ["/callback_url"] },
      { ...unknown, paths: ["/callback_url"] },
      { ...unknown, paths: ["/Relay-Callback-Url"] },
    ]);
  }
  expect(await (await call(`/v1/accounts/${account}`)).json()).toMatchObject({ balance: 10 });
  expect(outside.sentTo(ARK)).toEqual([]);
});

it("a registration that is repeated after its endpoint was deleted finds its task; one that names another endpoint conflicts", async () => {
  const account = await anAccount();
  await putEndpoint("orders", {}, { account });
  const body = { id: crypto.randomUUID(), model: "m", account, callback_url: "endpoint:orders" };
  const statuses = [(await post("/v1/tasks", body)).status];
  await deleteEndpoint("orders", { account });
  statuses.push((await post("/v1/tasks", body)).status);
  statuses.push((await post("/v1/tasks", { ...body, callback_url: "endpoint:b" })).status);
  expect(statuses).toEqual([201, 200, 409]);
});

it("when an endpoint does not receive the event completed, a completed task sends it nothing and shows no callback", async () => {
  const account = await anAccount();
  await putEndpoint("orders", { events: ["failed", "progress"] }, { account });
  const received = aReceiver();
  const [completed, failed] = [await addressed(account), await addressed(account)];
  await report(aCompletion(completed));
  await report(aFailure(failed));
  await untilIdle(completed);
  await untilIdle(failed);
  expect(await read(completed)).toMatchObject({ callback: null });
  expect(await read(failed)).toMatchObject({ callback: { status: "delivered" } });
  expect(received.map(({ headers }) => headers["x-task-id"])).toEqual([failed]);
});

it("a redelivery to an endpoint goes to the endpoint as it is now; one to another URL gets neither its headers nor its name", async () => {
  const account = await anAccount();
  const { key } = await aKey(account);
  const id = await register({ account });
  const received = aReceiver();
  await finish(aCompletion(id));
  await putSecretEndpoint("orders", {}, { account });
  expect((await redeliver(id, { endpoint: "orders" })).status).toBe(202);
  await untilIdle(id);
  expect(await read(id)).toMatchObject({ callback: { endpoint: "orders", url: ENDPOINT_URL } });
  expect((await redeliver(id, { endpoint: "orders" }, { key })).status).toBe(202);
  await untilIdle(id);
  expect((await redeliver(id, { callback_url: OTHER_URL }, { key })).status).toBe(202);
  await untilIdle(id);
  expect((await read(id))["callback"]).not.toHaveProperty("endpoint");
  const sent = received.map(({ url, headers }) => [url, "authorization" in headers]);
  expect(sent).toEqual([
    [CALLBACK_URL, false],
    [ENDPOINT_URL, true],
    [ENDPOINT_URL, true],
    [OTHER_URL, false],
  ]);
});

it("a redelivery to an unknown endpoint is refused, and so is one beside a URL, or under the key of an order to another receiver", async () => {
  const account = await anAccount();
  await putEndpoint("orders", {}, { account });
  const id = await addressed(account);
  aReceiver();
  await finish(aCompletion(id));
  const headers = { "Idempotency-Key": "k" };
  expect(await refusal(await redeliver(id, { endpoint: "none" }))).toEqual({
    status: 400,
    code: "unknown_endpoint",
    paths: ["/endpoint"],
  });
  const both = { endpoint: "orders", callback_url: CALLBACK_URL };
  expect(await refusal(await redeliver(id, both))).toEqual(invalid("/endpoint"));
  expect((await redeliver(id, { endpoint: "orders" }, { headers })).status).toBe(202);
  await untilIdle(id);
  const again = await redeliver(id, { endpoint: "orders" }, { headers });
  expect(again.headers.get("Idempotent-Replayed")).toBe("true");
  expect(await refusal(await redeliver(id, {}, { headers }))).toMatchObject({
    code: "idempotency_key_reused",
  });
  const unknown = crypto.randomUUID();
  expect((await redeliver(unknown, { endpoint: "orders" })).status).toBe(404);
  const asUrl = await redeliver(id, { callback_url: "endpoint:orders" });
  expect(await asUrl.json()).toMatchObject({
    issues: [{ path: "/callback_url", message: "must be a URL: an endpoint is named as endpoint" }],
  });
});

it("an endpoint with a secret of its own signs with it, also after a rotation, and another one after it was created again", async () => {
  const account = await anAccount();
  const path = endpointPath("orders", account);
  await putEndpoint("orders", { own_secret: true }, { account });
  const id = await addressed(account);
  const first = await secretsAt(path);
  const rotation = { generation: first.generation };
  for (const _ of [1, 2]) await post(`${path}/signing-secrets`, rotation);
  const rotated = await secretsAt(path);
  expect(rotated).toEqual({ generation: 2, callbacks: [expect.any(String), first.callbacks[0]] });
  const received = aReceiver();
  await finish(aCompletion(id));
  const request = requestAt(received, 0);
  const ofAccount = await secretsAt(`/v1/accounts/${account}`);
  const signed = [...rotated.callbacks, ...ofAccount.callbacks].map((secret) =>
    isSignedWith(request, secret),
  );
  expect(signed).toEqual([true, true, false]);
  const shown = await (await call(`/v1/tasks/${id}/attempts/1/request`)).json();
  expect(shown).toMatchObject({
    exact: true,
    signed_by: expect.arrayContaining([
      { scheme: "v1", age: "previous", generation: 1, endpoint: "orders" },
      { scheme: "v1", age: "current", generation: 2, endpoint: "orders" },
    ]),
  });
  await deleteEndpoint("orders", { account });
  await putEndpoint("orders", { own_secret: true }, { account });
  expect((await secretsAt(path)).callbacks).not.toEqual(first.callbacks);
});

it("an endpoint that is replaced keeps its own secret, so that its receiver need not change", async () => {
  const path = endpointPath("kept");
  await putEndpoint("kept", { own_secret: true });
  const first = await secretsAt(path);
  await putEndpoint("kept", { url: OTHER_URL, own_secret: true });
  expect(await secretsAt(path)).toEqual(first);
});

it("progress goes to an endpoint that takes it, with the headers of the endpoint, signed with its own secret", async () => {
  const account = await anAccount();
  await putSecretEndpoint("orders", { events: ["progress"], own_secret: true }, { account });
  const id = await addressed(account);
  const received = aReceiver();
  await report({ id, status: "processing" });
  await until(() => received.length > 0);
  const request = requestAt(received, 0);
  expect(request).toMatchObject({
    url: ENDPOINT_URL,
    headers: { "x-event": "task.processing", authorization: `Bearer ${HEADER_SECRET}` },
  });
  const [secret] = (await secretsAt(endpointPath("orders", account))).callbacks;
  expect(isSignedWith(request, secret)).toBe(true);
});

it("an endpoint without a secret of its own has none to read", async () => {
  await putEndpoint("plain");
  const response = await call(`${endpointPath("plain")}/signing-secrets`);
  expect(await refusal(response)).toEqual({ status: 404, code: "not_found" });
});

it("a test callback goes to an endpoint with its headers; it needs a URL or an endpoint", async () => {
  const account = await anAccount();
  const { key } = await aKey(account);
  await putSecretEndpoint("orders", {}, { account });
  const received = aReceiver(status(204));
  const response = await post("/v1/callbacks/test", { endpoint: "orders" }, { key });
  expect(await response.json()).toMatchObject({
    outcome: "delivered",
    request: { url: ENDPOINT_URL, hidden_headers: ["Authorization"] },
  });
  expect(requestAt(received, 0).headers).toMatchObject({
    authorization: `Bearer ${HEADER_SECRET}`,
  });
  const answers = [
    await post("/v1/callbacks/test", {}),
    await post("/v1/callbacks/test", { endpoint: "orders", callback_url: CALLBACK_URL }),
    await post("/v1/callbacks/test", { endpoint: "orders" }),
  ];
  expect(await Promise.all(answers.map(refusal))).toEqual([
    invalid("/callback_url"),
    invalid("/callback_url"),
    { status: 400, code: "unknown_endpoint", paths: ["/endpoint"] },
  ]);
});

it("no answer, record or log line contains the value of an endpoint's header, also when the receiver repeats it", async () => {
  const lines = ["log", "warn", "error"] as const;
  const logged = lines.map((name) => vi.spyOn(console, name));
  const account = await anAccount();
  const { key } = await aKey(account);
  const answers = [await putSecretEndpoint("orders", { schedule_s: [0] }, { account })];
  const id = await addressed(account);
  const cut = HEADER_SECRET.slice(0, 12);
  aReceiver(
    status(500, `you sent ${HEADER_SECRET}, ${btoa(HEADER_SECRET)}`),
    status(500, `${"a".repeat(1_024 - cut.length)}${HEADER_SECRET}`),
    () => new Response(null, { status: 503, headers: { "Retry-After": HEADER_SECRET } }),
  );
  await finish(aCompletion(id));
  for (const _ of [1, 2]) {
    expect((await redeliver(id, { endpoint: "orders" })).status).toBe(202);
    await untilIdle(id);
  }
  const task = `/v1/tasks/${id}`;
  const paths = [
    endpointPath("orders", account),
    endpointPath("", account),
    `/v1/accounts/${account}`,
    task,
    `${task}/attempts/1/request`,
    `${task}/attempts/1/request?fresh=true`,
  ];
  for (const path of paths) answers.push(await call(path));
  answers.push(await post("/v1/callbacks/test", { endpoint: "orders" }, { key }));
  const texts = await Promise.all(answers.map((answer) => answer.text()));
  expect(texts.join()).toContain("you sent …");
  const kept = JSON.stringify([await stored(id), await storedEndpointsOf(account)]);
  expect(await storedEndpointsOf(account)).toHaveLength(1);
  const seen = [...texts, kept, JSON.stringify(logged.map(({ mock }) => mock))];
  expect(seen.filter((text) => text.includes(cut))).toEqual([]);
});

it("headers that no relay secret can decrypt any more block the attempt, and the log names the endpoint", async () => {
  const received = aReceiver();
  await putSecretEndpoint("sealed");
  const id = await register({ callback_url: "endpoint:sealed" });
  const later = { ...env, RELAY_SECRET: "n".repeat(32) };
  const warned = vi.spyOn(console, "error");
  const body = { endpoint: "sealed" };
  const response = await callWith(later, "/v1/callbacks/test", { body });
  expect(await response.json()).toMatchObject({ outcome: "blocked" });
  expect(JSON.stringify(warned.mock.calls)).toContain("callback.headers_unreadable");
  expect(received).toEqual([]);
  expect(await read(id)).toMatchObject({ callback: { endpoint: "sealed" } });
});

it("nothing is sent to an endpoint whose URL the relay's settings forbid since its creation: the attempt of a task is blocked, and a test and a redelivery are refused", async () => {
  const received = aReceiver();
  await putEndpoint("forbidden");
  const id = await register({ callback_url: "endpoint:forbidden" });
  const later = { ...env, PUBLIC_URL: new URL(ENDPOINT_URL).origin };
  await restart(id, later);
  await finish(aCompletion(id));
  expect(await read(id)).toMatchObject({
    callback: { endpoint: "forbidden", attempts: [{ outcome: "blocked" }] },
  });
  const body = { endpoint: "forbidden" };
  const orders = ["/v1/callbacks/test", `/v1/tasks/${id}/redeliver`];
  const answers = orders.map((path) => callWith(later, path, { body }));
  for (const answer of await Promise.all(answers)) {
    expect(await refusal(answer)).toEqual(invalid("/endpoint"));
  }
  expect(received).toEqual([]);
});

it("a deleted account has no endpoints, and stores none", async () => {
  const account = await anAccount();
  await putEndpoint("orders", {}, { account });
  const isolate = BINDINGS;
  const path = `/v1/accounts/${account}?force=true`;
  await callWith(isolate, path, { method: "DELETE" });
  expect((await call(endpointPath("orders", account))).status).toBe(404);
  expect((await putEndpoint("orders", {}, { account })).status).toBe(404);
  expect(await storedEndpointsOf(account)).toEqual([]);
});

function many(count: number): [string, string][] {
  return Array.from({ length: count }, (_, number) => [`X-${number}`, "1"]);
}
