import { createScheduledController, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect, it, vi } from "vitest";
import { started } from "../worker/started.ts";
import { removeRows, writeRows } from "../../src/index-db/index-row-table.ts";
import { isSampled, ExpiryCheck } from "../../src/objects/task/expiry-check.ts";
import { PATIENCE_MS, PERIOD_MS, runScheduled, type Step, STEPS } from "../../src/cron/cron.ts";
import { STEP_BY_STEP } from "../../src/cron/cron-expression.ts";
import worker from "../../src/index.ts";
import { ready } from "../../src/index-db/database.ts";
import { Shards } from "../../src/index-db/shards.ts";
import { planCheck } from "../../src/index-db/expiry-checks.ts";
import type { IndexDatabase } from "../../src/index-db/index-database.ts";
import { pass, START, until } from "../worker/clock.ts";
import { evict, untilIdle, NOTHING, stored, stubOf } from "../worker/objects.ts";
import { aReceiver, status } from "../worker/receiver.ts";
import { read } from "../worker/tasks.ts";
import WRANGLER_CONFIG from "../../wrangler.toml?raw";
import { BOUND, gated } from "./bindings.ts";
import { allowIndexAlert, OPERATOR_BINDINGS, operatorEvents, receivers } from "./operator.ts";
import {
  allRows,
  aRow,
  callWith,
  cron,
  db,
  DAY,
  HOUR,
  indexed,
  insert,
  logLines,
  loseAlarm,
  rowsOfTask,
  useIndex,
  indexedTask,
  finish,
  TABLES,
  STORES_HOUR,
} from "./support.ts";

useIndex();

const TEN_MINUTES = 600_000;

const expiringAt = (expiresAt: number) => aRow({ createdAt: expiresAt - 7 * DAY, expiresAt });

/** Returns the ids of the tasks that the index remembers as erased. */
const erasedIds = async () => (await db.prepare("SELECT id FROM erased").all()).results;

/** Returns the number of batches of tasks whose erasure is still to be checked. */
const plannedChecks = async () =>
  (await db.prepare("SELECT * FROM expiry_checks").all()).results.length;

const unreachable = () => Promise.reject(new Error("Network connection lost."));

it("the cron removes the index row of a task that expires at the time of the run, and keeps the row of a task that expires later", async () => {
  const [first, later] = [expiringAt(START + 1000), expiringAt(START + 1001)];
  await insert(first, later, aRow({ expiresAt: null, dueAt: START + DAY }));
  pass(999);
  await cron();
  expect(await allRows()).toHaveLength(3);
  pass(1);
  await cron();
  expect(await rowsOfTask(first.id)).toEqual([]);
  expect(await allRows()).toHaveLength(2);
});

/** Returns an id whose task belongs, or does not belong, to the sample of the sweep. */
function anId(isInSample: boolean): string {
  const id = crypto.randomUUID();
  return isSampled(id) === isInSample ? id : anId(isInSample);
}

/**
 * Makes settled tasks whose objects have lost their alarms and whose rows have left the index, and lets
 * their retention end.
 */
async function expiredWithoutAlarm(...ids: readonly string[]): Promise<void> {
  for (const id of ids) {
    await finish(id, { model: "m" });
    await indexed(id);
    await loseAlarm(id);
  }
  pass(7 * DAY);
  await cron();
  expect(await allRows()).toEqual([]);
  pass(21 * DAY + HOUR);
}

it.each([
  ["both when one is in the sample that it checks", true, NOTHING, 2],
  ["neither when none is in the sample that it checks", false, { alarm: null }, 0],
])(
  "of two expired tasks that lost their alarms and so were not erased, the cron erases %s",
  async (_, isInSample, other, lost) => {
    const [first, second] = [anId(isInSample), anId(false)];
    await expiredWithoutAlarm(first, second);
    pass(-1);
    await cron();
    expect(await stored(first)).toMatchObject({ alarm: null });
    pass(1);
    await cron();
    expect(await stored(second)).toMatchObject(other);
    const metrics = await (await callWith({}, "/metrics")).arrayBuffer();
    expect(new TextDecoder().decode(metrics)).toContain(`\ntask_relay_expiry_lost_tasks ${lost}\n`);
    expect(await plannedChecks()).toBe(0);
  },
);

it("when the Durable Object of an expired task cannot be reached, the cron checks an hour later again whether the task is erased", async () => {
  const id = anId(true);
  await expiredWithoutAlarm(id);
  await cron({ TASKS: { getByName: () => ({ expireIfDue: unreachable }) } });
  expect(await plannedChecks()).toBe(1);
  pass(HOUR);
  await cron();
  expect(await stored(id)).toEqual(NOTHING);
});

it("the cron does not erase a task whose retention was extended after the cron had removed its index row", async () => {
  const id = anId(true);
  await finish(id, { model: "m", callback_url: null });
  await indexed(id);
  pass(7 * DAY);
  await cron();
  await runInDurableObject(stubOf(id), (_, { storage }) => {
    const record: object = storage.kv.get("task") ?? {};
    storage.kv.put("task", { ...record, expiresAt: START + 40 * DAY });
  });
  await evict(id);
  pass(21 * DAY + HOUR);
  await cron();
  expect(await stored(id)).not.toEqual(NOTHING);
  expect(await plannedChecks()).toBe(0);
});

it("the index keeps the id of an erased task for 14 days in the table of erased tasks; then the cron removes the id", async () => {
  const { id, createdAt } = aRow();
  await removeRows(db, [{ id, createdAt, version: START }]);
  pass(14 * DAY);
  await cron();
  expect(await erasedIds()).toEqual([{ id }]);
  pass(1);
  await cron();
  expect(await erasedIds()).toEqual([]);
});

it("the cron wakes a task whose next callback attempt was due more than 10 minutes ago, and the attempt is made", async () => {
  const received = aReceiver(status(500), status(200));
  const id = await indexedTask();
  await loseAlarm(id);
  pass(START + 180_000 - Date.now() + TEN_MINUTES);
  await cron();
  expect(received).toHaveLength(1);
  pass(1);
  await cron();
  await until(() => received.length === 2);
  await untilIdle(id);
  expect(await read(id)).toMatchObject({ callback: { status: "delivered" } });
  await indexed(id);
  expect(await rowsOfTask(id)).toMatchObject([{ callback: "delivered", due_at: null }]);
});

it("when an index row says that its task is overdue, but shows an earlier version of the task, the cron updates the row", async () => {
  aReceiver();
  const id = await indexedTask();
  const behind = { status: "pending", due_at: START, settled_at: null, version: START - 5 };
  await db
    .prepare(
      "UPDATE index_rows SET status = ?, due_at = ?, settled_at = ?, version = ? WHERE id = ?",
    )
    .bind(...Object.values(behind), id)
    .run();
  pass(TEN_MINUTES + 1);
  await cron();
  await until(async () => (await rowsOfTask(id))[0]?.["status"] === "completed");
  expect(await rowsOfTask(id)).toMatchObject([{ due_at: null, callback: "delivered" }]);
});

it("when an index row says that its task is overdue, but the task no longer exists, the cron removes the row", async () => {
  const row = aRow({ dueAt: START, expiresAt: null });
  await insert(row);
  pass(TEN_MINUTES + 1);
  await cron();
  expect(await allRows()).toEqual([]);
  expect(await stored(row.id)).toEqual(NOTHING);
});

it("when the cron cannot reach the Durable Object of one overdue task, it goes on to the next overdue task", async () => {
  const [lost, gone] = [aRow({ dueAt: START - 2 }), aRow({ dueAt: START - 1 })];
  await insert(lost, gone);
  pass(TEN_MINUTES + 1);
  const getByName = (id: string) =>
    id === lost.id ? { rewriteIndexRow: unreachable } : env.TASKS.getByName(id);
  await cron({ TASKS: { getByName } });
  expect((await allRows()).map(({ id }) => id)).toEqual([lost.id]);
});

it.each([
  ["the removal of expired index rows", /DELETE FROM index_rows[^;]*expires_at/],
  ["the counting of tasks for the hourly counts", STORES_HOUR],
  ["the search for overdue tasks", /ORDER BY random/],
])("the cron does all its other work even when %s fails", async (part, statement) => {
  const gone = aRow({ dueAt: START - 1, expiresAt: null });
  const expired = expiringAt(START + 1);
  await insert(gone, expired, aRow());
  pass(TEN_MINUTES);
  const INDEX_DB = gated(db, async (sql) => {
    if (statement.test(sql)) throw new Error("D1 is unavailable");
  });
  await cron({ INDEX_DB });
  const ids = (await allRows()).map(({ id }) => id);
  expect(ids.includes(expired.id)).toBe(part.includes("expired"));
  expect(ids.includes(gone.id)).toBe(part.includes("overdue"));
  const { results } = await db.prepare("SELECT DISTINCT hour FROM counts").all();
  expect(results.length > 0).toBe(!part.includes("counting"));
});

it("the cron does nothing without an index or without a valid configuration", async () => {
  await insert(expiringAt(START + 1));
  pass(1);
  await cron({ INDEX_DB: undefined });
  await cron({ RELAY_SECRET: "" });
  expect(await allRows()).toHaveLength(1);
});

const BINDINGS = {
  INDEX_DB_1: env.SHARD_1,
  INDEX_DB_2: env.SHARD_2,
  INDEX_SHARD_HOURS: 90,
  PLAN: "free",
};

async function clear(each: IndexDatabase): Promise<void> {
  await ready(each);
  await each.batch(TABLES.map((table) => each.prepare(`DELETE FROM ${table}`)));
}

it("the cron first wakes overdue tasks, before other work can use up its time and queries, and counts tasks last, so that the count delays nothing", async () => {
  const lines = logLines();
  await cron();
  const events = lines().map(({ event }) => event);
  const steps = ["overdue", "size", "expired", "expiry_checks", "counts"];
  expect(events).toEqual(steps.map((step) => `index.${step}`));
});

it("a run of the cron whose expression is that of the Free plan does one step, and the runs of twelve minutes do each step once, while any other expression does all", async () => {
  const lines = logLines();
  const steps = async (expression: string, at: number) => {
    const before = lines().length;
    const run = { cron: expression, scheduledTime: new Date(at) };
    await worker.scheduled(createScheduledController(run));
    return lines()
      .slice(before)
      .map(({ event }) => event);
  };
  const all = await steps("*/10 * * * *", START);
  expect(await steps("", START)).toEqual(all);
  const alone = [];
  for (let run = 0; run < STEPS.length; run++) {
    const done = await steps(STEP_BY_STEP, START + run * 120_000);
    expect(done.length).toBeLessThanOrEqual(1);
    alone.push(...done);
  }
  expect(alone.toSorted()).toEqual(all.toSorted());
});

it("on the Free plan, whose queries suffice for one index database, each run of the cron counts and removes tasks in the next of several databases", async () => {
  const databases = [db, env.SHARD_1, env.SHARD_2].filter((each) => each !== undefined);
  await Promise.all(databases.map(clear));
  for (const each of databases) {
    const expired = aRow({ createdAt: START - 8 * DAY, expiresAt: START + HOUR });
    await writeRows(each, [expired, aRow()], START);
    await each.batch([...planCheck(each, [crypto.randomUUID()], START)]);
  }
  const total = async (table: string) => {
    const query = (each: IndexDatabase) => each.prepare(`SELECT 1 FROM ${table}`).all();
    const found = await Promise.all(databases.map(query));
    return found.flatMap(({ results }) => results).length;
  };
  pass(HOUR);
  const due = Date.now();
  const counts = [];
  for (let run = 0; run < databases.length; run++, pass(600_000)) {
    await runScheduled(await started({ ...env, ...BINDINGS }), Date.now());
    counts.push({
      counted: await total("counts WHERE kind = 'tasks'"),
      expired: await total(`index_rows WHERE expires_at <= ${due}`),
      unchecked: await total(`expiry_checks WHERE check_at <= ${due}`),
    });
  }
  expect(counts).toEqual([
    { counted: 1, expired: 2, unchecked: 2 },
    { counted: 2, expired: 1, unchecked: 1 },
    { counted: 3, expired: 0, unchecked: 0 },
  ]);
  await Promise.all(databases.map(clear));
});

it("when a run of the cron may call no more Durable Objects, the check whether expired tasks were erased returns the ids of the tasks not yet checked", async () => {
  const sampled = (): string => {
    const id = crypto.randomUUID();
    return isSampled(id) ? id : sampled();
  };
  const [first, second] = [sampled(), sampled()];
  const expiryCheck = new ExpiryCheck(await started(env), 1);
  expect(await expiryCheck.check([first, second])).toEqual([second]);
  expect(await expiryCheck.check([second])).toEqual([second]);
  expect(expiryCheck.counts).toEqual({ asked: 1, lost: 0 });
});

it("on the Free plan, each run of the cron removes index rows of tasks that no longer exist from the next of several databases, and logs how many it skipped", async () => {
  const lines = logLines();
  const databases = [db, env.SHARD_1, env.SHARD_2].filter((each) => each !== undefined);
  await Promise.all(databases.map(clear));
  const spanMs = BINDINGS.INDEX_SHARD_HOURS * HOUR;
  const shards = new Shards([db, ...databases.slice(1)], spanMs);
  const dueAt = START - HOUR;
  const past = databases.map((_, n) => START - n * spanMs);
  for (const createdAt of past)
    await writeRows(shards.at(createdAt), [aRow({ createdAt, dueAt, expiresAt: null })], START);
  const TASKS = {
    getByName: () => ({ rewriteIndexRow: async () => null, read: async () => null }),
  };
  const left = async () => {
    const found = databases.map((each) => each.prepare("SELECT id FROM index_rows").all());
    return (await Promise.all(found)).flatMap(({ results }) => results).length;
  };
  for (let run = 1; run <= databases.length; run++, pass(TEN_MINUTES)) {
    await cron({ ...BINDINGS, TASKS });
    expect(await left()).toBe(databases.length - run);
    expect(lines("index.overdue").at(-1)).toMatchObject({ overdue: 1, woken: 0, skipped: 2 });
  }
  await Promise.all(databases.map(clear));
});

it("the cron logs the hours and index databases for which the queries of its run did not suffice, and sends the event index.lagging when hours stay uncounted", async () => {
  const lines = logLines();
  const outside = receivers(200);
  await allowIndexAlert();
  const databases = [db, env.SHARD_1, env.SHARD_2].filter((each) => each !== undefined);
  await Promise.all(databases.map(clear));
  for (const each of databases) await writeRows(each, [aRow()], START);
  const [, ...others] = databases;
  const many = [...others, ...others].map(
    (each, n) => [`INDEX_DB_${n + 1}`, new Proxy(each, BOUND)] as const,
  );
  await cron({ ...BINDINGS, ...Object.fromEntries(many), ...OPERATOR_BINDINGS });
  const skipped = { skipped: 1 };
  const bytes = { bytes: expect.any(Number) };
  const removed = { removed: 0 };
  const asked = { asked: 0, lost: 0 };
  expect(lines("index.size")).toMatchObject([bytes, bytes, bytes, skipped, skipped]);
  expect(lines("index.expired")).toMatchObject([removed, skipped, skipped, skipped, skipped]);
  expect(lines("index.expiry_checks")).toMatchObject([asked, skipped, skipped, skipped, skipped]);
  // The third is the same database as the first, bound twice, so that its hour is counted already.
  const left = { hours: 0, left: 1 };
  const counted = [{ hours: 1, left: 0 }, left, { hours: 0, left: 0 }, left, skipped];
  expect(lines("index.counts")).toMatchObject(counted);
  expect(await operatorEvents(outside)).toMatchObject([
    { type: "index.lagging", data: { overdue: 0, cause: "count_slow" } },
  ]);
  await Promise.all(databases.map(clear));
});

/** Counts the queries that D1 is asked, the statements of a batch each. */
function countingQueries() {
  const made = { queries: 0 };
  const INDEX_DB = gated(db, async (sql) => {
    made.queries += sql.split(";").length;
  });
  return { made, INDEX_DB };
}

async function hasDirtyHours(): Promise<boolean> {
  return (await db.prepare("SELECT 1 FROM hours_to_count").all()).results.length > 0;
}

it.each([
  ["free", 50, 12],
  ["paid", 1_000, 120],
] as const)(
  "with PLAN=%s, a run of the cron makes at most %i queries to D1 however much there is to do, and later runs do the rest",
  async (PLAN, most, hours) => {
    const past = Array.from({ length: hours }, (_, n) => START - n * HOUR);
    await insert(
      ...past.map((createdAt) => aRow({ createdAt })),
      ...past.map((createdAt) => aRow({ createdAt, dueAt: START - HOUR, expiresAt: null })),
      aRow({ createdAt: START - 8 * DAY, expiresAt: START + 1 }),
    );
    await db.batch([...planCheck(db, [crypto.randomUUID()], START - DAY)]);
    vi.setSystemTime(START - (START % DAY) + DAY);
    const TASKS = { getByName: () => ({ rewriteIndexRow: async () => null }) };
    for (let runs = 0; await hasDirtyHours(); runs++, pass(HOUR)) {
      if (runs > 2 * hours) throw new Error("some hours are never counted");
      const { made, INDEX_DB } = countingQueries();
      await cron({ INDEX_DB, TASKS, PLAN, SILENCE_MINUTES: "1", OPERATOR_CALLBACK_URL: undefined });
      expect(made.queries).toBeLessThanOrEqual(most);
      if (runs === 0) expect(made.queries).toBeGreaterThan(most / 2);
    }
    expect(await db.prepare("SELECT count(DISTINCT hour) AS n FROM counts").first()).toEqual({
      n: hours,
    });
    expect((await allRows()).every((row) => Number(row["expires_at"]) > START + 1)).toBe(true);
  },
);

it("when D1 does not answer the count of tasks, the cron gives the count up and logs this, after it has done everything else", async () => {
  const warned = logLines("warn");
  const gone = aRow({ dueAt: START - 1, expiresAt: null });
  await insert(gone, expiringAt(START + 1), aRow());
  pass(TEN_MINUTES);
  const INDEX_DB = gated(db, (sql) =>
    STORES_HOUR.test(sql) ? new Promise(() => undefined) : Promise.resolve(),
  );
  const atOnce = STEPS.map((step) => (step.name === "counts" ? { ...step, maxMs: 100 } : step));
  await runScheduled(await started({ ...env, INDEX_DB }), Date.now(), atOnce, 0);
  expect(await allRows()).toHaveLength(1);
  expect(warned("index.unreachable")).toMatchObject([{ part: "counts" }]);
  await cron();
  expect(
    await db.prepare("SELECT sum(number) AS n FROM counts WHERE kind = 'tasks'").first(),
  ).toEqual({ n: 1 });
});

it("even when D1 answers no query, a run of the cron ends before the next one, which wrangler.toml starts ten minutes later", () => {
  const [, minutes] = /^crons = \["\*\/(\d+) \* \* \* \*"\]$/m.exec(WRANGLER_CONFIG) ?? [];
  expect(PERIOD_MS).toBe(Number(minutes) * 60_000);
  const longestMs = STEPS.reduce((sum, { maxMs }) => sum + maxMs + PATIENCE_MS, 0);
  expect(longestMs).toBeLessThan(PERIOD_MS);
});

it("when an index database does not answer, the cron waits for it only for the rest of the time that this part of its work has for all databases", async () => {
  const warned = logLines("warn");
  let calls = 0;
  const each = async () => {
    calls += 1;
    if (calls === 2) return new Promise<never>(() => undefined);
    pass(HOUR - 50);
    return {};
  };
  const step: Step = { name: "size", maxMs: HOUR, maxQueries: { paid: 9, free: 9 }, each };
  const bindings = { ...env, INDEX_DB_1: env.SHARD_1, INDEX_SHARD_HOURS: 130 };
  await runScheduled(await started(bindings), Date.now(), [step], 0);
  expect(calls).toBe(2);
  expect(warned("index.unreachable")).toMatchObject([{ part: "size" }]);
});

const spent = () => Promise.reject(new Error("Too many subrequests by single Worker invocation."));

it("the cron needs fewer than 50 queries to remove 70 overdue index rows whose tasks no longer exist", async () => {
  await insert(...Array.from({ length: 70 }, () => aRow({ dueAt: START, expiresAt: null })));
  pass(600_001);
  let queries = 0;
  const INDEX_DB = gated(db, async (sql) => {
    queries += sql.split(";").length;
  });
  await cron({ INDEX_DB, TASKS: { getByName: () => ({ rewriteIndexRow: async () => null }) } });
  expect(await allRows()).toEqual([]);
  expect(queries).toBeLessThan(50);
});

/** Runs the cron on overdue tasks whose objects answer with `rewriteIndexRow`. @returns the pauses between calls. */
async function cronOn(
  tasks: number,
  rewriteIndexRow: () => Promise<unknown>,
  onPause: () => void = () => undefined,
) {
  await insert(...Array.from({ length: tasks }, () => aRow({ dueAt: START, expiresAt: null })));
  pass(600_001);
  const pause = vi.spyOn(scheduler, "wait").mockImplementation(async () => onPause());
  await cron({ TASKS: { getByName: () => ({ rewriteIndexRow }) } });
  return pause.mock.calls.map(([ms]) => ms);
}

it("the cron stops waking overdue tasks when the platform refuses further calls to Durable Objects", async () => {
  const rewriteIndexRow = vi.fn(spent);
  await cronOn(300, rewriteIndexRow);
  expect(rewriteIndexRow.mock.calls.length).toBeLessThanOrEqual(50);
  expect(await allRows()).toHaveLength(300);
});

it.each([
  ["50 of 50 without a pause", 50, 50, []],
  ["51 of 51 with pauses", 51, 51, Array(51).fill(600)],
  ["5,000 of 5,001 with pauses", 5_001, 5_000, Array(5_000).fill(600)],
])(
  "a run of the cron wakes at most 5,000 overdue tasks, and pauses 600 ms after each of them when there are more than 50: here %s",
  async (_, overdue, asked, pauses) => {
    const rewriteIndexRow = vi.fn(async () => START);
    expect(await cronOn(overdue, rewriteIndexRow)).toEqual(pauses);
    expect(rewriteIndexRow).toHaveBeenCalledTimes(asked);
  },
);

it("the cron wakes overdue tasks for at most a minute in each run", async () => {
  const rewriteIndexRow = vi.fn(async () => START);
  await cronOn(51, rewriteIndexRow, () => pass(60_000));
  expect(rewriteIndexRow.mock.calls.length).toBeLessThanOrEqual(50);
});
