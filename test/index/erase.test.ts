import { createMessageBatch, runDurableObjectAlarm } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import worker from "../../src/index.ts";
import { aReceiver } from "../worker/receiver.ts";
import { post } from "../worker/client.ts";
import { pass, realMs, until, useClock } from "../worker/clock.ts";
import { stubOf, untilIdle } from "../worker/objects.ts";
import { aCompletion, completed, register } from "../worker/tasks.ts";
import { aQueue, gated, reborn, useOwnBindings } from "./bindings.ts";
import { allRows, callWith, db, indexed, rowsOfTask, useEmptyIndex } from "./support.ts";

useClock();
useEmptyIndex();
useOwnBindings();

/** A task that is settled, and whose alarm has begun to publish it. */
async function publishing(bindings: object, hasBegun: () => boolean) {
  aReceiver();
  const id = await register();
  await reborn(id, bindings);
  await post("/v1/events", aCompletion(id));
  await untilIdle(id);
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

describe("an erased task", () => {
  it("is gone from the index", async () => {
    aReceiver();
    const id = await completed();
    await indexed(id);
    await erase(id);
    expect(await allRows()).toEqual([]);
  });

  it("does not come back by a row that was on its way into the database", async () => {
    let asked = 0;
    const slow = gated(db, async () => {
      asked += 1;
      await realMs(300);
    });
    const { id, alarm } = await publishing({ INDEX_DB: slow }, () => asked > 0);
    await erase(id);
    await alarm;
    await realMs(1_000);
    expect(await rowsOfTask(id)).toEqual([]);
  });

  it("does not come back by a message that was on its way through the queue", async () => {
    const { sent, queue } = aQueue();
    const { id, alarm } = await publishing({ INDEX_QUEUE: queue }, () => sent.length > 0);
    await alarm;
    await erase(id);
    const message = { id: "1", timestamp: new Date(Date.now()), attempts: 1, body: sent[0] };
    const batch = createMessageBatch("task-relay-index", [message]);
    await worker.queue(batch, { ...env, INDEX_DB: db });
    expect(await rowsOfTask(id)).toEqual([]);
  });

  it("can be created again under its id, and is listed then", async () => {
    aReceiver();
    const id = await completed();
    await indexed(id);
    await erase(id);
    pass(1);
    const created_at = 1_700_000_000;
    await post("/v1/events", aCompletion(id, { model: "other", created_at }));
    expect(await indexed(id)).toMatchObject({ model: "other" });
    await erase(id);
    pass(1000);
    await post("/v1/events", aCompletion(id, { model: "third", created_at }));
    expect(await indexed(id)).toMatchObject({ model: "third", created_at: created_at * 1000 });
  });
});
