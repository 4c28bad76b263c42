import { env } from "../../src/startup.ts";
import { expect, it } from "vitest";
import { connectionObject } from "../../src/objects/object-names.ts";
import { ready } from "../../src/index-db/database.ts";
import { writeRows } from "../../src/index-db/index-row-table.ts";
import { aKey, anAccount } from "../worker/accounts.ts";
import { invalid, refusal } from "../worker/client.ts";
import { pass, START, START_S } from "../worker/clock.ts";
import { logIn, visit } from "../worker/browser.ts";
import { metered } from "./bindings.ts";
import {
  aRow,
  answerOf,
  callWith,
  cron,
  DAY,
  db,
  HOUR,
  insert,
  TABLES,
  useIndex,
} from "./support.ts";

useIndex();

const HOUR_S = 3600;
const HOST = "client.example.net";
/** Beginning of the hour of `START`, in seconds. */
const THIS_HOUR = START_S - (START_S % HOUR_S);

const FAILURE = {
  callback: "failed",
  attempts: 3,
  version: START,
  lastOutcome: "rejected",
  lastStatusCode: 503,
} as const;

/**
 * Writes the rows of an outage of `HOST`: three failed callbacks, one that is being sent again, and an older
 * success.
 */
async function anOutage(): Promise<void> {
  await insert(
    ...[1, 2, 3].map((minutes) =>
      aRow({ ...FAILURE, account: "acme", createdAt: START - minutes * 60_000 }),
    ),
    aRow({
      ...FAILURE,
      callback: "retrying",
      attempts: 1,
      settledAt: null,
      expiresAt: null,
      dueAt: START + 60_000,
    }),
    aRow({ createdAt: START - 3 * HOUR }),
    aRow({ host: "good.example.net" }),
  );
}

it.each(["before", "after"])(
  "GET /v1/hosts and /v1/hosts/{host}, called %s the cron has counted the tasks, show that callbacks to a host fail",
  async (when) => {
    await anOutage();
    if (when === "after") await cron();
    const failing = {
      since: START_S - 180,
      failed: 3,
      sending: 1,
      is_capped: false,
      outcome: "rejected",
      status_code: 503,
    };
    const { data, hours } = await answerOf("/v1/hosts?limit=1");
    expect(hours).toEqual(Array.from({ length: 24 }, (_, n) => THIS_HOUR - (23 - n) * HOUR_S));
    expect(data).toMatchObject([{ host: HOST, failing, last_failed_at: START_S - 60 }]);
    expect(await answerOf("/v1/hosts/CLIENT.example.net:443")).toMatchObject({
      host: HOST,
      failing,
      callbacks: { total: when === "after" ? 5 : 0 },
      last_delivered_at: START_S - 3 * HOUR_S,
      accounts: [
        { account: "acme", tasks: 3 },
        { account: null, tasks: 2 },
      ],
      failures: {
        outcomes: [{ outcome: "rejected", status_code: 503, tasks: 4 }],
        accounts: [
          { account: "acme", tasks: 3 },
          { account: null, tasks: 1 },
        ],
        is_capped: false,
      },
    });
  },
);

it("GET /v1/hosts/{host} answers with zeros for a host without callbacks, and refuses a text that is not a host", async () => {
  expect(await answerOf("/v1/hosts/unknown.example.net")).toMatchObject({
    callbacks: { total: 0 },
    failing: null,
    last_delivered_at: null,
    accounts: [],
    failures: { outcomes: [], accounts: [], first_failed_at: null },
  });
  expect(await refusal(await callWith({}, "/v1/hosts/a%20b"))).toEqual(invalid("/host"));
});

it("GET /v1/problems lists a failing host, a refused API key, an upstream account without money and a pause, and counts overdue tasks, callbacks being sent and pending refunds", async () => {
  await anOutage();
  await connectionObject(env, "vidu").noteRefusal("key");
  await connectionObject(env, "vidu").noteRefusal("funds");
  const answer = await answerOf("/v1/problems", {
    VIDU_API_KEY: "k",
    PAUSED: "true",
    PUBLIC_URL: "",
  });
  expect(answer).toMatchObject({
    at: START_S,
    data: [
      { kind: "host_failing", subject: { host: HOST } },
      { kind: "key_refused", subject: { connection: "vidu", refused_at: START_S } },
      { kind: "funds_refused", subject: { connection: "vidu", refused_at: START_S } },
      { kind: "paused" },
      { kind: "configuration", subject: { variable: "PUBLIC_URL" } },
    ],
    now: {
      unsettled: { count: 1, is_capped: false },
      oldest_at: START_S,
      overdue: { count: 0, is_capped: false },
      sending: { count: 1, is_capped: false },
      refunding: { count: 0, is_capped: false },
    },
  });
});

it("in a relay without an index, GET /v1/problems lists problems of the configuration, and has null in place of the numbers of tasks", async () => {
  const answer = await answerOf("/v1/problems", { INDEX_DB: undefined, PAUSED: "true" });
  expect(answer).toMatchObject({ now: null, data: [{ kind: "paused" }] });
});

it.each(["/v1/hosts", `/v1/hosts/${HOST}`, "/v1/problems", "/v1/stats/series"])(
  "GET %s answers 403 to a request with an account key",
  async (path) => {
    const { key } = await aKey(await anAccount());
    expect(await refusal(await callWith({}, path, { key }))).toEqual({
      status: 403,
      code: "forbidden",
    });
  },
);

it("GET /v1/hosts, /v1/problems and /v1/stats/series add up the numbers of tasks from all databases of the index", async () => {
  const { SHARD_1: second } = env;
  if (second === undefined) throw new Error("this test needs two databases");
  await ready(second);
  await second.batch(TABLES.map((table) => second.prepare(`DELETE FROM ${table}`)));
  const bindings = { INDEX_DB_1: second, INDEX_SHARD_HOURS: 750 };
  await anOutage();
  await writeRows(second, [aRow({ ...FAILURE }), aRow({ host: "other.example.net" })], START);
  await cron(bindings);
  const { data } = await answerOf("/v1/hosts", bindings);
  expect(data).toMatchObject([
    { host: HOST, failing: { failed: 4, sending: 1 } },
    { host: "good.example.net", callbacks: { total: 1 } },
    { host: "other.example.net", callbacks: { total: 1 } },
  ]);
  expect(await answerOf("/v1/problems", bindings)).toMatchObject({
    data: [{ kind: "host_failing", tasks: { count: 5 } }],
  });
  const { steps } = await answerOf("/v1/stats/series", bindings);
  expect(Object.values(steps ?? []).slice(-2)).toMatchObject([
    { tasks: { total: 3 } },
    { tasks: { total: 4 } },
  ]);
});

const HOURS_OF_COUNTS = 31 * 24;

/**
 * Writes what a relay with a million tasks in 28 days has in its index: for each hour of 31 days, and each day, one row
 * with the counts of 21 hosts, and more rows of tasks than the searches read. Older rows are not read, as the plans of
 * the queries show (plan.test.ts). The cron then counts the tasks.
 */
async function aMillionTasks(): Promise<void> {
  const hosts = Array.from({ length: 21 }, (_, n) => ({
    host: `h${n}`,
    callback: "delivered",
    tasks: 7,
    attempts: 8,
  }));
  const counts = {
    tasks: [{ status: "completed", callback: "delivered", tasks: 147, attempts: 168 }],
    outcomes: [{ outcome: "delivered", attempts: 168 }],
    failures: [],
    sums: [],
    job_times: [],
    job_failures: [],
    latencies: Array.from({ length: 10 }, (_, bucket) => ({
      measure: "settled",
      bucket,
      tasks: 10,
    })),
    hosts,
  };
  await db
    .prepare(
      `INSERT INTO step_counts (step_ms, at, counts)
       WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${HOURS_OF_COUNTS})
       SELECT ${HOUR}, ?1 - i * ${HOUR}, ?2 FROM n
       UNION ALL SELECT ${DAY}, ?1 - ?1 % ${DAY} - i * ${DAY}, ?2 FROM n WHERE i <= 31`,
    )
    .bind(THIS_HOUR * 1000, JSON.stringify(counts))
    .run();
  const open = {
    settledAt: null,
    expiresAt: null,
    status: "processing",
    callback: "waiting",
  } as const;
  await insert(
    ...Array.from({ length: 2_100 }, (_, n) => aRow({ ...FAILURE, createdAt: START - n })),
    ...Array.from({ length: 2_100 }, (_, n) => aRow({ ...open, dueAt: START + DAY + n })),
  );
  await cron();
}

it("with a million tasks in the index, the console's overview for an operator reads at most 20,000 rows of D1 when opened, and 1,000 when refreshed, for each time range", async () => {
  await aMillionTasks();
  for (const range of ["24h", "7d", "30d"]) {
    const { rows, INDEX_DB } = metered(db);
    const bindings = { ...env, INDEX_DB };
    const cookie = await logIn(undefined, bindings);
    const readBy = async (headers = {}) => {
      rows.read = 0;
      const response = await visit(`/?range=${range}`, cookie, headers, bindings);
      expect(await response.text()).toContain("does not take callbacks: 503");
      return rows.read;
    };
    const first = await readBy();
    expect(first).toBeGreaterThan(2_000);
    expect(first).toBeLessThanOrEqual(20_000);
    for (const seconds of [30, 60, 300]) {
      pass(seconds * 1000);
      expect(await readBy({ "X-Refresh": "1" })).toBeLessThanOrEqual(1_000);
    }
    await insert(aRow());
    await cron();
    pass(60_000);
    const again = await readBy({ "X-Refresh": "1" });
    expect(again).toBeLessThanOrEqual(1_000);
  }
});

it("the console's overview for an account with 3,000 tasks reads at most 20,000 rows of D1 when it is opened, and at most 1,000 when it is refreshed", async () => {
  const account = await anAccount();
  await insert(...Array.from({ length: 3_000 }, (_, n) => aRow({ account, createdAt: START - n })));
  const { rows, INDEX_DB } = metered(db);
  const bindings = { ...env, INDEX_DB };
  const cookie = await logIn((await aKey(account)).key, bindings);
  const readBy = async (headers = {}) => {
    rows.read = 0;
    expect((await visit("/", cookie, headers, bindings)).status).toBe(200);
    return rows.read;
  };
  const first = await readBy();
  expect(first).toBeGreaterThan(2_000);
  expect(first).toBeLessThanOrEqual(20_000);
  expect(await readBy({ "X-Refresh": "1" })).toBeLessThanOrEqual(1_000);
});
