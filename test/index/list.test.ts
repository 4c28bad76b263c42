import { env } from "cloudflare:workers";
import { expect, it } from "vitest";
import { answerBound } from "../../src/service-binding.ts";
import { aKey, anAccount } from "../worker/accounts.ts";
import { call, invalid, ORIGIN, refusal } from "../worker/client.ts";
import { pass, START, START_S } from "../worker/clock.ts";
import { callTool } from "../worker/mcp/messages.ts";
import { started } from "../worker/started.ts";
import { aRow, insert, list, useIndex, callWith, listAll } from "./support.ts";

useIndex();

/** Returns a row of this age in seconds. */
const agedRow = (seconds: number, fields: Parameters<typeof aRow>[0] = {}) =>
  aRow({ createdAt: START - seconds * 1000, ...fields });

it("GET /v1/tasks answers with an empty page when the index has no task", async () => {
  const response = await call("/v1/tasks");
  expect(await response.json()).toEqual({ data: [], next_cursor: null });
  expect(response.headers.get("Link")).toBeNull();
  expect(response.headers.get("Cache-Control")).toBe("private, no-store");
});

it("without PUBLIC_URL, GET /v1/tasks called by another Worker over a service binding answers with next_cursor but without a header Link", async () => {
  await insert(agedRow(60), agedRow(50));
  const isolate: unknown = await started({ ...env, PUBLIC_URL: "" });
  const request = new Request("https://relay/v1/tasks?limit=1");
  const page: Response = await Reflect.apply(answerBound, null, [request, isolate]);
  expect(await page.json()).toMatchObject({ data: [{}], next_cursor: expect.any(String) });
  expect(page.headers.get("Link")).toBeNull();
});

it("the MCP tool list_tasks answers each page as GET /v1/tasks does, and shows an account only its own tasks", async () => {
  await insert(agedRow(60), agedRow(5, { status: "failed" }), agedRow(50));
  const query = { status: "completed", limit: 1 };
  const pages = ["", "&cursor="];
  let cursor = "";
  for (const more of pages) {
    const expected = await list(`?status=completed&limit=1${more}${cursor}`);
    const given = cursor === "" ? query : { ...query, cursor };
    const { structuredContent } = await callTool("list_tasks", given, { bindings: env });
    expect(structuredContent).toEqual(expected);
    expect(expected.data).toHaveLength(1);
    cursor = expected.next_cursor ?? "";
  }
  await insert(agedRow(3, { status: "pending", submission: "queued" }));
  const waiting = await callTool("list_tasks", { submission: "queued" }, { bindings: env });
  expect(waiting.structuredContent).toEqual(await list("?submission=queued"));
  expect(waiting.structuredContent).toMatchObject({ data: [{ submission: { state: "queued" } }] });
  const { key } = await aKey(await anAccount());
  const own = await callTool("list_tasks", {}, { bindings: env, key });
  expect(own.structuredContent).toEqual({ data: [], next_cursor: null });
});

it("GET /v1/tasks leaves out an expired task even before the cron has removed its index row", async () => {
  await insert(agedRow(60, { expiresAt: START + 1000 }));
  pass(999);
  expect((await list()).data).toHaveLength(1);
  pass(1);
  expect((await list()).data).toEqual([]);
});

it.each([
  ["that is open", { status: "processing", creditsHeld: 60 }, { amount: 60, state: "charged" }],
  ["that has completed", { creditsEarned: 60 }, { amount: 60, state: "charged" }],
  [
    "that has completed at a lower price, of which the rest is not back yet",
    { creditsEarned: 40, creditsHeld: 20 },
    { amount: 60, state: "releasing", final: 40 },
  ],
  [
    "that has completed at a lower price",
    { creditsEarned: 40, creditsReleased: 20 },
    { amount: 60, state: "released", final: 40 },
  ],
  [
    "that has completed at a price of nothing",
    { creditsReleased: 60 },
    { amount: 60, state: "released", final: 0 },
  ],
  [
    "that has failed and is not refunded yet",
    { status: "failed", creditsHeld: 60 },
    { amount: 60, state: "refunding" },
  ],
  [
    "that has failed and is refunded",
    { status: "failed", creditsRefunded: 60, refunded: 1 },
    { amount: 60, state: "refunded" },
  ],
  ["without a price", {}, undefined],
] as const)("GET /v1/tasks states the credits of a task %s", async (_, fields, credits) => {
  await insert(agedRow(60, { account: "acme", ...fields }));
  const { data } = await list();
  expect(data).toMatchObject([{ account: "acme" }]);
  expect(data.map((task) => Reflect.get(task, "credits"))).toEqual([credits]);
});

it("GET /v1/tasks lists tasks newest first, each with status, model, times and callback, and with account, provider and job where it has them", async () => {
  const job = { provider: "ark", job: "cgt-1" };
  const settled = agedRow(60, { account: "a", ...job, settledAt: START - 1000 });
  const open = agedRow(5, {
    status: "processing",
    callback: "waiting",
    attempts: 0,
    lastOutcome: null,
    lastStatusCode: null,
    completedAt: null,
    finishedAt: null,
    settledAt: null,
    expiresAt: null,
    dueAt: START,
  });
  const silent = agedRow(70, { callback: null, host: null, attempts: 0, lastOutcome: null });
  await insert(settled, silent, open);
  expect((await list()).data).toEqual([
    {
      id: open.id,
      status: "processing",
      model: "m",
      created_at: START_S - 5,
      callback: { status: "waiting", host: "client.example.net", attempts: 0 },
    },
    {
      id: settled.id,
      status: "completed",
      model: "m",
      created_at: START_S - 60,
      completed_at: START_S - 60,
      finished_at: START_S - 60,
      settled_at: START_S - 1,
      account: "a",
      provider: "ark",
      upstream: { id: "cgt-1" },
      callback: {
        status: "delivered",
        host: "client.example.net",
        attempts: 1,
        last_outcome: "delivered",
        last_status_code: 200,
      },
    },
    expect.objectContaining({ id: silent.id, callback: null }),
  ]);
});

const shown = async (query: string) => (await list(query)).data.map((task) => task.created_at);

const MATCHING = { model: "kling 2", provider: "kling", account: "b", host: "b.example.net" };
const FILTERS: readonly [string, Parameters<typeof aRow>[0]][] = [
  ["status=failed", { status: "failed" }],
  ["callback=failed", { callback: "failed" }],
  ["callback=waiting", { callback: "waiting" }],
  ["callback=sending", { callback: "sending" }],
  ["callback=retrying", { callback: "retrying" }],
  ["model=kling%202", { model: "kling 2" }],
  ["provider=kling", { provider: "kling" }],
  ["account=b", { account: "b" }],
  ["host=B.example.NET", { host: "b.example.net" }],
  ["host=B.example.net:443", { host: "b.example.net" }],
  ["host=b.example.net:8443", { host: "b.example.net:8443" }],
  ["outcome=timeout", { lastOutcome: "timeout" }],
  ["status_code=503", { lastStatusCode: 503 }],
  ["job=cgt-1&since=1", { job: "cgt-1" }],
  ["category=moderation", { category: "moderation" }],
  ["category=unknown", { status: "failed", category: null }],
  ["submission=sending", { submission: "sending" }],
  ["submission=accepted", { submission: "accepted" }],
  ["submission=unknown", { submission: "unknown" }],
  ["refusal=funds", { refusal: "funds" }],
  ["refusal=key&submission=unknown", { refusal: "key", submission: "unknown" }],
  ["outputs=lost", { lostOutputs: 1 }],
  ["outputs=lost&account=b", { lostOutputs: 2, account: "b" }],
  ["submission=unknown&account=b", { submission: "unknown", account: "b" }],
  ["submission=unknown&callback=failed", { submission: "unknown", callback: "failed" }],
  ["account=b&callback=failed", { account: "b", callback: "failed" }],
  [
    "model=kling%202&provider=kling&account=b&host=b.example.net&status=failed&callback=failed",
    { ...MATCHING, status: "failed", callback: "failed" },
  ],
];

it("GET /v1/tasks?callback=open lists the tasks whose callback is sending or retrying, also beside other filters, and counts them", async () => {
  const callbacks = ["sending", "retrying", "waiting", "delivered", "failed", null] as const;
  await insert(...callbacks.map((callback, age) => agedRow(age, { callback, account: "b" })));
  await insert(agedRow(9, { callback: "retrying", account: "c" }));
  const all = await list("?callback=open");
  const found = ["sending", "retrying", "retrying"].map((of) => ({ callback: { status: of } }));
  expect(all.data).toMatchObject(found);
  expect(all.data).toHaveLength(3);
  expect((await list("?callback=open&account=b")).data).toHaveLength(2);
  expect(await counted("callback=open")).toMatchObject({ count: 3 });
});

it.each(FILTERS)(
  "GET /v1/tasks?%s lists exactly the tasks that match this query, newest first",
  async (query, fields) => {
    const fitting = [agedRow(3, fields), agedRow(1, fields)];
    const almost = Object.keys(fields ?? {}).map((name) => ({
      ...agedRow(2, fields),
      [name]: OTHER[name],
    }));
    await insert(...fitting, ...almost.map((row) => ({ ...row, id: crypto.randomUUID() })));
    const { data, next_cursor } = await list(`?${query}`);
    expect(data.map(({ id }) => id)).toEqual(fitting.map(({ id }) => id).toReversed());
    expect(next_cursor).toBeNull();
  },
);

const OTHER: Readonly<Record<string, string | number>> = {
  status: "completed",
  callback: "delivered",
  model: "other",
  provider: "other",
  account: "other",
  host: "other.example.net",
  lastOutcome: "rejected",
  lastStatusCode: 500,
  job: "cgt-2",
  category: "timeout",
  submission: "other",
  refusal: "busy",
  lostOutputs: 0,
};

it("GET /v1/tasks lists the tasks created at or after ?since and before ?until", async () => {
  const rows = [START_S - 2, START_S - 1, START_S].map((s) => aRow({ createdAt: s * 1000 }));
  await insert(...rows);
  expect(await shown(`?since=${START_S - 1}`)).toEqual([START_S, START_S - 1]);
  expect(await shown(`?until=${START_S}`)).toEqual([START_S - 1, START_S - 2]);
  expect(await shown(`?since=${START_S - 1}&until=${START_S}`)).toEqual([START_S - 1]);
  expect(await shown(`?since=${START_S}&until=${START_S}`)).toEqual([]);
});

it.each([
  ["statuss=failed", "/statuss"],
  ["status=done", "/status"],
  ["status=", "/status"],
  ["callback=none", "/callback"],
  ["model=", "/model"],
  ["account=a%2Fb", "/account"],
  ["outcome=late", "/outcome"],
  ["category=none", "/category"],
  ["submission=lost", "/submission"],
  ["refusal=none", "/refusal"],
  ["outputs=kept", "/outputs"],
  ["status_code=99", "/status_code"],
  ["job=cgt-1", "/since"],
  ["count=yes", "/count"],
  ["since=yesterday", "/since"],
  ["since=1e9", "/since"],
  ["until=-1", "/until"],
  ["until=2524651200000", "/until"],
  ["limit=0", "/limit"],
  ["limit=201", "/limit"],
  ["limit=", "/limit"],
  ["limit=1.5", "/limit"],
  ["cursor=", "/cursor"],
  ["cursor=abc", "/cursor"],
  ["status=failed&status=completed", "/status"],
  ["__proto__=1", "/__proto__"],
])(
  "GET /v1/tasks refuses the query ?%s and names the parameter that is faulty or missing: %s",
  async (query, path) => {
    expect(await refusal(await call(`/v1/tasks?${query}`))).toEqual(invalid(path));
  },
);

const counted = async (query: string) => (await call(`/v1/tasks?count=true&${query}`)).json();

it("GET /v1/tasks?count=true counts the matching tasks among the newest 10,000 tasks, and says whether there are older ones that it has not examined", async () => {
  const rows = Array.from({ length: 10_001 }, (_, age) => agedRow(age, { model: `m${age % 2}` }));
  await insert(...rows.slice(0, -1));
  expect(await counted("model=m0")).toEqual({ count: 5_000, is_capped: false });
  expect(await counted("")).toEqual({ count: 10_000, is_capped: false });
  await insert(...rows.slice(-1));
  expect(await counted("model=m0")).toEqual({ count: 5_000, is_capped: true });
  expect(await counted("")).toEqual({ count: 10_000, is_capped: true });
  expect(await counted(`model=m1&since=${START_S - 10}`)).toEqual({ count: 5, is_capped: false });
  const { key } = await aKey(await anAccount());
  const own = await call("/v1/tasks?count=true", { key });
  expect(await own.json()).toEqual({ count: 0, is_capped: false });
});

it("GET /v1/tasks refuses unknown query parameters and names all of them", async () => {
  const { paths } = await refusal(await call("/v1/tasks?a=1&b=2"));
  expect(paths?.toSorted()).toEqual(["/a", "/b"]);
});

it("GET /v1/tasks lists 50 tasks by default and at most 200", async () => {
  await insert(...Array.from({ length: 201 }, (_, age) => agedRow(age)));
  expect((await list()).data).toHaveLength(50);
  expect((await list("?limit=200")).data).toHaveLength(200);
  expect((await list("?limit=1")).data).toHaveLength(1);
});

it("GET /v1/tasks links to the next page with the same filters", async () => {
  await insert(...[3, 2, 1].map((age) => agedRow(age, { model: "a b" })), agedRow(0));
  const response = await call("/v1/tasks?limit=2&model=a%20b");
  const link = /^<([^>]+)>; rel="next"$/.exec(response.headers.get("Link") ?? "")?.[1] ?? "";
  expect(link.startsWith(`${ORIGIN}/v1/tasks?`)).toBe(true);
  const { pathname, search } = new URL(link);
  const next = await call(`${pathname}${search}`);
  expect(await next.json()).toMatchObject({ data: [{ model: "a b" }], next_cursor: null });
  expect(next.headers.get("Link")).toBeNull();
});

it("GET /v1/tasks shows an account only its own tasks, without their providers and jobs", async () => {
  const [own, other] = [await anAccount(), await anAccount()];
  const { key } = await aKey(own);
  const mine = agedRow(1, { account: own, provider: "ark", job: "ark-1" });
  await insert(mine, agedRow(2, { account: other }), agedRow(0));
  const { data } = await list("", key);
  expect(data.map(({ id }) => id)).toEqual([mine.id]);
  expect(JSON.stringify(data)).not.toContain("ark");
  expect((await list("?status=failed", key)).data).toEqual([]);
});

it.each(["account", "provider", "job"])(
  "GET /v1/tasks refuses the filter %s in a request with an account key",
  async (name) => {
    const { key } = await aKey(await anAccount());
    const response = await call(`/v1/tasks?${name}=x`, { key });
    expect(await refusal(response)).toEqual(invalid(`/${name}`));
  },
);

/** Largest number of rows that one page of a list examines. */
const MAX_SCANNED = 10_000;
const INVALID = invalid("/cursor");

async function aCursor(query = "?limit=1", key?: string): Promise<string> {
  const { next_cursor } = await list(query, key);
  if (next_cursor === null) throw new Error("expected a further page");
  return next_cursor;
}

const tasks = (length: number, fields: Parameters<typeof aRow>[0] = {}) =>
  Array.from({ length }, (_, i) => aRow({ createdAt: START - i, ...fields }));

it("GET /v1/tasks refuses a cursor that was cut off or altered", async () => {
  await insert(...tasks(3));
  const cursor = await aCursor();
  const place = cursor.slice(0, cursor.lastIndexOf("_"));
  const forged = [place, `${place}_`, `${place}_${"A".repeat(43)}`];
  for (const altered of [...forged, cursor.slice(1), cursor.toUpperCase(), "x".repeat(600)]) {
    expect(await refusal(await call(`/v1/tasks?cursor=${altered}`))).toEqual(INVALID);
  }
});

it("GET /v1/tasks refuses the cursor of an account when another account or the operator sends it, and the operator's cursor when an account sends it", async () => {
  const [own, other] = [await anAccount(), await anAccount()];
  const [{ key }, { key: otherKey }] = [await aKey(own), await aKey(other)];
  await insert(...tasks(3, { account: own }), ...tasks(3, { account: other }));
  const cursor = await aCursor("?limit=1", key);
  const foreign = await call(`/v1/tasks?cursor=${cursor}`, { key: otherKey });
  expect(await refusal(foreign)).toEqual(INVALID);
  expect(await refusal(await call(`/v1/tasks?cursor=${cursor}`))).toEqual(INVALID);
  const operators = await call(`/v1/tasks?cursor=${await aCursor()}`, { key });
  expect(await refusal(operators)).toEqual(INVALID);
});

it("GET /v1/tasks accepts a cursor together with another ?limit than before, and also after a new RELAY_SECRET was put in front of the old one", async () => {
  const rows = tasks(4);
  await insert(...rows);
  const cursor = await aCursor();
  const RELAY_SECRET = `another-test-only-relay-secret-0123456789 ${env.RELAY_SECRET}`;
  const response = await callWith({ RELAY_SECRET }, `/v1/tasks?limit=3&cursor=${cursor}`);
  expect(await response.json()).toMatchObject({ data: rows.slice(1).map(({ id }) => ({ id })) });
});

const TASKS = 3_000;

it.each([
  ["", null],
  ["&account=a", "a"],
])(
  "the pages of GET /v1/tasks with ?limit=200%s list 3,000 tasks once each, newest first, while further tasks are created and listed ones change",
  async (filter, account) => {
    // Several tasks are created in the same millisecond, as in a burst.
    const rows = Array.from({ length: TASKS }, (_, i) =>
      aRow({ createdAt: START - 10_000_000 + Math.floor(i / 3), account }),
    );
    await insert(...rows);
    const expected = rows
      .toSorted((a, b) => a.createdAt - b.createdAt || (a.id < b.id ? -1 : 1))
      .map(({ id }) => id)
      .toReversed();
    let turn = 0;
    const arriving = async () => {
      turn += 1;
      const changed = rows[(turn * 97) % TASKS];
      if (changed === undefined) throw new Error("expected a task");
      await insert(aRow({ createdAt: START + turn, account }), {
        ...changed,
        version: changed.version + turn,
        status: "failed",
      });
    };
    expect(await listAll(`?limit=200${filter}`, arriving)).toEqual(expected);
    expect(turn).toBeGreaterThanOrEqual(TASKS / 200);
  },
);

it("when few tasks match a filter, the pages of GET /v1/tasks may have fewer tasks than the limit, but together list all tasks that match", async () => {
  const many = tasks(MAX_SCANNED + 5);
  const fitting = [2, MAX_SCANNED - 1, MAX_SCANNED, MAX_SCANNED + 3];
  const rows = many.map((row, i) => (fitting.includes(i) ? { ...row, model: "rare" } : row));
  await insert(...rows);
  const first = await list("?model=rare");
  expect(first.data).toHaveLength(2);
  expect(first.next_cursor).not.toBeNull();
  const nobody = await list("?model=nobody");
  expect(nobody.data).toEqual([]);
  expect(nobody.next_cursor).not.toBeNull();
  expect(await listAll("?model=rare")).toEqual(fitting.map((i) => rows[i]?.id));
  expect(await listAll("?model=nobody")).toEqual([]);
});
