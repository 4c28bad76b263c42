import { setTimeout as sleep } from "node:timers/promises";
import { expect, it } from "vitest";
import { LOCAL_VARS } from "../harness/client.ts";
import { Receiver } from "../harness/receiver.ts";
import { Workerd } from "../harness/workerd.ts";

/**
 * Time in milliseconds, longer than the 10 s of idleness after which workerd evicts an object; a read ends the
 * idleness.
 */
const IDLE_MS = 15_000;
const TRIES = 8;

it("a task's Durable Object leaves memory while a receiver hangs, and another instance gets the outcome of the attempt", async () => {
  await using receiver = await Receiver.start();
  const vars = { ...LOCAL_VARS, CALLBACK_TIMEOUT_S: "24" };
  await using relay = await Workerd.start({ entry: "evictable.ts", vars });
  const id = await relay.client.finish(receiver.at("/hanging", { kind: "hang" }));
  const constructions = () => relay.output.split("constructed ").length - 1;
  expect(constructions()).toBe(1);
  // A read would keep the object in memory.
  for (let tries = 0; tries < TRIES && constructions() === 1; tries++) await sleep(IDLE_MS);
  expect(constructions()).toBe(2);
  const { callback } = await relay.client.read(id);
  expect(callback?.attempts).toMatchObject([{ number: 1, outcome: "timeout" }]);
});

it("an attempt whose receiver has not answered yet goes on when the task's Durable Object is reset right after it was sent, and its end is stored", async () => {
  const [first, slow] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  await using receiver = await Receiver.start((path) =>
    (path === "/slow" ? slow : first).resolve(),
  );
  await using relay = await Workerd.start({ entry: "resettable.ts", vars: LOCAL_VARS });
  // A first attempt takes longer to leave than the object waits for a receiver.
  await relay.client.finish(receiver.at("/first", { kind: "answer", status: 200 }));
  await first.promise;
  const answer = { kind: "answer", status: 200, afterMs: 1_000 } as const;
  const id = await relay.client.finish(receiver.at("/slow", answer));
  await slow.promise;
  expect((await relay.client.ask("GET", `/v1/tasks/${id}`)).status).toBe(503);
  const { callback } = await relay.client.settled(id);
  expect(callback?.attempts).toMatchObject([{ number: 1, outcome: "delivered" }]);
});

it("after its callback is delivered, an idle task's Durable Object leaves memory, but not while a timer runs in the object", async () => {
  await using receiver = await Receiver.start();
  const entry = "evictable.ts";
  await using relay = await Workerd.start({ entry, vars: LOCAL_VARS });
  await using pinned = await Workerd.start({ entry, vars: { ...LOCAL_VARS, PINNED: "true" } });
  const relays = [relay, pinned];
  const url = receiver.at("/fast", { kind: "answer", status: 200 });
  const tasks = relays.map(async ({ client }) => {
    const id = await client.finish(url);
    expect((await client.settled(id)).callback?.status).toBe("delivered");
    return () => client.read(id);
  });
  const reads = await Promise.all(tasks);
  const constructions = () => relays.map(({ output }) => output.split("constructed ").length - 1);
  expect(constructions()).toEqual([1, 1]);
  for (let tries = 0; tries < TRIES && constructions()[0] === 1; tries++) {
    await sleep(IDLE_MS);
    for (const read of reads) await read();
  }
  expect(constructions()).toEqual([2, 1]);
});
