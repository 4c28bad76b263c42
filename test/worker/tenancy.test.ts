import { beforeEach, expect, it } from "vitest";
import { ROUTES } from "../../src/api/routes.ts";
import type { Route } from "../../src/api/http/route.ts";
import { mayAccount } from "../../src/security/roles.ts";
import { aCharged, aKey, anAccount, booksOf } from "./accounts.ts";
import { aReceiver, status } from "./receiver.ts";
import { call, post, refusal } from "./client.ts";
import { useClock } from "./clock.ts";
import { useHeldWaits } from "./held-waits.ts";
import { stored, untilIdle } from "./objects.ts";
import { CALLBACK_URL, completed, read, register } from "./tasks.ts";

useClock();
// The stream of a task whose callback is not settled would last 15 minutes.
useHeldWaits();

const SECRET = "the response of the victim's receiver";

let tenant = { account: "", key: "", task: "" };
let victim = { account: "", key: "", task: "", open: "" };

beforeEach(async () => {
  aReceiver(status(500, SECRET));
  const [account, other] = [await anAccount(100), await anAccount(777)];
  tenant = { account, ...(await aKey(account)), task: await completed({ account }) };
  const metadata = { note: SECRET };
  const task = await completed({ account: other, metadata });
  const open = await aCharged(other, 7, { metadata });
  victim = { account: other, ...(await aKey(other)), task, open };
});

/** A valid body for each route, so that only the key can be the reason of a refusal. */
const BODIES: Readonly<Record<string, object>> = {
  "/v1/tasks": { model: "m" },
  "/v1/tasks/{id}/redeliver": { callback_url: "https://thief.example.net/" },
  "/v1/tasks/{id}/verify": { headers: {}, body: "" },
  "/v1/events": { id: "00000000-0000-4000-8000-000000000001", status: "processing", model: "m" },
  "/v1/callbacks/test": { callback_url: CALLBACK_URL },
  "/v1/accounts": { id: "mine" },
  "/v1/accounts/{account}": { monthly_limit: null },
  "/v1/accounts/{account}/endpoints/{endpoint}": { url: CALLBACK_URL },
  "/v1/reindex": { ids: ["00000000-0000-4000-8000-000000000001"] },
  "/v1/accounts/{account}/grants": { reference: "r", amount: 1000 },
};

interface Aim {
  readonly task: string;
  readonly account: string;
}

function send({ method, path }: Route, { task, account }: Aim, key = tenant.key) {
  const filled = path
    .replace("{id}", task)
    .replace("{account}", account)
    .replace(/\{(?:key|number|endpoint|output)\}/, "1");
  const hasBody = method === "POST" || method === "PUT";
  const body = hasBody ? (BODIES[path] ?? {}) : undefined;
  return call(filled, { method, key, body });
}

const GUARDED = ROUTES.filter(({ access }) => access !== "anyone");
const isOpenTo = ({ access }: Route) => access !== "anyone" && mayAccount("full", access);
/**
 * Without submissions and calls about jobs, whose paths name no task: submit-accounts.test.ts tests which ones an account
 * may make, and read-job.test.ts, cancel-by-job.test.ts and outputs/content.test.ts attack the jobs of others.
 */
const FOR_ACCOUNTS = GUARDED.filter(
  (route) => isOpenTo(route) && !route.path.startsWith("/v1/submit/"),
);
const FOR_OTHERS = GUARDED.filter((route) => !isOpenTo(route));

/** Returns the parts of answers that must not differ, without what is new in each answer. */
async function comparable(response: Response) {
  const headers = Object.fromEntries(response.headers);
  delete headers["x-request-id"];
  return { status: response.status, headers, body: await response.text() };
}

const unknown = () => ({ task: crypto.randomUUID(), account: crypto.randomUUID() });

it("an account's key gets the same 403 response from an operator route for its own, another's, unknown and malformed task and account ids", async () => {
  for (const route of FOR_OTHERS) {
    const expected = await comparable(await send(route, tenant));
    expect([route.path, expected.status]).toEqual([route.path, 403]);
    expect(expected.body).toContain('"forbidden"');
    for (const aim of [victim, unknown(), { task: "42", account: "a.b" }]) {
      expect(await comparable(await send(route, aim))).toEqual(expected);
    }
  }
});

it("an account's key gets 403 from an operator route before the request's body is read", async () => {
  const { key } = tenant;
  for (const body of ["{", " ".repeat(300_000)]) {
    const answer = await refusal(await post("/v1/tasks", body, { key }));
    expect(answer).toEqual({ status: 403, code: "forbidden" });
  }
});

it("an account's key may use exactly the routes that this test lists, which answer so for the account's own tasks", async () => {
  await untilIdle(tenant.task);
  const statuses: Record<string, number> = {};
  for (const route of FOR_ACCOUNTS) {
    statuses[`${route.method} ${route.path}`] = (await send(route, tenant)).status;
  }
  expect(statuses).toEqual({
    "GET /v1/accounts/{account}": 200,
    "GET /v1/accounts/{account}/entries": 200,
    "GET /v1/accounts/{account}/grants": 200,
    "GET /v1/accounts/{account}/spend": 200,
    "GET /v1/accounts/{account}/keys": 200,
    "GET /v1/accounts/{account}/signing-secrets": 200,
    "GET /v1/accounts/{account}/endpoints": 200,
    // The reads come before the endpoint is made.
    "GET /v1/accounts/{account}/endpoints/{endpoint}": 404,
    "GET /v1/accounts/{account}/endpoints/{endpoint}/signing-secrets": 404,
    "PUT /v1/accounts/{account}/endpoints/{endpoint}": 201,
    "DELETE /v1/accounts/{account}/endpoints/{endpoint}": 204,
    // Lists and counts need the index, which is not bound in these tests.
    "GET /v1/accounts/{account}/stats": 501,
    "GET /v1/tasks": 501,
    // The request asks for no WebSocket.
    "GET /v1/listen": 400,
    // The body is no message.
    "POST /mcp": 400,
    "GET /v1/tasks/{id}": 200,
    // The task has no submission, so there is no answer to give.
    "GET /v1/tasks/{id}/answer": 404,
    "GET /v1/tasks/{id}/events": 200,
    "GET /v1/tasks/{id}/attempts/{number}/request": 200,
    // No offer has this name.
    "GET /v1/offers/{name}": 404,
    "GET /v1/offers": 200,
    "POST /v1/callbacks/test": 200,
    // An order needs an Idempotency-Key.
    "POST /v1/redeliveries": 400,
    "POST /v1/tasks/{id}/verify": 200,
    // The automatic series still runs.
    "POST /v1/tasks/{id}/redeliver": 409,
    // The task has ended.
    "POST /v1/tasks/{id}/cancel": 409,
    "DELETE /v1/tasks/{id}/outputs": 204,
    // The output has the upstream's own link.
    "DELETE /v1/tasks/{id}/outputs/{output}": 404,
  });
});

it("an account's key gets the same 404 response for task and account ids of another account as for unknown and malformed ids", async () => {
  for (const route of FOR_ACCOUNTS.filter(({ path }) => path.includes("{"))) {
    const expected = await comparable(await send(route, unknown()));
    expect([route.path, expected.status]).toEqual([route.path, 404]);
    const open = { ...victim, task: victim.open };
    for (const aim of [victim, open, { task: "42", account: "x".repeat(65) }]) {
      expect(await comparable(await send(route, aim))).toEqual(expected);
    }
  }
});

it("an account's key gets 404 for an account id that differs only in case, for the tasks of that account, and for tasks without an account", async () => {
  const { account, key } = tenant;
  const other = account.toUpperCase();
  await post("/v1/accounts", { id: other });
  const [foreign, none] = [await register({ account: other }), await register()];
  for (const path of [`accounts/${other}`, `tasks/${foreign}`, `tasks/${none}`]) {
    expect((await call(`/v1/${path}`, { key })).status).toBe(404);
  }
  expect((await post(`/v1/tasks/${none}/redeliver`, "", { key })).status).toBe(404);
});

it("an account reads of its task what the operator reads, but not what the receiver answered to the callback", async () => {
  const { task, key } = tenant;
  const operators = await read(task);
  const owners = await call(`/v1/tasks/${task}`, { key });
  const text = await owners.text();
  expect(JSON.stringify(operators)).toContain("response_excerpt");
  expect(text).not.toContain("response_excerpt");
  expect(text).not.toContain(SECRET);
  const stripped = JSON.stringify(operators, (name, value: unknown) =>
    name === "response_excerpt" || name === "answer" ? undefined : value,
  );
  expect(JSON.parse(text)).toEqual(JSON.parse(stripped));
});

it("GET /v1/tasks/{id} has different ETags for an account and the operator; with the operator's ETag in If-None-Match, an account gets 200", async () => {
  const { task, key } = tenant;
  const path = `/v1/tasks/${task}`;
  const own = (await call(path, { key })).headers.get("ETag") ?? "";
  const operators = (await call(path)).headers.get("ETag") ?? "";
  expect(own).toMatch(/^"\d+-account"$/);
  expect(operators.startsWith(own.replace('account"', "operator-"))).toBe(true);
  const knowing = (tag: string) => call(path, { key, headers: { "If-None-Match": tag } });
  expect((await knowing(own)).status).toBe(304);
  expect((await knowing(operators)).status).toBe(200);
  expect((await knowing("*")).status).toBe(304);
});

/** Reads everything that an account key must not be able to change. */
async function state() {
  return {
    tasks: await Promise.all([victim.task, victim.open, tenant.task].map((id) => stored(id))),
    books: [await booksOf(victim.account), await booksOf(tenant.account)],
    keys: await (await call(`/v1/accounts/${victim.account}/keys`)).text(),
  };
}

it("requests with an account's key to all routes with the ids of another account and its tasks read nothing of that account, gain no credits and change nothing", async () => {
  const before = await state();
  const { account: owner, key, task, open } = victim;
  // Balances as JSON writes them: the digits alone may occur in an id.
  const foreign = [SECRET, key, ":777", ":770", owner, task, open];
  const aims: readonly Aim[] = [
    victim,
    { ...victim, task: victim.open },
    { task: victim.open.toUpperCase(), account: `${tenant.account}%2F..%2F${victim.account}` },
    { ...tenant, account: victim.account },
    { ...tenant, task: victim.task },
  ];
  for (const aim of aims) {
    for (const route of GUARDED.filter(({ path }) => path.includes("{"))) {
      const own = route.path.includes("{id}")
        ? aim.task === tenant.task
        : aim.account === tenant.account;
      // The stream of a task whose callback is not settled lasts as long as the attempts of all callbacks here.
      if (own && route.path.endsWith("/events")) continue;
      const response = await send(route, aim);
      const text = await response.text();
      if (!own) expect([route.path, response.status < 400]).toEqual([route.path, false]);
      for (const secret of foreign) expect(text).not.toContain(secret);
    }
  }
  for (const route of FOR_OTHERS) await send(route, tenant);
  expect(await state()).toEqual(before);
});
