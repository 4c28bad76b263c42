import { expect, it } from "vitest";
import * as z from "zod";
import { forThisFile } from "../harness/for-this-file.ts";
import { type Behaviour, Receiver } from "../harness/receiver.ts";
import { LOCAL_VARS } from "../harness/client.ts";
import { Workerd } from "../harness/workerd.ts";

/** Time within which the clock of the index has run, in milliseconds. */
const CLOCK_MS = 100_000;
const up: Behaviour = { kind: "answer", status: 204 };
const Listed = z.object({ id: z.string() });
const Stats = z.object({ tasks: z.object({ total: z.int() }) });

const receiver = await forThisFile(Receiver.start());
// Without --experimental, which only the Worker for new connections needs.
const relay = await forThisFile(Workerd.start({ vars: LOCAL_VARS, hasNewConnections: false }));
const { client } = relay;

const finishMany = (path: string) =>
  Promise.all(Array.from({ length: 30 }, () => client.finish(receiver.at(path, up))));
const listed = async () =>
  new Set((await client.list("/v1/tasks", Listed).catch(() => [])).map(({ id }) => id));
const counted = async () => Stats.parse((await client.ask("GET", "/v1/stats")).json).tasks.total;
const ended = async () => {
  const text = await (await client.send("GET", "/metrics")).text();
  return Number(/^task_relay_ended_total\{status="completed"\} (\d+)$/m.exec(text)?.[1]);
};

it("plain workerd without --experimental lists, counts and measures the tasks, and after kill -9 under load loses none of the acknowledged tasks and counts on", async () => {
  const first = await finishMany("/first");
  await expect.poll(listed, { timeout: 30_000 }).toEqual(new Set(first));
  await expect.poll(counted, { timeout: CLOCK_MS }).toBe(first.length);
  expect(await ended()).toBe(first.length);

  const second = await finishMany("/second");
  await relay.kill9();
  await relay.restart();
  const all = new Set([...first, ...second]);
  await expect.poll(listed, { timeout: 60_000 }).toEqual(all);
  await expect.poll(counted, { timeout: CLOCK_MS }).toBe(all.size);
  expect(await ended()).toBe(all.size);
  for (const id of second) {
    expect((await client.settled(id)).callback).toMatchObject({ status: "delivered" });
  }
});
