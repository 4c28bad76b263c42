import { env } from "cloudflare:workers";
import { expect, it, vi } from "vitest";
import * as z from "zod";
import { HOUSEKEEPING, runScheduled } from "../../src/cron.ts";
import { ready } from "../../src/index-db/database.ts";
import { planCheck } from "../../src/index-db/expiry-checks.ts";
import { writeRows } from "../../src/index-db/writer.ts";
import { ExpiryCheck, isSampled } from "../../src/task-object/expiry-check.ts";
import { pass, START } from "../worker/clock.ts";
import { aRow, cron, DAY, db, HOUR, TABLES, useIndex } from "./support.ts";

useIndex();

const BINDINGS = {
  INDEX_DB_1: env.SHARD_1,
  INDEX_DB_2: env.SHARD_2,
  INDEX_SHARD_HOURS: 90,
};
const ONE_ROUND = HOUSEKEEPING.map((step) => ({ ...step, maxRounds: 1 }));

async function clear(each: D1Database): Promise<void> {
  await ready(each);
  await each.batch(TABLES.map((table) => each.prepare(`DELETE FROM ${table}`)));
}

const Line = z.looseObject({ event: z.string() });

it("the cron wakes overdue tasks as its first step, before other steps can use up its time and its calls", async () => {
  const log = vi.spyOn(console, "log").mockImplementation(() => undefined);
  await cron();
  const events = log.mock.calls.map(([line]) => Line.parse(JSON.parse(String(line))).event);
  const steps = ["overdue", "size", "rollups", "expired", "expiry_checks"];
  expect(events).toEqual(steps.map((step) => `index.${step}`));
});

it("when each step of the cron may do only one round of its work in a run, it works in each run on another of several index databases", async () => {
  const databases = [db, env.SHARD_1, env.SHARD_2].filter((each) => each !== undefined);
  await Promise.all(databases.map(clear));
  for (const each of databases) {
    const expired = aRow({ createdAt: START - 8 * DAY, expiresAt: START + HOUR });
    await writeRows(each, [expired, aRow()], START);
    await each.batch([...planCheck(each, [crypto.randomUUID()], START)]);
  }
  const total = async (table: string) => {
    const query = (each: D1Database) => each.prepare(`SELECT 1 FROM ${table}`).all();
    const found = await Promise.all(databases.map(query));
    return found.flatMap(({ results }) => results).length;
  };
  pass(HOUR);
  const due = Date.now();
  const counts = [];
  for (let run = 0; run < databases.length; run++, pass(600_000)) {
    await runScheduled({ ...env, ...BINDINGS }, Date.now(), ONE_ROUND);
    counts.push({
      counted: await total("rollups"),
      expired: await total(`tasks WHERE expires_at <= ${due}`),
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

it("the check that expired tasks were erased returns the ids of the tasks that it could not check because it may call no more Durable Objects", async () => {
  const sampled = (): string => {
    const id = crypto.randomUUID();
    return isSampled(id) ? id : sampled();
  };
  const [first, second] = [sampled(), sampled()];
  const expiryCheck = new ExpiryCheck(env, 1);
  expect(await expiryCheck.check([first, second])).toEqual([second]);
  expect(await expiryCheck.check([second])).toEqual([second]);
  expect(expiryCheck.counts).toEqual({ asked: 1, lost: 0 });
});
