import { runDurableObjectAlarm } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { aReceiver, status } from "./receiver.ts";
import { call, post } from "./client.ts";
import { pass, START_S, useClock } from "./clock.ts";
import { NOTHING, restart, stored, stubOf, untilIdle } from "./objects.ts";
import { aCompletion, completed, read, register } from "./tasks.ts";

useClock();

const PAUSED = { ...env, PAUSED: "true" };

/** The alarm is a minute or so ahead, jittered. */
async function expectLookAgain(id: string): Promise<void> {
  const ahead = ((await stored(id)).alarm ?? 0) - Date.now();
  expect(ahead).toBeGreaterThanOrEqual(60_000);
  expect(ahead).toBeLessThanOrEqual(75_000);
}

describe("PAUSED", () => {
  it("sends nothing and counts nothing, looks again every minute, and goes on when lifted", async () => {
    const received = aReceiver();
    const id = await register();
    await restart(id, PAUSED);
    expect((await post("/v1/events", aCompletion(id))).status).toBe(202);
    const { record } = await stored(id);
    for (let minute = 0; minute < 12; minute++) {
      await expectLookAgain(id);
      pass(75_000);
      expect(await runDurableObjectAlarm(stubOf(id))).toBe(true);
    }
    expect((await stored(id)).record).toEqual(record);
    expect(received).toEqual([]);
    expect(await read(id)).toMatchObject({ callback: { status: "sending", attempts: [] } });

    await restart(id);
    await runDurableObjectAlarm(stubOf(id));
    expect(received).toHaveLength(1);
    expect(await read(id)).toMatchObject({
      callback: { status: "delivered", attempts: [{ number: 1 }] },
    });
  });

  it("holds the second attempt back, which keeps its number and its due time", async () => {
    const received = aReceiver(status(500), status(200));
    const id = await completed();
    await restart(id, PAUSED);
    pass(200_000);
    await runDurableObjectAlarm(stubOf(id));
    await expectLookAgain(id);
    expect(await read(id)).toMatchObject({ callback: { next_attempt_at: START_S + 180 } });
    await restart(id);
    pass(60_000);
    await runDurableObjectAlarm(stubOf(id));
    expect(received.map(({ headers }) => headers["x-attempt"])).toEqual(["1", "2"]);
  });

  it("does not hold back events, reads, deadlines and redelivery orders", async () => {
    const received = aReceiver();
    const id = await register({ deadline_at: START_S + 60 });
    await restart(id, PAUSED);
    expect((await post("/v1/events", { id, status: "processing" })).status).toBe(202);
    pass(60_000);
    await runDurableObjectAlarm(stubOf(id));
    expect(await read(id)).toMatchObject({ status: "failed", error: { code: "upstream_timeout" } });
    expect(received).toEqual([]);

    const settled = await completed();
    await restart(settled, PAUSED);
    const order = await call(`/v1/tasks/${settled}/redeliver`, { method: "POST" });
    expect(order.status).toBe(202);
    await untilIdle(settled);
    expect(received).toHaveLength(1);
  });

  it("does not hold back expiry", async () => {
    aReceiver();
    const id = await completed();
    await restart(id, PAUSED);
    pass(28 * 86_400_000);
    await runDurableObjectAlarm(stubOf(id));
    expect(await stored(id)).toEqual(NOTHING);
  });
});
