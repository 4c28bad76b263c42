import { runDurableObjectAlarm } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect, it, vi } from "vitest";
import * as z from "zod";
import { ready } from "../../src/index-db/database.ts";
import { restartWith, useBindings } from "../index/bindings.ts";
import { answerTo, aRequest } from "../worker/client.ts";
import { DAY_MS, pass, until, useClock } from "../worker/clock.ts";
import { stored, stubOf } from "../worker/objects.ts";
import { answering } from "../worker/outside.ts";
import { aCompletion, finish, register } from "../worker/tasks.ts";
import { anUpstream, copy, sending, SOURCE, storedCopies, VIDEO_BYTES } from "./copied.ts";

useClock();
useBindings();

const SECOND_SOURCE = "https://cdn.example.net/second.png";

const { SHARD_1: db } = env;

function index(): D1Database {
  if (db === undefined) throw new Error("this test needs a database");
  return db;
}

const Copies = z.object({
  version: z.int(),
  kept_outputs: z.int(),
  kept_bytes: z.int(),
  lost_outputs: z.int(),
  copying_outputs: z.int(),
});

/** Runs alarms of a task until the index has its present version. Returns the row, as far as it is about outputs. */
async function writtenRow(id: string): Promise<z.output<typeof Copies>> {
  for (let alarms = 0; alarms < 5; alarms++) {
    const { record, alarm } = await stored(id);
    const row = Copies.nullable().parse(
      await index()
        .prepare(`SELECT ${Object.keys(Copies.shape).join(", ")} FROM index_rows WHERE id = ?`)
        .bind(id)
        .first(),
    );
    if (row !== null && row.version === Versioned.parse(record).version) return row;
    vi.setSystemTime(Math.max(Date.now(), alarm ?? 0));
    await runDurableObjectAlarm(stubOf(id));
  }
  throw new Error("the index lacks the row");
}

const Versioned = z.object({ version: z.int() });

/** Returns the ids of the tasks that `GET /v1/tasks` lists with this query. */
async function listed(query: string): Promise<readonly string[]> {
  const bindings = { ...env, INDEX_DB: index() };
  const response = await answerTo(aRequest(`/v1/tasks?${query}`), bindings);
  const { data } = z
    .object({ data: z.array(z.looseObject({ id: z.string() })) })
    .parse(await response.json());
  return data.map(({ id }) => id);
}

it("when the relay has copied one output of a task and given up another, the task's row in the search index has both numbers, and GET /v1/tasks?outputs=lost lists the task", async () => {
  await ready(index());
  const { on } = anUpstream(sending(VIDEO_BYTES));
  on(SECOND_SOURCE, answering(null, 404));
  const id = await register();
  await restartWith(id, { INDEX_DB: index() });
  await finish(aCompletion(id, { output: { urls: [SOURCE, SECOND_SOURCE] } }));
  await until(async () => (await storedCopies(id)) !== undefined);
  const before = await writtenRow(id);
  expect(before).toMatchObject({ kept_outputs: 0, lost_outputs: 0, copying_outputs: 2 });
  await copy(id);
  const between = await writtenRow(id);
  const kept = { kept_outputs: 1, kept_bytes: VIDEO_BYTES.length };
  expect(between).toMatchObject({ ...kept, lost_outputs: 0, copying_outputs: 1 });
  expect(await listed("outputs=lost")).toEqual([]);
  pass(DAY_MS);
  await copy(id);
  const after = await writtenRow(id);
  expect(after).toMatchObject({ ...kept, lost_outputs: 1, copying_outputs: 0 });
  expect(new Set([before, between, after].map(({ version }) => version)).size).toBe(3);
  expect(await listed("outputs=lost")).toEqual([id]);
  expect(await listed("outputs=lost&callback=failed")).toEqual([]);
});
