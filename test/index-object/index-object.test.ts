import { runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect, it, vi } from "vitest";
import { runScheduled } from "../../src/cron/cron.ts";
import { IndexObject } from "../../src/objects/index/index-object.ts";
import { ObjectDatabase } from "../../src/objects/index/object-database.ts";
import {
  allRows,
  answerOf,
  aRow,
  cron,
  db,
  HOUR,
  insert,
  logLines,
  useIndex,
} from "../index/support.ts";
import { pass, START } from "../worker/clock.ts";
import { started } from "../worker/started.ts";

useIndex();

const MINUTE = 60_000;

function theObject(): DurableObjectStub<IndexObject> {
  if (env.INDEX_OBJECT === undefined) throw new Error("these tests need INDEX_OBJECT");
  return env.INDEX_OBJECT.getByName("index");
}

/** Returns the time of the object's alarm; null when it has none. */
const alarmAt = () => runInDurableObject(theObject(), (_, { storage }) => storage.getAlarm());
const loseAlarm = () => runInDurableObject(theObject(), (_, { storage }) => storage.deleteAlarm());

/** Runs the alarm of the object, which does this instead of the work of the cron trigger. */
async function alarmWith(steps: () => Promise<void>): Promise<void> {
  const relay = await started(env);
  await runInDurableObject(theObject(), (_, ctx) => new IndexObject(ctx, relay, steps).alarm());
}

it("any use of the index sets the alarm of its object to a minute later, and leaves an alarm that is set", async () => {
  await loseAlarm();
  await allRows();
  expect(await alarmAt()).toBe(START + MINUTE);
  pass(MINUTE / 2);
  await insert(aRow());
  expect(await alarmAt()).toBe(START + MINUTE);
});

it("the alarm of the object of the index does the work of the cron trigger, and comes again a minute later", async () => {
  await insert(aRow(), aRow({ createdAt: START - 8 * 24 * HOUR, expiresAt: START + 1 }));
  pass(MINUTE);
  await runDurableObjectAlarm(theObject());
  expect(await allRows()).toHaveLength(1);
  expect(await answerOf("/v1/stats")).toMatchObject({ tasks: { total: 1 } });
  expect(await alarmAt()).toBe(START + 2 * MINUTE);
});

it("the next alarm of the object of the index is set before the work of the cron trigger begins, and stays when the work fails", async () => {
  const warned = logLines("warn");
  await loseAlarm();
  let next: number | null = null;
  await alarmWith(async () => {
    next = await alarmAt();
    throw new Error("a fault");
  });
  expect(next).toBe(START + MINUTE);
  expect(await alarmAt()).toBe(START + MINUTE);
  expect(warned("index.unreachable")).toMatchObject([{ part: "clock", error: "Error: a fault" }]);
});

it.each([
  ["6 s", 6_000, MINUTE],
  ["7 s", 7_000, 70_000],
  ["2 minutes", 2 * MINUTE, 20 * MINUTE],
])(
  "after a run of %s the object of the index rests nine times as long, and until the minute is over",
  async (_, tookMs, nextMs) => {
    await alarmWith(async () => pass(tookMs));
    expect(await alarmAt()).toBe(START + nextMs);
  },
);

it("when a statement of a batch fails, the object of the index undoes the statements before it", async () => {
  await db.prepare("INSERT INTO totals VALUES ('a', 1, 2)").run();
  const undone = ["DELETE FROM totals", "SELECT no_column FROM totals"];
  await expect(db.batch(undone.map((sql) => db.prepare(sql)))).rejects.toThrow("no such column");
  expect((await db.prepare("SELECT name FROM totals").all()).results).toEqual([{ name: "a" }]);
});

it("with PLAN=free, a run of the cron counts 30 hours of an index in an object, which limits no queries", async () => {
  await insert(...Array.from({ length: 30 }, (_, n) => aRow({ createdAt: START - n * HOUR })));
  const lines = logLines();
  vi.setSystemTime(START - (START % HOUR) + HOUR);
  await cron({ PLAN: "free" });
  expect(lines("index.counts")).toMatchObject([{ hours: 30, left: 0 }]);
});

it("GET /healthz shows an index in an object as INDEX_OBJECT, with one database", async () => {
  expect(await answerOf("/healthz")).toMatchObject({
    configuration: { INDEX_DB: false, INDEX_OBJECT: true },
    index: { databases: 1, is_reachable: true },
  });
});

it("an isolate looks for missing steps of the schema of an index in an object only once", async () => {
  const isolate = await started(env);
  await runScheduled(isolate, Date.now());
  const prepared = vi.spyOn(ObjectDatabase.prototype, "prepare");
  await runScheduled(isolate, Date.now());
  expect(prepared).toHaveBeenCalled();
  expect(prepared.mock.calls.filter(([sql]) => sql.includes("relay_schema"))).toEqual([]);
});
