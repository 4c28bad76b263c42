import { expect, it, vi } from "vitest";
import * as z from "zod";
import { ConnectionObject } from "../../src/objects/connection/connection-object.ts";
import { aKey, anAccount, anImportedKey, balanceOf } from "./accounts.ts";
import { logIn, visit } from "./browser.ts";
import { callWith, invalid, OPERATOR_KEY, refusal } from "./client.ts";
import { pass, until, useClock } from "./clock.ts";
import { sendHook } from "./hooked.ts";
import { loggedBy } from "./logged.ts";
import { NOTHING, restart, stored, untilIdle, wake } from "./objects.ts";
import { answering, type Outside } from "./outside.ts";
import { calls } from "./own-connection.ts";
import {
  anArk,
  ARK,
  ARK_PATH,
  BINDINGS,
  JOB,
  MODEL,
  named,
  readSubmitted,
  sentToArk,
  submit,
} from "./submitted.ts";
import { CALLBACK_URL, VIDEO } from "./tasks.ts";

useClock();

const MINUTE = 60_000;
/** The customer's own key at the upstream. */
const OWN = "sk-test-only-customer-4711";
/** The relay's own key as a query writes it that escapes every character. */
const SPELLED = Array.from(OPERATOR_KEY, (char) => `%${char.charCodeAt(0).toString(16)}`).join("");
const OWN_KEY = { Authorization: `Bearer ${OWN}` };
const WITH_OWN = { Authorization: `Bearer ${OWN}`, "Relay-Key": OPERATOR_KEY };
/** A relay without a key of its own for Ark. */
const KEYLESS = { ...BINDINGS, ARK_API_KEY: "" };
const DONE = { id: JOB, model: MODEL, status: "succeeded", content: { video_url: VIDEO } };
const NEW_SECRET = "test-only-newer-relay-secret-0123456789ab";

type Bindings = typeof BINDINGS;

/** Submits a job to Ark with the customer's own key. Returns the id of its task, and the answer. */
async function submitted(bindings: object = BINDINGS, more: Readonly<Record<string, string>> = {}) {
  const { id, headers } = named({ ...WITH_OWN, ...more });
  const response = await submit({ headers, key: null, bindings });
  return { id, headers, response };
}

/** Returns the requests with which the relay has asked for the job. */
function polls(outside: Outside) {
  return outside.sentTo(`${ARK}${ARK_PATH}/`);
}

function hookUrlIn(outside: Outside): string {
  const [{ body } = { body: "{}" }] = outside.sentTo(`${ARK}${ARK_PATH}`);
  return z.looseObject({ callback_url: z.string() }).parse(JSON.parse(body)).callback_url;
}

/** Expects that a submission is refused with a fault in one header, and that nothing is stored or sent. */
async function expectRefused(
  headers: Readonly<Record<string, string>>,
  path: string,
  submission: Parameters<typeof submit>[0] = {},
): Promise<string> {
  const outside = anArk();
  const { id, headers: all } = named(headers);
  const response = await submit({ ...submission, headers: all, key: null });
  const text = await response.clone().text();
  expect(await refusal(response)).toEqual(invalid(path));
  expect([outside.sentTo(ARK), await stored(id)]).toEqual([[], NOTHING]);
  expect(text).not.toContain(OWN);
  return text;
}

it("a submission with a relay key in Relay-Key and the customer's upstream key in Authorization reaches the upstream with only the latter, exactly as sent", async () => {
  const outside = anArk();
  const { response } = await submitted(BINDINGS, { Authorization: `bearer  ${OWN}` });
  expect([response.status, await response.json()]).toEqual([200, { id: JOB }]);
  const { headers } = sentToArk(outside);
  expect(headers["authorization"]).toBe(`bearer  ${OWN}`);
  expect(JSON.stringify(headers)).not.toMatch(/test-only-operator|test-only-ark/);
  expect(headers).not.toHaveProperty("relay-key");
});

it("a job submitted with a customer's own upstream key is polled with that key, even when the relay has no key for the upstream", async () => {
  const outside = anArk();
  const { id, response } = await submitted(KEYLESS);
  expect(response.status).toBe(200);
  outside.on(`${ARK}${ARK_PATH}/`, answering(DONE));
  await wake(id, MINUTE + 5_000);
  await untilIdle(id);
  expect(polls(outside).map(({ headers }) => headers["authorization"])).toEqual([`Bearer ${OWN}`]);
  expect(await readSubmitted(id, KEYLESS)).toMatchObject({ status: "completed" });
  expect(outside.sentTo(CALLBACK_URL)).toHaveLength(1);
});

it("a stored task contains the customer's own upstream key only encrypted, and no part of it once the task has ended", async () => {
  const outside = anArk(({ headers: { authorization } }) =>
    Response.json({ id: JOB, seen: authorization }),
  );
  const { id, response } = await submitted();
  expect(await response.json()).toEqual({ id: JOB, seen: "Bearer …" });
  const open = JSON.stringify((await stored(id)).record);
  expect(open).not.toContain(OWN);
  expect(open).toContain('"kind":"sealed"');
  outside.on(`${ARK}${ARK_PATH}/`, answering(DONE));
  await wake(id, MINUTE + 5_000);
  await untilIdle(id);
  const settled = JSON.stringify((await stored(id)).record);
  expect(settled).toContain('"customerKey":{"kind":"dropped"}');
  expect(settled).not.toContain("ciphertext");
});

it("the upstream's response to a submission is passed on unchanged even when the customer's upstream key is as short as a word in it", async () => {
  anArk();
  const { response } = await submitted(KEYLESS, { Authorization: "Bearer id" });
  expect(await response.json()).toEqual({ id: JOB });
});

it("GET of a task submitted with a customer's key says that the key is the customer's own, and shows no part of the key", async () => {
  anArk();
  const { id } = await submitted();
  const task = await readSubmitted(id);
  expect(task).toMatchObject({ submission: { state: "accepted", key: "customer" } });
  const { record } = await stored(id);
  const { ciphertext } = z
    .looseObject({
      submission: z.looseObject({ customerKey: z.looseObject({ ciphertext: z.string() }) }),
    })
    .parse(record).submission.customerKey;
  expect(JSON.stringify(task)).not.toContain(ciphertext);
});

it("when the upstream refuses a customer's own key, GET of the task says so, and the relay's own key for the upstream does not count as refused", async () => {
  const noted = vi.spyOn(ConnectionObject.prototype, "noteRefusal");
  const outside = anArk();
  const account = await anAccount();
  const { key } = await aKey(account);
  const { id } = await submitted(KEYLESS, { "Relay-Account": account });
  outside.on(`${ARK}${ARK_PATH}/`, answering({}, 401));
  const lines = await loggedBy(() => wake(id, MINUTE + 5_000));
  const refused = { submission: { key_refused_since: Math.floor(Date.now() / 1000) } };
  const seen = await (await callWith(KEYLESS, `/v1/tasks/${id}`, { key })).json();
  expect(seen).toMatchObject({ status: "pending", ...refused });
  expect(await readSubmitted(id, KEYLESS)).toMatchObject({
    tracking: { answer: "unauthorized" },
    ...refused,
  });
  expect(lines).toContainEqual(
    expect.objectContaining({ event: "upstream.poll", key: "customer", outcome: "unauthorized" }),
  );
  expect(JSON.stringify(lines)).not.toMatch(/provider\.unauthorized|sk-test/);
  expect(noted).not.toHaveBeenCalled();
});

it("the console's page of a task says that the task uses the customer's own key, and that the upstream refuses this key", async () => {
  const outside = anArk();
  const { id } = await submitted();
  outside.on(`${ARK}${ARK_PATH}/`, answering({}, 401));
  await wake(id, MINUTE + 5_000);
  const page = await visit(`/tasks/${id}`, await logIn(undefined, BINDINGS), {}, BINDINGS);
  const text = (await page.text()).replaceAll(/<[^>]*>/g, "");
  expect(text).toMatch(/with the customer.+s own key, which the upstream has refused since/);
  expect(text).not.toContain(OWN);
});

it("when the relay does not understand the response to a poll with a customer's own key, /healthz does not show this response", async () => {
  const noted = vi.spyOn(ConnectionObject.prototype, "noteUnclear");
  const outside = anArk();
  const { id } = await submitted();
  outside.on(`${ARK}${ARK_PATH}/`, answering({ id: JOB, status: "no such state" }));
  await wake(id, MINUTE + 5_000);
  expect(polls(outside)).toHaveLength(1);
  expect(await readSubmitted(id)).toMatchObject({ tracking: { unclear: { status_code: 200 } } });
  expect(noted).not.toHaveBeenCalled();
});

it("the relay does not count whether the upstream's hooks arrive for jobs that were submitted with customers' own keys", async () => {
  const noted = calls("noteHook");
  const outside = anArk();
  const { id } = await submitted();
  outside.on(`${ARK}${ARK_PATH}/`, answering(DONE));
  await wake(id, MINUTE + 5_000);
  await untilIdle(id);
  expect(await readSubmitted(id)).toMatchObject({ status: "completed" });
  expect(noted).not.toHaveBeenCalled();
});

it("the limit polls_per_minute counts polls with a customer's own key for this key alone, not for the relay's key or other customers", async () => {
  const connections = { mine: { provider: "ark", key: "test-only-ark-key", polls_per_minute: 1 } };
  const bindings = { ...BINDINGS, CONNECTIONS: JSON.stringify(connections) };
  const outside = anArk();
  outside.on(`${ARK}${ARK_PATH}/`, answering({ ...DONE, status: "running" }));
  const path = `/v1/submit/mine${ARK_PATH}`;
  const keys = [WITH_OWN, WITH_OWN, { ...WITH_OWN, Authorization: "Bearer another" }, {}];
  const ids: string[] = [];
  for (const headers of keys) {
    const task = named(headers);
    const key = "Relay-Key" in headers ? null : OPERATOR_KEY;
    expect((await submit({ path, bindings, headers: task.headers, key })).status).toBe(200);
    ids.push(task.id);
  }
  pass(2 * MINUTE);
  for (const id of ids) await wake(id);
  expect(polls(outside).map(({ headers }) => headers["authorization"])).toEqual([
    `Bearer ${OWN}`,
    "Bearer another",
    "Bearer test-only-ark-key",
  ]);
});

it("a hook about a job with a customer's own key makes the relay poll the job, whatever the hook's signature, even if the relay has a webhook secret of the upstream", async () => {
  const secret = `whsec_${btoa("test-only-webhook-secret")}`;
  const bindings = { ...BINDINGS, REPLICATE_WEBHOOK_SECRET: secret };
  const outside = anArk();
  const site = "https://api.replicate.com";
  const job = { id: "pred-1", status: "starting", input: {} };
  outside.on(site, answering(job, 201));
  const { id, headers } = named(WITH_OWN);
  const path = "/v1/submit/replicate/v1/predictions";
  const body = JSON.stringify({ version: "a", input: {} });
  expect((await submit({ path, bindings, headers, body, key: null })).status).toBe(201);
  const [sent] = outside.sentTo(site);
  const Sent = z.looseObject({ webhook: z.string() });
  const { webhook: hookUrl } = Sent.parse(JSON.parse(sent?.body ?? ""));
  outside.on(site, answering({ ...job, status: "succeeded", output: VIDEO }));
  const signature = { "webhook-id": "m", "webhook-timestamp": "1", "webhook-signature": "v1,AAAA" };
  const hook = JSON.stringify({ ...job, status: "failed", error: "forged" });
  expect((await sendHook({ hookUrl, bindings }, hook, signature)).status).toBe(200);
  await until(async () => (await readSubmitted(id, bindings)).status !== "pending");
  expect(await readSubmitted(id, bindings)).toMatchObject({
    status: "completed",
    output: { urls: [VIDEO] },
  });
});

it("a submission with a customer's own key does not tell the upstream the relay's secret for signing hooks", async () => {
  const bindings = { ...BINDINGS, OPENAI_VIDEOS_WEBHOOK_SECRET: "test-only-videos-secret" };
  const outside = anArk();
  outside.on("https://videos.example.org", answering({ id: "v1", status: "queued" }));
  const { headers } = named(WITH_OWN);
  const own = "https://client.example.net/own";
  const { "Relay-Callback-Url": _, ...others } = headers;
  const body = JSON.stringify({ prompt: "a fox", model: "m", callback_url: own });
  const path = "/v1/submit/openai-videos/v1/videos";
  const response = await submit({ path, bindings, headers: others, body, key: null });
  expect(response.status).toBe(200);
  const [sent] = outside.sentTo("https://videos.example.org");
  expect(sent?.body).toContain("/hooks/openai-videos/");
  expect(JSON.stringify(sent)).not.toContain("test-only-videos");
});

it("after a rotation of RELAY_SECRET, a customer's key is decrypted with the secret that encrypted it, wherever this secret is in the list", async () => {
  const outside = anArk();
  const { id } = await submitted();
  outside.on(`${ARK}${ARK_PATH}/`, answering({ ...DONE, status: "running" }));
  await restart(id, { ...BINDINGS, RELAY_SECRET: `${NEW_SECRET} ${BINDINGS.RELAY_SECRET}` });
  await wake(id, MINUTE + 5_000);
  expect(polls(outside).map(({ headers }) => headers["authorization"])).toEqual([`Bearer ${OWN}`]);
});

it("when the RELAY_SECRET that encrypted a customer's key is removed, the relay logs this once and does not poll with its own key, and a hook still ends the task", async () => {
  const outside = anArk();
  const { id } = await submitted();
  const rotated: Bindings = { ...BINDINGS, RELAY_SECRET: NEW_SECRET };
  const both: Bindings = {
    ...BINDINGS,
    RELAY_SECRET: `${NEW_SECRET} ${BINDINGS.RELAY_SECRET}`,
  };
  await restart(id, rotated);
  const lines = await loggedBy(() => wake(id, MINUTE + 5_000));
  const line = { event: "key.unreadable", task_id: id, connection: "ark" };
  expect(lines.filter((each) => JSON.stringify(each).includes("key.unreadable"))).toEqual([line]);
  expect(polls(outside)).toEqual([]);
  const since = Math.floor(Date.now() / 1000);
  expect(await readSubmitted(id, rotated)).toMatchObject({
    status: "pending",
    tracking: { key_unreadable_since: since },
  });
  // The Worker still knows the secret of the hook URL, and the object the present one alone.
  const hook = { hookUrl: hookUrlIn(outside), bindings: both };
  expect((await sendHook(hook, JSON.stringify(DONE))).status).toBe(200);
  await untilIdle(id);
  expect(await readSubmitted(id, rotated)).toMatchObject({
    status: "completed",
    output: { urls: [VIDEO] },
  });
  expect(polls(outside)).toEqual([]);
});

it("if OPERATOR_CALLBACK_URL is set, the event key.unreadable tells the operator that a customer's key cannot be decrypted", async () => {
  const url = "https://operator.example.net/events";
  const outside = anArk();
  outside.on(url, answering(""));
  const { id } = await submitted();
  await restart(id, { ...BINDINGS, RELAY_SECRET: NEW_SECRET, OPERATOR_CALLBACK_URL: url });
  await wake(id, MINUTE + 5_000);
  await until(() => outside.sentTo(url).length > 0);
  const [event] = outside.sentTo(url).map(({ body }) => JSON.parse(body));
  expect(event).toMatchObject({ type: "key.unreadable", data: { task: { id } } });
  expect(JSON.stringify(event)).not.toContain(OWN);
});

it("a submission with a used Idempotency-Key but another upstream key, a customer's or the relay's, gets 422 idempotency_key_reused", async () => {
  const outside = anArk();
  const headers = { ...WITH_OWN, "Idempotency-Key": crypto.randomUUID() };
  const first = await submit({ headers, key: null });
  expect(first.status).toBe(200);
  const again = await submit({
    headers: { ...headers, Authorization: `BEARER ${OWN}` },
    key: null,
  });
  expect([again.status, again.headers.get("Idempotent-Replayed")]).toEqual([200, "true"]);
  const another = await submit({
    headers: { ...headers, Authorization: "Bearer other" },
    key: null,
  });
  expect(await refusal(another)).toEqual({ status: 422, code: "idempotency_key_reused" });
  const plain = { "Idempotency-Key": headers["Idempotency-Key"] };
  expect(await refusal(await submit({ headers: plain }))).toEqual({
    status: 422,
    code: "idempotency_key_reused",
  });
  expect(outside.sentTo(ARK)).toHaveLength(1);
});

it("a submission with a used Relay-Task-Id but another customer's key gets 409 with the task", async () => {
  const outside = anArk();
  const { headers } = await submitted();
  const other = await submit({ headers: { ...headers, Authorization: "Bearer other" }, key: null });
  expect(await refusal(other)).toEqual({ status: 409, code: "task_exists" });
  expect(outside.sentTo(ARK)).toHaveLength(1);
});

it.each([
  ["no key for the upstream", {}, "/Authorization"],
  ["a key in a header that Ark does not read", { "x-api-key": OWN }, "/x-api-key"],
  ["two keys", { Authorization: `Bearer ${OWN}`, "x-goog-api-key": OWN }, "/x-goog-api-key"],
  [
    "a second key in the header api-key",
    { Authorization: `Bearer ${OWN}`, "api-key": OWN },
    "/api-key",
  ],
  ["the scheme Key instead of Bearer", { Authorization: `Key ${OWN}` }, "/Authorization"],
  ["a key of 10 KB", { Authorization: `Bearer ${"k".repeat(10_240)}` }, "/Authorization"],
  [
    "a JSON Web Token that expires",
    { Authorization: `Bearer ${btoa('{"alg":"HS256"}')}.${btoa('{"exp":1}')}.c` },
    "/Authorization",
  ],
])(
  "a submission with Relay-Key and %s is refused before anything is stored or sent, and the refusal names the wrong header",
  async (_, headers, path) => {
    await expectRefused({ "Relay-Key": OPERATOR_KEY, ...headers }, path);
  },
);

it.each([
  ["empty", ""],
  ["two keys behind the word Bearer", `Bearer ${OPERATOR_KEY} ${OPERATOR_KEY}`],
  ["two keys, as of two such headers", `${OPERATOR_KEY}, ${OPERATOR_KEY}`],
  ["behind the word Key", `Key ${OPERATOR_KEY}`],
  ["10 KB long", "k".repeat(10_240)],
])(
  "a submission whose Relay-Key is %s is refused, and the refusal names the wrong header",
  async (_, key) => {
    await expectRefused({ ...WITH_OWN, "Relay-Key": key }, "/Relay-Key");
  },
);

it("a submission whose Relay-Key is no key of the relay gets 401, even when it is the customer's own key of the upstream", async () => {
  const outside = anArk();
  for (const key of ["nobody", OWN]) {
    const { headers } = named({ ...WITH_OWN, "Relay-Key": key });
    expect((await submit({ headers, key: null })).status).toBe(401);
  }
  expect(outside.sentTo(ARK)).toEqual([]);
});

it("a submission with a relay key where the customer's key should be is refused, names that header, and is never sent to the upstream", async () => {
  const account = await anAccount();
  const { key } = await aKey(account);
  for (const relayKey of [OPERATOR_KEY, "test-only-older-operator-key", key]) {
    const text = await expectRefused(
      { "Relay-Key": OPERATOR_KEY, Authorization: `Bearer ${relayKey}` },
      "/Authorization",
    );
    expect(text).toContain("not the relay's");
    expect(text).not.toContain(relayKey);
  }
  const { key: imported } = await anImportedKey(account);
  const both = { "Relay-Key": imported, Authorization: `Bearer ${imported}` };
  const outside = anArk();
  const OFFERED = JSON.stringify([{ connection: "ark", models: ["*"], key: "customer" }]);
  const bindings = { ...BINDINGS, OFFERS: OFFERED };
  const response = await submit({ bindings, headers: both, key: null });
  expect(await refusal(response)).toEqual(invalid("/Authorization"));
  expect(outside.sentTo(ARK)).toEqual([]);
});

it.each([
  ["in quotes", "/Authorization", { Authorization: `Bearer "${OPERATOR_KEY}"` }],
  ["before a comma", "/Authorization", { Authorization: `Bearer ${OPERATOR_KEY},` }],
  ["after a semicolon", "/Authorization", { Authorization: `Bearer x;${OPERATOR_KEY}` }],
  ["percent-encoded", "/Authorization", { Authorization: `Bearer ${SPELLED}` }],
  ["in base64", "/Authorization", { Authorization: `Bearer ${btoa(`u:${OPERATOR_KEY}`)}` }],
  [
    "in the header User-Agent",
    "/user-agent",
    { ...OWN_KEY, "User-Agent": `a/1 (${OPERATOR_KEY})` },
  ],
  ["in an unknown header", "/x-key", { ...OWN_KEY, "X-Key": `key=${OPERATOR_KEY}` }],
  [
    "that is not the caller's, in quotes",
    "/Authorization",
    { Authorization: 'Bearer "test-only-older-operator-key"' },
  ],
])(
  "a submission with Relay-Key and, elsewhere, a key of the relay %s is refused, and the refusal names %s",
  async (_, path, headers) => {
    const text = await expectRefused({ "Relay-Key": OPERATOR_KEY, ...headers }, path);
    expect(text).not.toContain(OPERATOR_KEY);
  },
);

it("a submission whose query contains a relay key is refused, and one that repeats the relay key in headers for upstream keys is sent on without it", async () => {
  const inQuery = { path: `/v1/submit/ark${ARK_PATH}?key=${SPELLED}`, headers: {} };
  expect(await refusal(await submit(inQuery))).toEqual(invalid("/query"));
  const outside = anArk();
  const both = { "x-api-key": OPERATOR_KEY, "api-key": OPERATOR_KEY };
  expect((await submit({ headers: both })).status).toBe(200);
  const [sent] = outside.sentTo(ARK);
  expect(JSON.stringify(sent?.headers)).not.toContain(OPERATOR_KEY);
});

it("a submission with Relay-Key to the sandbox, which takes no key, is refused, and the refusal names the header Relay-Key", async () => {
  const body = JSON.stringify({ model: "sandbox/ok" });
  await expectRefused(WITH_OWN, "/Relay-Key", { path: "/v1/submit/sandbox/jobs", body });
});

it("when the relay has no key for the upstream, a submission without Relay-Key gets 503 and is told how to send one with one's own upstream key", async () => {
  anArk();
  const { headers } = named();
  const response = await submit({ headers, bindings: KEYLESS });
  expect(await response.clone().json()).toMatchObject({
    detail: expect.stringMatching(/ARK_API_KEY is not set.+Relay-Key/),
  });
  expect(await refusal(response)).toEqual({ status: 503, code: "not_configured" });
});

it("with NEWAPI_BASE_URL but without NEWAPI_API_KEY, the relay accepts submissions to the gateway with a customer's own key, also when OFFERS has an offer for customers' keys", async () => {
  const offers = [{ connection: "newapi", models: ["*"], key: "customer" }];
  const bindings = { ...BINDINGS, NEWAPI_API_KEY: "", OFFERS: JSON.stringify(offers) };
  const outside = anArk();
  outside.on(bindings.NEWAPI_BASE_URL, answering({ id: JOB, task_id: JOB, status: "queued" }));
  const path = "/v1/submit/newapi/v1/video/generations";
  const { headers } = named(WITH_OWN);
  const body = JSON.stringify({ model: MODEL, prompt: "a fox" });
  expect((await submit({ path, bindings, headers, body, key: null })).status).toBe(200);
  const [sent] = outside.sentTo(bindings.NEWAPI_BASE_URL);
  expect(sent?.headers["authorization"]).toBe(`Bearer ${OWN}`);
});

const PRICE = 2;
const OFFERS = JSON.stringify([
  { connection: "ark", key: "customer", models: ["doubao-*"], price: { credits: PRICE } },
]);

it("an account may submit with its own upstream key what OFFERS offers for customers' keys, at the offered price, and may not use the relay's key for it", async () => {
  const bindings = { ...KEYLESS, OFFERS };
  const outside = anArk(({ headers: { authorization } }) =>
    Response.json({ id: JOB, seen: authorization }),
  );
  const account = await anAccount(10);
  const { key } = await aKey(account);
  const headers = {
    Authorization: `Bearer ${OWN}`,
    "Relay-Key": key,
    "Idempotency-Key": crypto.randomUUID(),
  };
  const response = await submit({ bindings, headers, key: null });
  expect([response.status, await response.json()]).toEqual([200, { id: JOB, seen: "Bearer …" }]);
  expect([sentToArk(outside).headers["authorization"], await balanceOf(account)]).toEqual([
    `Bearer ${OWN}`,
    10 - PRICE,
  ]);
  const plain = await submit({ bindings: { ...BINDINGS, OFFERS }, key, headers: {} });
  expect(await plain.clone().json()).toMatchObject({
    detail: expect.stringContaining("only with a key of your own"),
  });
  expect(await refusal(plain)).toEqual({ status: 403, code: "forbidden" });
  expect(outside.sentTo(ARK)).toHaveLength(1);
});

it("when OFFERS offers nothing for customers' own keys, an account's submission with its own upstream key gets 403 and is not charged", async () => {
  const outside = anArk();
  const account = await anAccount(100);
  const { key } = await aKey(account);
  const offers = JSON.stringify([{ connection: "ark", models: ["*"], price: { credits: PRICE } }]);
  const headers = { Authorization: `Bearer ${OWN}`, "Relay-Key": key, "Idempotency-Key": "o-1" };
  const response = await submit({ bindings: { ...BINDINGS, OFFERS: offers }, headers, key: null });
  expect(await response.clone().json()).toMatchObject({
    detail: "Nothing is offered at ark with a key of your own.",
  });
  expect(await refusal(response)).toEqual({ status: 403, code: "forbidden" });
  expect([outside.sentTo(ARK), await balanceOf(account)]).toEqual([[], 100]);
});

it("when the upstream refuses the customer's key, the submission gets the upstream's refusal as its response, and no task remains", async () => {
  anArk(answering({ error: { code: "AuthenticationError" } }, 401));
  const { id, response } = await submitted();
  expect([response.status, await response.json()]).toEqual([
    401,
    { error: { code: "AuthenticationError" } },
  ]);
  expect(response.headers.get("Relay-Task-Id")).toBe(id);
  expect(await stored(id)).toEqual(NOTHING);
});

it("a job is not submitted, and the caller gets 503, when the task's Durable Object accepts the registration but does not confirm the submission", async () => {
  const outside = anArk();
  const Reply = z.looseObject({ submission: z.looseObject({}) });
  const getByName = (id: string) =>
    new Proxy(BINDINGS.TASKS.getByName(id), {
      get: (stub, name) => {
        const method: unknown = Reflect.get(stub, name);
        if (name !== "apply" || typeof method !== "function") return method;
        return async (...given: readonly unknown[]) => {
          const { submission: _, ...applied } = Reply.parse(
            await Reflect.apply(method, stub, given),
          );
          return applied;
        };
      },
    });
  const { response } = await submitted({ ...BINDINGS, TASKS: { getByName } });
  expect(await refusal(response)).toEqual({ status: 503, code: "unavailable" });
  expect(outside.sentTo(ARK)).toEqual([]);
});
