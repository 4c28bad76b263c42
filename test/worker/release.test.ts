import { env } from "cloudflare:workers";
import { Webhook as Standard } from "standardwebhooks";
import { expect, it } from "vitest";
import { aKey, anAccount, booksOf, breakLedger, entriesOf } from "./accounts.ts";
import { logIn, visit } from "./browser.ts";
import { call, callWith, invalid, post, refusal } from "./client.ts";
import { START, START_S, until, useClock } from "./clock.ts";
import { answering } from "./outside.ts";
import { restart, stored, untilIdle, wake } from "./objects.ts";
import { type Answer, aReceiver, requestAt, status } from "./receiver.ts";
import { secretsOf } from "./secrets.ts";
import {
  anArk,
  ARK,
  ARK_PATH,
  BINDINGS,
  JOB,
  MODEL,
  named,
  readSubmitted,
  submit,
} from "./submitted.ts";
import { aCompletion, CALLBACK_URL, erase, finish, read, redeliver, report } from "./tasks.ts";

useClock();

/** Price by the tokens of a job: 15,000 credits per million. */
const PRICE = {
  hold: 200,
  min: 10,
  per: { usage: "completion_tokens", units: 1_000_000, credits: 15_000 },
};
const BOOKS = ["grant 300", "charge 200", "release 159"];

function registration(account: string, fields: object = {}) {
  const id = crypto.randomUUID();
  return { id, model: "m", callback_url: CALLBACK_URL, account, price: PRICE, ...fields };
}

/** Registers a task with a price by usage, and returns its id. */
async function aPriced(account: string, fields: object = {}): Promise<string> {
  const body = registration(account, fields);
  const response = await post("/v1/tasks", body);
  if (response.status !== 201) throw new Error(await response.text());
  return body.id;
}

/** Report of a completed job that has used so many tokens. */
const used = (id: string, tokens: number) =>
  aCompletion(id, { usage: { completion_tokens: tokens } });

it("a completed task with a price by usage costs what its reported usage comes to, and the rest of the charge is returned", async () => {
  aReceiver();
  const account = await anAccount(300);
  const id = await aPriced(account);
  expect(await read(id)).toMatchObject({ credits: { amount: 200, state: "charged" } });
  await finish(used(id, 2_700));
  expect(await booksOf(account)).toEqual(BOOKS);
  const [released, charged] = await entriesOf(account);
  expect(released).toMatchObject({ kind: "release", balance: 259, task_id: id });
  expect(released?.reference).toBe(charged?.reference);
  const credits = { amount: 200, final: 41, state: "released", basis: "usage" };
  expect((await read(id))["credits"]).toEqual({ ...credits, released_at: START_S });
});

it.each([
  [
    "the price of the reported usage",
    { usage: { completion_tokens: 2_700 } },
    "200 released (costs 41, by usage)",
  ],
  [
    "the whole hold, when no usage was reported",
    {},
    "200 charged (costs 200, its use is not known)",
  ],
])(
  "the console's page of a task with a price by usage shows what the task has cost: %s",
  async (_, fields, shown) => {
    aReceiver();
    const id = await aPriced(await anAccount(300));
    await finish(aCompletion(id, fields));
    const page = await (await visit(`/tasks/${id}`, await logIn())).text();
    const [, credits = ""] = /<dt>Credits<\/dt><dd>(.*?)<\/dd>/.exec(page) ?? [];
    expect(credits.replaceAll(/<[^>]+>/g, "")).toBe(shown);
  },
);

it('a registration with price {"credits": 60} is the same as one with credits 60', async () => {
  const account = await anAccount(300);
  const body = registration(account, { price: { credits: 60 } });
  expect((await post("/v1/tasks", body)).status).toBe(201);
  const { price: _, ...others } = body;
  expect((await post("/v1/tasks", { ...others, credits: 60 })).status).toBe(200);
  expect(await booksOf(account)).toEqual(["grant 300", "charge 60"]);
});

it("a repeated registration whose price differs in one member is refused with task_exists", async () => {
  const account = await anAccount(300);
  const body = registration(account);
  for (const expected of [201, 200]) expect((await post("/v1/tasks", body)).status).toBe(expected);
  const other = { ...body, price: { ...PRICE, min: 11 } };
  expect(await refusal(await post("/v1/tasks", other))).toMatchObject({ code: "task_exists" });
  expect(await booksOf(account)).toEqual(["grant 300", "charge 200"]);
});

it("until the ledger confirms the return of a task's unused credits, the return is tried again and the task's erasure gets 409; callbacks are sent meanwhile", async () => {
  const received = aReceiver();
  const account = await anAccount(300);
  const id = await aPriced(account);
  const heal = await breakLedger(account);
  expect((await report(used(id, 2_700))).status).toBe(202);
  await until(async () => (await stored(id)).alarm === START + 5_000);
  expect(await read(id)).toMatchObject({
    credits: { amount: 200, final: 41, state: "releasing", tries: 1 },
    callback: { status: "delivered" },
  });
  expect((await erase(id)).status).toBe(409);
  expect((await redeliver(id)).status).toBe(202);
  await until(() => received.length === 2);
  heal();
  await wake(id, 5_000);
  await untilIdle(id);
  expect(await read(id)).toMatchObject({ credits: { state: "released" } });
  expect(await booksOf(account)).toEqual(BOOKS);
  expect((await erase(id)).status).toBe(204);
});

const BILLING_URL = "https://billing.example.org/settlements";
const BILLING = { ...env, SETTLEMENT_URL: BILLING_URL };

/** Completes a task that the operator's own billing has charged, and answers its order to give credits back. */
async function settled(...answers: readonly Answer[]) {
  const received = aReceiver(status(200), ...answers);
  const account = await anAccount();
  const body = registration(account);
  await restart(body.id, BILLING);
  expect((await callWith(BILLING, "/v1/tasks", { body })).status).toBe(201);
  await report(used(body.id, 2_700));
  await until(() => received.length === 2);
  return { id: body.id, account, received };
}

it("with SETTLEMENT_URL, a task's unused credits are returned by one signed POST to this URL after the callback, with the amount and the usage", async () => {
  const { id, account, received } = await settled(status(200));
  expect(received.map(({ url }) => url)).toEqual([CALLBACK_URL, BILLING_URL]);
  const { headers, body } = requestAt(received, 1);
  expect(JSON.parse(body)).toEqual({
    task_id: id,
    account,
    credits: 159,
    reason: "completed",
    final: 41,
    usage: { completion_tokens: 2_700 },
  });
  expect(headers).toMatchObject({ "webhook-id": `settle_${id}` });
  const { settlement } = await secretsOf(BILLING);
  expect(new Standard(settlement?.[0] ?? "").verify(body, headers)).toEqual(JSON.parse(body));
  await untilIdle(id);
  expect(await read(id)).toMatchObject({ credits: { final: 41, state: "released" } });
  expect(await booksOf(account)).toEqual([]);
});

it("when SETTLEMENT_URL answers with 500 to a return of unused credits, the return is repeated after 5 s with the same webhook-id", async () => {
  const { id, received } = await settled(status(500), status(200));
  await until(async () => (await stored(id)).alarm === Date.now() + 5_000);
  await wake(id, 5_000);
  await untilIdle(id);
  const orders = received.slice(1).map(({ headers, body }) => [headers["webhook-id"], body]);
  expect(orders).toEqual([orders[0], orders[0]]);
  expect(await read(id)).toMatchObject({ credits: { state: "released" } });
});

it.each<[string, object, string]>([
  ["credits beside price", { credits: 60 }, "/credits"],
  ["price but no account", { account: null }, "/account"],
  ["price but no id", { id: null }, "/id"],
  ["a price that has neither credits nor hold", { price: {} }, "/price"],
  ["a price that has both credits and hold", { price: { ...PRICE, credits: 60 } }, "/price"],
  ["a hold of 0", { price: { ...PRICE, hold: 0 } }, "/price/hold"],
  ["a min above hold", { price: { ...PRICE, min: 201 } }, "/price/min"],
  ["0 units", { price: { ...PRICE, per: { ...PRICE.per, units: 0 } } }, "/price/per/units"],
  ["units below 0", { price: { ...PRICE, per: { ...PRICE.per, units: -1 } } }, "/price/per/units"],
  ["a rate of 0", { price: { ...PRICE, per: { ...PRICE.per, credits: 0 } } }, "/price/per/credits"],
  ["an unknown member", { price: { ...PRICE, unit: 1 } }, "/price/unit"],
  [
    "an unknown field",
    { price: { hold: 1, per: { field: "length", units: 1, credits: 1 } } },
    "/price/per/field",
  ],
  [
    "usage that the provider does not state",
    { provider: "ark", price: { ...PRICE, per: { ...PRICE.per, usage: "seconds" } } },
    "/price/per/usage",
  ],
])(
  "a registration with %s is refused, the refusal names the wrong field, and nothing is charged",
  async (_, fields, path) => {
    const account = await anAccount(300);
    const bindings = { ...env, PUBLIC_URL: "https://relay.example.com" };
    const response = await callWith(bindings, "/v1/tasks", { body: registration(account, fields) });
    expect(await refusal(response)).toEqual(invalid(path));
    expect(await booksOf(account)).toEqual(["grant 300"]);
  },
);

it.each<[string, unknown, string]>([
  ["a text that is no number", { completion_tokens: "2700 tokens" }, "/usage/completion_tokens"],
  ["a list", [2_700], "/usage"],
  ["a name that is a sentence", { "a red fox": 1 }, "/usage/a red fox"],
  ["more than 1 KB", { ["x".repeat(64)]: 1, ...manyNumbers() }, "/usage"],
])("an event whose usage is %s is refused and changes nothing", async (_, usage, path) => {
  const id = await aPriced(await anAccount(300));
  expect(await refusal(await report(aCompletion(id, { usage })))).toEqual(invalid(path));
  expect(await read(id)).toMatchObject({ status: "pending" });
});

it("a registration whose price has a text as its rate is refused with a message that says what a rate must be", async () => {
  const per = { ...PRICE.per, credits: "5" };
  const body = registration(await anAccount(300), { price: { ...PRICE, per } });
  const message = 'must be a number above 0, or such numbers by resolution like {"720p": 5}';
  const issue = { path: "/price/per/credits", message };
  expect(await (await post("/v1/tasks", body)).json()).toMatchObject({ issues: [issue] });
});

it.each<[string, unknown, string]>([
  ["a list", [2_700], "must be an object"],
  [
    "a name with spaces",
    { "a red fox": 1 },
    "must be a name like completion_tokens, of at most 64 characters",
  ],
  ["a text in place of a number", { seconds: "five" }, "must be a number"],
  ["a list in place of a number", { seconds: [5] }, "must be a number"],
])(
  "an event whose usage is %s is refused with a message that says what it must be",
  async (_, usage, message) => {
    const id = await aPriced(await anAccount(300));
    const problem = await (await report(aCompletion(id, { usage }))).json();
    expect(problem).toMatchObject({ issues: [{ message }] });
  },
);

function manyNumbers(): Record<string, number> {
  return Object.fromEntries(Array.from({ length: 100 }, (_, i) => [`number_${i}`, i]));
}

it("an event with the status processing is refused when it has usage", async () => {
  const id = await aPriced(await anAccount(300));
  const event = { id, status: "processing", usage: { completion_tokens: 1 } };
  expect(await refusal(await report(event))).toEqual(invalid("/usage"));
});

const OFFER = { connection: "ark", models: ["doubao-seedance-*"], price: PRICE };
const DONE = {
  id: JOB,
  model: MODEL,
  status: "succeeded",
  content: { video_url: "https://cdn.example.net/video.mp4" },
  usage: { completion_tokens: 2_700, total_tokens: 2_700 },
};

it("an account's submission costs what the usage reported by the upstream comes to by the price in OFFERS when it was sent, even if OFFERS changes later", async () => {
  const outside = anArk();
  outside.on(`${ARK}${ARK_PATH}/${JOB}`, answering(DONE));
  const account = await anAccount(300);
  const { key } = await aKey(account);
  const bindings = { ...BINDINGS, OFFERS: JSON.stringify([OFFER]) };
  const headers = { "Idempotency-Key": crypto.randomUUID(), "Relay-Callback-Url": CALLBACK_URL };
  const response = await submit({ bindings, key, headers });
  expect(response.status).toBe(200);
  const id = response.headers.get("Relay-Task-Id") ?? "";
  const dearer = { ...OFFER, price: { ...PRICE, per: { ...PRICE.per, credits: 30_000 } } };
  await restart(id, { ...BINDINGS, OFFERS: JSON.stringify([dearer]) });
  await wake(id, 120_000);
  await untilIdle(id);
  expect(await readSubmitted(id)).toMatchObject({
    status: "completed",
    credits: { amount: 200, final: 41, state: "released", basis: "usage" },
  });
  expect(await booksOf(account)).toEqual(BOOKS);
});

it("an operator may give a submission a price by the header Relay-Price", async () => {
  anArk();
  const account = await anAccount(300);
  const { id, headers } = named({ "Relay-Account": account, "Relay-Price": JSON.stringify(PRICE) });
  expect((await submit({ headers })).status).toBe(200);
  expect(await readSubmitted(id)).toMatchObject({ credits: { amount: 200, state: "charged" } });
  expect(await booksOf(account)).toEqual(["grant 300", "charge 200"]);
});

it.each<[string, Record<string, string>, string]>([
  ["text that is not JSON", { "Relay-Price": "{60}" }, "/Relay-Price"],
  ["a number", { "Relay-Price": "60" }, "/Relay-Price"],
  [
    "a min above hold",
    { "Relay-Price": JSON.stringify({ ...PRICE, min: 201 }) },
    "/Relay-Price/min",
  ],
  [
    "usage that the upstream does not state",
    { "Relay-Price": JSON.stringify({ ...PRICE, per: { ...PRICE.per, usage: "seconds" } }) },
    "/Relay-Price/per/usage",
  ],
  [
    "Relay-Credits beside it",
    { "Relay-Price": JSON.stringify(PRICE), "Relay-Credits": "7" },
    "/Relay-Credits",
  ],
])(
  "a submission with Relay-Price and %s is refused, the refusal names the wrong header, and nothing is sent",
  async (_, more, path) => {
    const outside = anArk();
    const account = await anAccount(300);
    const { headers } = named({ "Relay-Account": account, ...more });
    expect(await refusal(await submit({ headers }))).toEqual(invalid(path));
    expect(outside.sentTo(ARK)).toEqual([]);
  },
);

it("the header Relay-Price is refused when Relay-Account is missing, and when the caller is an account", async () => {
  anArk();
  const { headers } = named({ "Relay-Price": JSON.stringify(PRICE) });
  expect(await refusal(await submit({ headers }))).toEqual(invalid("/Relay-Account"));
  const { key } = await aKey(await anAccount(300));
  const bindings = { ...BINDINGS, OFFERS: JSON.stringify([OFFER]) };
  const own = { "Idempotency-Key": "order-1", "Relay-Price": JSON.stringify(PRICE) };
  const response = await submit({ bindings, key, headers: own });
  expect(await refusal(response)).toEqual({ status: 403, code: "forbidden" });
});

it("the export of an account's ledger entries contains returns of unused credits", async () => {
  aReceiver();
  const account = await anAccount(300);
  const id = await aPriced(account);
  await finish(used(id, 2_700));
  const response = await call(`/v1/accounts/${account}/entries?format=csv`);
  expect(await response.text()).toMatch(new RegExp(`^release,159,259,[\\w-]+,${id},`, "m"));
});
