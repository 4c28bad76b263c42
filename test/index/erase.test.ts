import { createMessageBatch, runDurableObjectAlarm } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect, it } from "vitest";
import { consume } from "../../src/objects/index/index-row-consumer.ts";
import { started } from "../worker/started.ts";
import { post } from "../worker/client.ts";
import { pass, until } from "../worker/clock.ts";
import { stubOf } from "../worker/objects.ts";
import { aReceiver } from "../worker/receiver.ts";
import { aCompletion, register } from "../worker/tasks.ts";
import { aQueue, gated, restartWith } from "./bindings.ts";
import {
  allRows,
  callWith,
  db,
  indexed,
  rowsOfTask,
  useIndex,
  finish,
  indexedTask,
} from "./support.ts";

useIndex();

/** Creates a settled task whose alarm has begun to write its row to the index. */
async function writing(bindings: object, hasBegun: () => boolean) {
  aReceiver();
  const id = await register();
  await restartWith(id, bindings);
  await finish(id);
  pass(10);
  const alarm = runDurableObjectAlarm(stubOf(id));
  await until(hasBegun);
  return { id, alarm };
}

async function erase(id: string): Promise<void> {
  const bindings = { INDEX_DB: db, INDEX_QUEUE: undefined };
  const response = await callWith(bindings, `/v1/tasks/${id}`, { method: "DELETE" });
  expect(response.status).toBe(204);
}

it("when a task is erased while its Durable Object writes its index row, the index has no row of the task after the write", async () => {
  const held = Promise.withResolvers<void>();
  const count = { asked: 0, answered: 0 };
  const slow = gated(
    db,
    async () => {
      count.asked += 1;
      await held.promise;
    },
    () => (count.answered += 1),
  );
  const { id, alarm } = await writing({ INDEX_DB: slow }, () => count.asked > 0);
  await erase(id);
  held.resolve();
  await alarm;
  await until(() => count.answered === count.asked);
  expect(await rowsOfTask(id)).toEqual([]);
});

it("when a task is erased while a message with its index row waits in INDEX_QUEUE, the consumer does not write this row to the index", async () => {
  const { sent, queue } = aQueue();
  const { id, alarm } = await writing({ INDEX_QUEUE: queue }, () => sent.length > 0);
  await alarm;
  await erase(id);
  const message = { id: "1", timestamp: new Date(Date.now()), attempts: 1, body: sent[0] };
  const batch = createMessageBatch("task-relay-index", [message]);
  await consume(batch, await started({ ...env, INDEX_DB: db }));
  expect(await rowsOfTask(id)).toEqual([]);
});

it("the index row of a task is removed when the task is erased, and written again when a new task is created with the same id", async () => {
  aReceiver();
  const id = await indexedTask();
  await erase(id);
  expect(await allRows()).toEqual([]);
  pass(1);
  const created_at = 1_700_000_000;
  await post("/v1/events", aCompletion(id, { model: "other", created_at }));
  expect(await indexed(id)).toMatchObject({ model: "other" });
  await erase(id);
  pass(1000);
  await post("/v1/events", aCompletion(id, { model: "third", created_at }));
  expect(await indexed(id)).toMatchObject({ model: "third", created_at: created_at * 1000 });
});
