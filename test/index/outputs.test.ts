import { env } from "cloudflare:workers";
import { expect, it } from "vitest";
import { ready } from "../../src/index-db/database.ts";
import { writeRows } from "../../src/index-db/index-row-table.ts";
import type { IndexRow } from "../../src/core/views/index-row.ts";
import { callWith as callRelay } from "../worker/client.ts";
import { logIn, visit } from "../worker/browser.ts";
import { START } from "../worker/clock.ts";
import { metered } from "./bindings.ts";
import { answerOf, aRow, cron, DAY, db, HOUR, insert, TABLES, useIndex } from "./support.ts";

useIndex();

/** Returns a later row of a task whose copies have ended. */
function afterCopies(row: IndexRow): IndexRow {
  return { ...row, version: row.version + 1, copyingOutputs: 0 };
}

/** Returns the row of a task that has completed some minutes ago, with so many outputs that are being copied. */
function copyingSince(minutes: number, copyingOutputs: number): IndexRow {
  return aRow({ finishedAt: START - minutes * 60_000, copyingOutputs });
}

it("GET /v1/tasks?outputs=lost lists on its first page a task older than 10,000 others without lost outputs, and reads none of their index rows", async () => {
  const others = Array.from({ length: 10_001 }, (_, n) =>
    aRow({ createdAt: START - n, keptOutputs: 1, keptBytes: 9 }),
  );
  const lost = aRow({ createdAt: START - HOUR, keptOutputs: 1, keptBytes: 9, lostOutputs: 1 });
  await insert(...others, lost);
  const { rows, INDEX_DB } = metered(db);
  const response = await callRelay({ ...env, INDEX_DB }, "/v1/tasks?outputs=lost");
  expect(await response.json()).toMatchObject({ data: [{ id: lost.id }], next_cursor: null });
  expect(rows.read).toBeLessThan(20);
});

it("the console's list of tasks with the filter for lost outputs shows only tasks with an output that the relay could not copy", async () => {
  const lost = aRow({ lostOutputs: 1 });
  const kept = aRow({ keptOutputs: 1, keptBytes: 9 });
  await insert(lost, kept);
  const page = await (await visit("/tasks?outputs=lost", await logIn())).text();
  expect(page).toContain(`/tasks/${lost.id}`);
  expect(page).not.toContain(`/tasks/${kept.id}`);
  expect(page).toMatch(/<option value="lost" selected[^>]*>lost/);
});

it("GET /v1/stats counts the copied outputs, their bytes and the lost outputs of tasks created in its time range, in all databases of the index", async () => {
  const { SHARD_1: second } = env;
  if (second === undefined) throw new Error("this test needs two databases");
  await ready(second);
  await second.batch(TABLES.map((table) => second.prepare(`DELETE FROM ${table}`)));
  const ofDay = aRow({ createdAt: START - 2 * DAY, keptOutputs: 9, keptBytes: 9, lostOutputs: 9 });
  await insert(
    aRow({ model: "a", keptOutputs: 2, keptBytes: 5_000_000_000 }),
    aRow({ model: "b", keptOutputs: 1, keptBytes: 7, lostOutputs: 1 }),
    ofDay,
  );
  await writeRows(second, [aRow({ lostOutputs: 2 })], START);
  const bindings = { INDEX_DB_1: second, INDEX_SHARD_HOURS: 750 };
  await cron(bindings);
  expect(await answerOf("/v1/stats", bindings)).toMatchObject({
    outputs: { kept: 3, bytes: 5_000_000_007, lost: 3 },
  });
});

it("D1 bills one written row more for a task whose outputs are being copied, one when its index row is written again after its copies have ended, and two if this shows the task's first lost output", async () => {
  const { rows, INDEX_DB } = metered(db);
  /** Writes the row of a task, and returns how many rows D1 bills. */
  const billed = async (row: IndexRow) => {
    const before = rows.written;
    await writeRows(INDEX_DB, [row], START);
    return rows.written - before;
  };
  await billed(aRow());
  const plain = await billed(aRow());
  const tasks = [aRow({ copyingOutputs: 1 }), aRow({ copyingOutputs: 1 })] as const;
  for (const task of tasks) expect(await billed(task)).toBe(plain + 1);
  expect(await billed({ ...afterCopies(tasks[0]), keptOutputs: 1, keptBytes: 9 })).toBe(1);
  expect(await billed({ ...afterCopies(tasks[1]), lostOutputs: 1 })).toBe(2);
});

it("GET /metrics and GET /v1/problems count the outputs that are being copied and those that should have been copied, and read only the rows of their tasks", async () => {
  const kept = Array.from({ length: 1_000 }, () => aRow({ keptOutputs: 1, keptBytes: 9 }));
  await insert(...kept, copyingSince(20, 2), copyingSince(16, 1), copyingSince(14, 3));
  const { rows, INDEX_DB } = metered(db);
  const metrics = await (await callRelay({ ...env, INDEX_DB }, "/metrics")).text();
  expect(metrics).toMatch(/^task_relay_open_copies 6$/m);
  expect(metrics).toMatch(/^task_relay_late_copies 3$/m);
  expect(metrics).toMatch(/^task_relay_open_copies_seconds 1200$/m);
  expect(rows.read).toBeLessThan(100);
  expect(await answerOf("/v1/problems")).toMatchObject({
    data: [
      {
        kind: "copies_late",
        since: Math.floor((START - 20 * 60_000) / 1000),
        tasks: { count: 2, is_capped: false },
      },
    ],
  });
});
