import { beforeEach, describe, expect, it } from "vitest";
import { ROUTES } from "../../src/api/routes.ts";
import type { Route } from "../../src/api/http/route.ts";
import { aCharged, aKey, anAccount, booksOf } from "./accounts.ts";
import { aReceiver, status } from "./receiver.ts";
import { call, post, refusal } from "./client.ts";
import { useClock } from "./clock.ts";
import { stored, untilIdle } from "./objects.ts";
import { aCompletion, CALLBACK_URL, completed, read, register } from "./tasks.ts";

useClock();

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

/** A valid body per route, so that only the key can be the reason of a refusal. */
const BODIES: Readonly<Record<string, object>> = {
  "/v1/tasks": { model: "m" },
  "/v1/tasks/{id}/redeliver": { callback_url: "https://thief.example.net/" },
  "/v1/events": { id: "00000000-0000-4000-8000-000000000001", status: "processing", model: "m" },
  "/v1/callbacks/test": { callback_url: CALLBACK_URL },
  "/v1/accounts": { id: "mine" },
  "/v1/reindex": { ids: ["00000000-0000-4000-8000-000000000001"] },
  "/v1/accounts/{account}/grants": { reference: "r", amount: 1000 },
};

interface Aim {
  readonly task: string;
  readonly account: string;
}

function send({ method, path }: Route, { task, account }: Aim, key = tenant.key) {
  const filled = path.replace("{id}", task).replace("{account}", account).replace("{key}", "1");
  const body = method === "POST" ? (BODIES[path] ?? {}) : undefined;
  return call(filled, { method, key, body });
}

const named = (access: Route["access"]) =>
  ROUTES.filter((route) => route.access === access).map(
    (route) => [route.method, route.path, route] as const,
  );
const GUARDED = ROUTES.filter(({ access }) => access !== "anyone");

describe("the routes that account keys may use", () => {
  it("account keys may use exactly these routes", () => {
    expect(
      named("owner")
        .map(([method, path]) => `${method} ${path}`)
        .toSorted(),
    ).toEqual([
      "GET /v1/accounts/{account}",
      "GET /v1/accounts/{account}/entries",
      "GET /v1/accounts/{account}/grants",
      "GET /v1/accounts/{account}/keys",
      "GET /v1/accounts/{account}/signing-secrets",
      "GET /v1/tasks",
      "GET /v1/tasks/{id}",
      "POST /v1/callbacks/test",
      "POST /v1/redeliveries",
      "POST /v1/tasks/{id}/redeliver",
    ]);
  });
});

describe("an account key on a route for operators or upstreams", () => {
  it.each([...named("operator"), ...named("upstream")])(
    "gets one 403 answer for own, foreign and unknown targets: %s %s",
    async (_, __, route) => {
      const nothing = { task: crypto.randomUUID(), account: crypto.randomUUID() };
      const bytes = new Set<string>();
      for (const aim of [tenant, victim, nothing, { task: "42", account: "a.b" }]) {
        const response = await send(route, aim);
        const text = await response.text();
        expect([response.status, JSON.parse(text)]).toMatchObject([403, { code: "operator_only" }]);
        bytes.add(text);
      }
      expect(bytes.size).toBe(1);
    },
  );

  it("an account key gets 403 from an operator route before the body is read", async () => {
    const { key } = tenant;
    for (const body of ["{", " ".repeat(300_000)]) {
      const answer = await refusal(await post("/v1/tasks", body, { key }));
      expect(answer).toEqual({ status: 403, code: "operator_only" });
    }
  });
});

describe("an account key on a route for accounts", () => {
  it.each(named("owner"))(
    "works for the account's own task and data: %s %s",
    async (_, __, route) => {
      await untilIdle(tenant.task);
      const response = await send(route, tenant);
      const running = route.path.endsWith("/redeliver");
      // Lists need the index, which is not bound in these tests.
      const indexed = ["/v1/tasks", "/v1/redeliveries"].includes(route.path);
      expect(response.status).toBe(running ? 409 : indexed ? 501 : 200);
    },
  );

  it.each(named("owner").filter(([, path]) => path.includes("{")))(
    "gets the same bytes for foreign and unknown targets: %s %s",
    async (_, __, route) => {
      const unknown = { task: crypto.randomUUID(), account: crypto.randomUUID() };
      const expected = await answerTo(unknown);
      expect(expected.status).toBe(404);
      const open = { ...victim, task: victim.open };
      for (const aim of [victim, open, { task: "42", account: "x".repeat(65) }]) {
        expect(await answerTo(aim)).toEqual(expected);
      }

      async function answerTo(aim: Aim) {
        const response = await send(route, aim);
        const headers = new Map(response.headers);
        headers.delete("x-request-id");
        return { status: response.status, headers, body: await response.text() };
      }
    },
  );

  it("an account key does not work for an account whose id differs in case", async () => {
    const { account, key } = tenant;
    const other = account.toUpperCase();
    await post("/v1/accounts", { id: other });
    expect((await call(`/v1/accounts/${other}`, { key })).status).toBe(404);
    const task = await register({ account: other });
    expect((await call(`/v1/tasks/${task}`, { key })).status).toBe(404);
  });

  it("an account key does not work for a task without an account", async () => {
    const { key } = tenant;
    const id = await register();
    expect((await call(`/v1/tasks/${id}`, { key })).status).toBe(404);
    expect((await post(`/v1/tasks/${id}/redeliver`, "", { key })).status).toBe(404);
  });
});

describe("a task that its account reads", () => {
  it("an account reads what the operator reads, without the receiver's response", async () => {
    const { task, key } = tenant;
    const operators = await read(task);
    const owners = await call(`/v1/tasks/${task}`, { key });
    const text = await owners.text();
    expect(JSON.stringify(operators)).toContain("response_excerpt");
    expect(text).not.toContain("response_excerpt");
    expect(text).not.toContain(SECRET);
    const stripped = JSON.stringify(operators, (name, value: unknown) =>
      name === "response_excerpt" ? undefined : value,
    );
    expect(JSON.parse(text)).toEqual(JSON.parse(stripped));
  });

  it("has an ETag of the role account, which the operator's ETag does not match", async () => {
    const { task, key } = tenant;
    const path = `/v1/tasks/${task}`;
    const own = (await call(path, { key })).headers.get("ETag") ?? "";
    const operators = (await call(path)).headers.get("ETag") ?? "";
    expect(own).toMatch(/^"\d+-account"$/);
    expect(operators).toBe(own.replace("account", "operator"));
    const knowing = (tag: string) => call(path, { key, headers: { "If-None-Match": tag } });
    expect((await knowing(own)).status).toBe(304);
    expect((await knowing(operators)).status).toBe(200);
    expect((await knowing("*")).status).toBe(304);
  });
});

/** Reads everything that an account key must not be able to change. */
async function state() {
  return {
    tasks: await Promise.all([victim.task, victim.open, tenant.task].map((id) => stored(id))),
    books: [await booksOf(victim.account), await booksOf(tenant.account)],
    keys: await (await call(`/v1/accounts/${victim.account}/keys`)).text(),
  };
}

describe("a hostile account with a valid key", () => {
  it("reads nothing of another account, gains no credits and changes nothing", async () => {
    const before = await state();
    const foreign = [SECRET, victim.key, "777", "770", victim.account, victim.task, victim.open];
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
        const response = await send(route, aim);
        const text = await response.text();
        if (!own) expect([route.path, response.status < 400]).toEqual([route.path, false]);
        for (const secret of foreign) expect(text).not.toContain(secret);
      }
    }
    for (const route of GUARDED.filter(({ access }) => access !== "owner"))
      await send(route, tenant);
    expect(await state()).toEqual(before);
  });

  it("cannot report an event about a foreign task", async () => {
    const { key } = tenant;
    const response = await post("/v1/events", aCompletion(victim.open), { key });
    expect(response.status).toBe(403);
    expect(await read(victim.open)).toMatchObject({ status: "pending" });
  });
});
