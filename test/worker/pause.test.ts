import { env } from "cloudflare:workers";
import { expect, it } from "vitest";
import { START_S, useClock } from "./clock.ts";
import { restart, stored, untilIdle, wake } from "./objects.ts";
import { aReceiver } from "./receiver.ts";
import { aCompletion, completed, read, redeliver, register, report } from "./tasks.ts";

useClock();

const PAUSED = { ...env, PAUSED: "true" };

/** Expects the alarm in a minute, plus jitter. */
async function expectRecheck(id: string): Promise<void> {
  const aheadMs = ((await stored(id)).alarm ?? 0) - Date.now();
  expect(aheadMs).toBeGreaterThanOrEqual(60_000);
  expect(aheadMs).toBeLessThanOrEqual(75_000);
}

it("a relay with PAUSED sends and counts no callback, rechecks every minute and delivers when unpaused", async () => {
  const received = aReceiver();
  const id = await register();
  await restart(id, PAUSED);
  expect((await report(aCompletion(id))).status).toBe(202);
  const { record } = await stored(id);
  for (let minute = 0; minute < 12; minute++) {
    await expectRecheck(id);
    expect(await wake(id, 75_000)).toBe(true);
  }
  expect((await stored(id)).record).toEqual(record);
  expect(received).toEqual([]);
  expect(await read(id)).toMatchObject({ callback: { status: "sending", attempts: [] } });

  await restart(id);
  await wake(id);
  expect(received).toHaveLength(1);
  expect(await read(id)).toMatchObject({
    callback: { status: "delivered", attempts: [{ number: 1 }] },
  });
});

it("still takes events, acts on deadlines and accepts redeliveries", async () => {
  const received = aReceiver();
  const id = await register({ deadline_at: START_S + 60 });
  await restart(id, PAUSED);
  expect((await report({ id, status: "processing" })).status).toBe(202);
  await wake(id, 60_000);
  expect(await read(id)).toMatchObject({ status: "failed", error: { code: "upstream_timeout" } });
  expect(received).toEqual([]);

  const settled = await completed();
  await restart(settled, PAUSED);
  expect((await redeliver(settled)).status).toBe(202);
  await untilIdle(settled);
  expect(received).toHaveLength(1);
});
