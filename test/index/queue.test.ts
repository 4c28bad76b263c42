import { expect, it } from "vitest";
import type { IndexRow } from "../../src/core/views/index-row.ts";
import { DAY_MS, pass, START } from "../worker/clock.ts";
import { stored } from "../worker/objects.ts";
import { aReceiver } from "../worker/receiver.ts";
import { read, register } from "../worker/tasks.ts";
import { consumed } from "./consumed.ts";
import { aQueue, gated, restartWith } from "./bindings.ts";
import { allRows, aRow, db, rowsOfTask, useIndex, wake, finish } from "./support.ts";

useIndex();

const fail = () => Promise.reject(new Error("D1 is unavailable"));

it("the consumer of INDEX_QUEUE writes a batch of index rows in one SQL statement and acknowledges each message", async () => {
  let statements = 0;
  const counting = gated(db, async () => {
    statements += 1;
  });
  await consumed([], { INDEX_DB: counting });
  await consumed([aRow()], { INDEX_DB: counting });
  statements = 0;
  const rows = Array.from({ length: 100 }, () => aRow());
  const { acked, retried } = await consumed(rows, { INDEX_DB: counting });
  expect(acked).toHaveLength(100);
  expect(retried).toEqual([]);
  expect(statements).toBe(1);
  expect(await allRows()).toHaveLength(101);
});

it("the consumer of INDEX_QUEUE keeps the newest version of a task's row when messages are repeated or out of order, in one batch or several", async () => {
  const old = aRow({ status: "processing" });
  const row = { ...old, version: old.version + 5, status: "completed" } as const;
  expect(await consumed([row, old, row, old])).toMatchObject({ acked: ["0", "1", "2", "3"] });
  await consumed([old]);
  expect(await rowsOfTask(row.id)).toMatchObject([{ version: row.version, status: "completed" }]);
});

it("the consumer of INDEX_QUEUE asks for another delivery of messages that are not valid index rows, and writes the rows of the other messages", async () => {
  const row = aRow();
  const { version: _, ...without } = aRow();
  const poison = [
    null,
    "row",
    {},
    without,
    { ...aRow(), createdAt: "today" },
    { ...aRow(), status: "done" },
  ];
  const { acked, retried } = await consumed([...poison, row]);
  expect(acked).toEqual(["6"]);
  expect(retried).toEqual(["0", "1", "2", "3", "4", "5"]);
  expect((await allRows()).map(({ id }) => id)).toEqual([row.id]);
});

it.each([
  ["fails", { INDEX_DB: gated(db, fail) }],
  ["is not bound", { INDEX_DB: undefined }],
])(
  "the consumer of INDEX_QUEUE asks for another delivery of all messages after 30 s when the index database %s",
  async (_, bindings) => {
    const rows = [aRow(), aRow()];
    expect(await consumed(rows, bindings)).toEqual({
      acked: [],
      retried: ["0", "1"],
      delays: [30, 30],
    });
    expect(await allRows()).toEqual([]);
    await consumed(rows);
    expect(await allRows()).toHaveLength(2);
  },
);

it("the consumer of INDEX_QUEUE acknowledges the index row of an expired task without writing it", async () => {
  expect(await consumed([aRow({ expiresAt: START })])).toMatchObject({
    acked: ["0"],
    retried: [],
  });
  expect(await allRows()).toEqual([]);
});

it("a task sends its index row to INDEX_QUEUE, whose consumer writes the same row that the task would write without a queue", async () => {
  aReceiver();
  const direct = await register();
  await finish(direct);
  pass(10);
  await wake(direct);
  const id = await register();
  const { sent, queue } = aQueue();
  await restartWith(id, { INDEX_QUEUE: queue });
  await finish(id);
  pass(10);
  await wake(id);
  // No further write is planned.
  expect((await stored(id)).alarm).toBeGreaterThan(Date.now() + 27 * DAY_MS);
  expect(sent).toMatchObject([{ id, status: "completed", callback: "delivered" }]);
  expect(await rowsOfTask(id)).toEqual([]);
  await consumed(sent);
  const [row] = await rowsOfTask(id);
  const [own] = await rowsOfTask(direct);
  const same = { version: 0, created_at: 0, finished_at: 0, settled_at: 0, expires_at: 0 };
  expect({ ...row, id, ...same, indexed_at: 0 }).toEqual({ ...own, id, ...same, indexed_at: 0 });
});

it("when INDEX_QUEUE fails, a task's callback is sent all the same, and the task sends its index row to the queue again later", async () => {
  const received = aReceiver();
  const id = await register();
  const queue = { isDown: true };
  const { sent, queue: bound } = aQueue(() => (queue.isDown ? fail() : Promise.resolve()));
  await restartWith(id, { INDEX_QUEUE: bound });
  await finish(id);
  expect(received).toHaveLength(1);
  pass(10);
  for (let time = 0; time < 3; time++) await wake(id);
  expect(sent).toEqual([]);
  expect(await read(id)).toMatchObject({ callback: { status: "delivered" } });
  queue.isDown = false;
  await wake(id);
  expect(sent).toMatchObject([{ id, callback: "delivered" }] satisfies Partial<IndexRow>[]);
  // No further write is planned.
  expect((await stored(id)).alarm).toBeGreaterThan(Date.now() + 27 * DAY_MS);
  expect(received).toHaveLength(1);
});
