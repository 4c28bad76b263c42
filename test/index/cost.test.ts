import { runDurableObjectAlarm } from "cloudflare:test";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import { aReceiver, status } from "../worker/receiver.ts";
import { call, post } from "../worker/client.ts";
import { pass, useClock } from "../worker/clock.ts";
import { NOTHING, rowsOf, stored, stubOf, untilIdle } from "../worker/objects.ts";
import { aCompletion, CALLBACK_URL } from "../worker/tasks.ts";
import { anAccount } from "../worker/accounts.ts";
import { gated, reborn, useOwnBindings } from "./bindings.ts";
import { DAY, db, indexed, isPublished, useEmptyIndex, wake } from "./support.ts";

useClock();
useEmptyIndex();
useOwnBindings();

const WithMeta = z.object({ meta: z.object({ rows_written: z.int() }) });

/** Counts the rows that statements write from now on, as D1 bills them. */
function metered() {
  const counted = { rows: 0 };
  const see = (answer: unknown) => {
    const parsed = WithMeta.safeParse(answer);
    if (parsed.success) counted.rows += parsed.data.meta.rows_written;
  };
  return { counted, INDEX_DB: gated(db, async () => undefined, see) };
}

/** The tables are made once; that is nobody's cost. */
async function warmed(): Promise<ReturnType<typeof metered>> {
  const meter = metered();
  const id = crypto.randomUUID();
  await reborn(id, meter);
  await post("/v1/tasks", { id, model: "m" });
  await wake(id);
  meter.counted.rows = 0;
  return meter;
}

async function expire(id: string): Promise<void> {
  await call(`/v1/tasks/${id}`);
  pass(28 * DAY);
  await runDurableObjectAlarm(stubOf(id));
  expect(await stored(id)).toEqual(NOTHING);
}

describe("the rows that a task's object writes because of the index", () => {
  it("are at most 4 more for a registered task that is written twice: 11", async () => {
    aReceiver();
    const id = crypto.randomUUID();
    const rows = await rowsOf(id);
    await post("/v1/tasks", { id, model: "m", callback_url: CALLBACK_URL });
    await wake(id);
    pass(60_000);
    await post("/v1/events", aCompletion(id));
    await untilIdle(id);
    await indexed(id);
    expect(await isPublished(id)).toBe(true);
    await expire(id);
    expect(rows()).toBeLessThanOrEqual(7 + 4);
  });

  it("are at most 4 more for a task that is over at once", async () => {
    aReceiver();
    const id = crypto.randomUUID();
    const rows = await rowsOf(id);
    await post("/v1/events", aCompletion(id, { model: "m", callback_url: CALLBACK_URL }));
    await untilIdle(id);
    await indexed(id);
    await expire(id);
    expect(rows()).toBeLessThanOrEqual(5 + 4);
  });
});

describe("the rows that D1 bills for a task", () => {
  it.each([
    ["without an account", null, 4],
    ["with an account", "a", 5],
  ])("%s that is written twice are few", async (_, name, most) => {
    aReceiver();
    const account = name === null ? null : await anAccount();
    const meter = await warmed();
    const id = crypto.randomUUID();
    await reborn(id, meter);
    await post("/v1/tasks", { id, model: "m", callback_url: CALLBACK_URL, account });
    await wake(id);
    pass(60_000);
    await post("/v1/events", aCompletion(id));
    await untilIdle(id);
    await indexed(id);
    expect(meter.counted.rows).toBeGreaterThan(0);
    expect(meter.counted.rows).toBeLessThanOrEqual(most);
  });

  it("whose callback fails are one more", async () => {
    aReceiver(status(500));
    const meter = await warmed();
    const id = crypto.randomUUID();
    await reborn(id, meter);
    await post("/v1/events", aCompletion(id, { model: "m", callback_url: CALLBACK_URL }));
    await untilIdle(id);
    for (const wait of [180_000, 600_000]) {
      pass(wait);
      await runDurableObjectAlarm(stubOf(id));
    }
    await indexed(id);
    expect(meter.counted.rows).toBeGreaterThan(0);
    expect(meter.counted.rows).toBeLessThanOrEqual(2);
  });

  it("that come late, again or older are none", async () => {
    const meter = await warmed();
    const id = crypto.randomUUID();
    await reborn(id, meter);
    await post("/v1/tasks", { id, model: "m" });
    await wake(id);
    meter.counted.rows = 0;
    await call("/v1/reindex", { body: { ids: [id] } });
    await indexed(id);
    expect(meter.counted.rows).toBe(0);
  });
});
