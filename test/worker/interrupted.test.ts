import { runInDurableObject } from "cloudflare:test";
import { expect, it } from "vitest";
import * as z from "zod";
import { aReceiver, status } from "./receiver.ts";
import { pass, START, START_S, useClock } from "./clock.ts";
import { evict, expectUnchanged, stored, stubOf, wake } from "./objects.ts";
import { completed, read } from "./tasks.ts";

useClock();

const WATCHDOG_MS = 15_000;
const Finished = z.looseObject({ callback: z.looseObject({ series: z.looseObject({}) }) });

/** Stores the record of a task whose instance crashed during this attempt. */
async function crashDuring(number: number): Promise<string> {
  const id = await completed();
  const earlier = Array.from({ length: number - 1 }, (_, i) => ({
    number: i + 1,
    series: 1,
    startedAt: START,
    durationMs: 5,
    outcome: "rejected",
    statusCode: 500,
    responseExcerpt: null,
  }));
  await runInDurableObject(stubOf(id), async (_, { storage }) => {
    const { callback, ...task } = Finished.parse(storage.kv.get("task"));
    storage.kv.put("task", {
      ...task,
      callback: {
        ...callback,
        attempts: earlier,
        lastNumber: number,
        series: { ...callback.series, started: number },
        state: { kind: "in_flight", number, startedAt: START },
        deliveredAt: null,
      },
    });
    await storage.setAlarm(START + WATCHDOG_MS);
  });
  await evict(id);
  return id;
}

it("an attempt of an evicted instance is recorded as interrupted, and the next follows on schedule", async () => {
  const received = aReceiver(status(200));
  const id = await crashDuring(1);
  expect(await wake(id, WATCHDOG_MS)).toBe(true);
  expect(received).toHaveLength(1);
  const started_at = START_S;
  const attempt = { number: 1, started_at, duration_ms: WATCHDOG_MS, outcome: "interrupted" };
  const callback = { status: "sending", attempts: [attempt] };
  expect(await read(id)).toMatchObject({ callback });
  expect(await stored(id)).toMatchObject({ alarm: START + WATCHDOG_MS + 180_000 });
  await wake(id, 180_000);
  expect(received.map(({ headers }) => headers["x-attempt"])).toEqual(["1", "2"]);
  expect(await read(id)).toMatchObject({ callback: { status: "delivered" } });
});

it("a read before the watchdog alarm does not change an interrupted attempt", async () => {
  aReceiver(status(200));
  const id = await crashDuring(2);
  await expectUnchanged(id, async () => {
    const callback = { status: "sending", attempts: [{ number: 1 }, { number: 2 }] };
    expect(await read(id)).toMatchObject({ callback });
  });
});

it("a read sets a lost alarm again when the task is more than 60 s overdue", async () => {
  aReceiver(status(500), status(200));
  const id = await completed();
  const { record } = await stored(id);
  await runInDurableObject(stubOf(id), (_, { storage }) => storage.deleteAlarm());
  await evict(id);
  pass(180_000 + 60_000);
  await read(id);
  expect(await stored(id)).toMatchObject({ record, alarm: null });
  pass(1);
  await read(id);
  expect(await stored(id)).toMatchObject({ record, alarm: Date.now() + 1 });
  await wake(id);
  expect(await read(id)).toMatchObject({ callback: { status: "delivered" } });
});
