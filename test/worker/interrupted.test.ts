import { runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import { aReceiver, status } from "./receiver.ts";
import { pass, START, START_S, useClock } from "./clock.ts";
import { evict, stored, stubOf } from "./objects.ts";
import { completed, read } from "./tasks.ts";

useClock();

const WATCHDOG = 15_000;
const Finished = z.looseObject({ callback: z.looseObject({ series: z.looseObject({}) }) });

/** Puts the record back to where attempt `number` was on its way, as a crashed instance leaves it. */
async function crashDuring(number: number): Promise<string> {
  const id = await completed();
  await runInDurableObject(stubOf(id), async (_, { storage }) => {
    const { callback, ...task } = Finished.parse(storage.kv.get("task"));
    storage.kv.put("task", {
      ...task,
      callback: {
        ...callback,
        attempts: Array.from({ length: number - 1 }, (__, i) => ({
          number: i + 1,
          series: 1,
          startedAt: START,
          durationMs: 5,
          outcome: "rejected",
          statusCode: 500,
          responseExcerpt: null,
        })),
        lastNumber: number,
        series: { ...callback.series, started: number },
        state: { kind: "in_flight", number, startedAt: START },
        deliveredAt: null,
      },
    });
    await storage.setAlarm(START + WATCHDOG);
  });
  await evict(id);
  return id;
}

async function watchdog(id: string): Promise<void> {
  pass(WATCHDOG);
  expect(await runDurableObjectAlarm(stubOf(id))).toBe(true);
}

describe("an attempt that an evicted instance left open", () => {
  it("is interrupted, ended now, counts, and the schedule goes on from there", async () => {
    const received = aReceiver(status(200));
    const id = await crashDuring(1);
    await watchdog(id);
    expect(received).toHaveLength(1);
    expect(await read(id)).toMatchObject({
      callback: {
        status: "sending",
        attempts: [
          { number: 1, started_at: START_S, duration_ms: WATCHDOG, outcome: "interrupted" },
        ],
      },
    });
    expect(await stored(id)).toMatchObject({ alarm: START + WATCHDOG + 180_000 });
    pass(180_000);
    await runDurableObjectAlarm(stubOf(id));
    expect(received.map(({ headers }) => headers["x-attempt"])).toEqual(["1", "2"]);
    expect(await read(id)).toMatchObject({ callback: { status: "delivered" } });
  });

  it("is the last when it was the third: failed, and no fourth", async () => {
    const received = aReceiver(status(200));
    const id = await crashDuring(3);
    await watchdog(id);
    expect(await read(id)).toMatchObject({
      callback: { status: "failed", attempts: [{}, {}, { number: 3, outcome: "interrupted" }] },
    });
    pass(3_600_000);
    await runDurableObjectAlarm(stubOf(id));
    expect(received).toHaveLength(1);
  });

  it("is not touched by a read", async () => {
    aReceiver(status(200));
    const id = await crashDuring(2);
    const before = await stored(id);
    const { callback } = await read(id);
    expect(callback).toMatchObject({ status: "sending", attempts: [{ number: 1 }, { number: 2 }] });
    expect(await stored(id)).toEqual(before);
  });
});

describe("a read", () => {
  it("re-arms a record more than 60 s overdue, and changes nothing else", async () => {
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
    const again = await stored(id);
    expect(again.record).toEqual(record);
    expect(again.alarm).toBe(Date.now() + 1);
    await runDurableObjectAlarm(stubOf(id));
    expect(await read(id)).toMatchObject({ callback: { status: "delivered" } });
  });
});
