import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { Client, SECRETS } from "../harness/client.ts";
import { Receiver } from "../harness/receiver.ts";
import { type Vars, Workerd } from "../harness/workerd.ts";

const IDLE_MS = 15_000;

describe.concurrent("the object of a task", () => {
  it("can be evicted 15 s after a fast delivery", async () => {
    expect(await constructionsAround({})).toEqual({ delivered: 1, readAt15s: 2 });
  });

  it("would stay in memory if it left a timer running, so the test above can fail", async () => {
    expect(await constructionsAround({ PINNED: "true" })).toEqual({ delivered: 1, readAt15s: 1 });
  });
});

/** How often the object has been constructed: after the delivery, and after a read 15 s later. */
async function constructionsAround(vars: Vars) {
  await using receiver = await Receiver.start();
  await using relay = await Workerd.start({
    entry: "evictable.ts",
    vars: { ...SECRETS, ALLOW_LOCAL_CALLBACKS: "true", ...vars },
  });
  const client = new Client(relay);
  const id = await client.finish(receiver.at("/fast", { kind: "answer", status: 200 }));
  const constructed = () => relay.output.split(`constructed ${id}`).length - 1;
  expect((await client.settled(id)).callback?.status).toBe("delivered");
  const delivered = constructed();
  await sleep(IDLE_MS);
  expect((await client.read(id)).callback?.status).toBe("delivered");
  return { delivered, readAt15s: constructed() };
}
