import { runDurableObjectAlarm } from "cloudflare:test";
import { beforeEach, describe, expect, it, vi } from "vitest";
import * as z from "zod";
import { anAccount } from "../worker/accounts.ts";
import { call, post } from "../worker/client.ts";
import { START, pass, useClock } from "../worker/clock.ts";
import { rowsOf, NOTHING, stored, stubOf } from "../worker/objects.ts";
import { aReceiver, status } from "../worker/receiver.ts";
import { CALLBACK_URL, register } from "../worker/tasks.ts";
import { gated, restartWith, useBindings } from "./bindings.ts";
import {
  DAY,
  db,
  indexed,
  isPublished,
  rowsOfTask,
  useEmptyIndex,
  wake,
  finish,
} from "./support.ts";

useClock();
useEmptyIndex();
useBindings();

const WithMeta = z.object({ meta: z.object({ rows_written: z.int() }) });

/** Counts the rows that statements write, as D1 bills them. */
function aMeter() {
  const counted = { rows: 0 };
  const see = (answer: unknown) => {
    const parsed = WithMeta.safeParse(answer);
    if (parsed.success) counted.rows += parsed.data.meta.rows_written;
  };
  return { counted, INDEX_DB: gated(db, async () => undefined, see) };
}

/** Returns a meter of a database whose tables exist, because creating them is not the cost of a task. */
async function warmMeter(): Promise<ReturnType<typeof aMeter>> {
  const meter = aMeter();
  const id = crypto.randomUUID();
  await restartWith(id, meter);
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

describe("the publications of a task", () => {
  const published: unknown[] = [];
  beforeEach(() => {
    published.length = 0;
    vi.spyOn(console, "log").mockImplementation((line: string) => {
      if (line.includes("index.publish")) published.push(line);
    });
  });

  it("a task that ends within half a minute is published once", async () => {
    aReceiver();
    const id = await register();
    pass(10_000);
    await post("/v1/events", { id, status: "processing" });
    pass(15_000);
    await finish(id);
    await indexed(id);
    expect(published).toHaveLength(1);
  });

  it("a task that takes longer is published twice, once while it is open", async () => {
    aReceiver();
    const id = await register();
    expect(await wake(id)).toBe(START + 30_000);
    expect(await rowsOfTask(id)).toMatchObject([{ status: "pending" }]);
    pass(30_000);
    await finish(id);
    await indexed(id);
    expect(await isPublished(id)).toBe(true);
    expect(published).toHaveLength(2);
  });
});

it("an index costs the object of a registered task at most 4 more rows: 11", async () => {
  aReceiver();
  const id = crypto.randomUUID();
  const rows = await rowsOf(id);
  await post("/v1/tasks", { id, model: "m", callback_url: CALLBACK_URL });
  await wake(id);
  pass(60_000);
  await finish(id);
  await indexed(id);
  expect(await isPublished(id)).toBe(true);
  await expire(id);
  expect(rows()).toBeLessThanOrEqual(7 + 4);
});

it("an index costs the object of a task that ends at once at most 4 more rows", async () => {
  aReceiver();
  const id = crypto.randomUUID();
  const rows = await rowsOf(id);
  await finish(id, { model: "m", callback_url: CALLBACK_URL });
  await indexed(id);
  await expire(id);
  expect(rows()).toBeLessThanOrEqual(5 + 4);
});

it.each([
  ["without an account", null, 4],
  ["with an account", "a", 5],
])(
  "D1 bills at most the expected rows for a task %s that is written twice",
  async (_, name, most) => {
    aReceiver();
    const account = name === null ? null : await anAccount();
    const meter = await warmMeter();
    const id = crypto.randomUUID();
    await restartWith(id, meter);
    await post("/v1/tasks", { id, model: "m", callback_url: CALLBACK_URL, account });
    await wake(id);
    pass(60_000);
    await finish(id);
    await indexed(id);
    expect(meter.counted.rows).toBeGreaterThan(0);
    expect(meter.counted.rows).toBeLessThanOrEqual(most);
  },
);

it("D1 bills one row more for a task whose callback fails", async () => {
  aReceiver(status(500));
  const meter = await warmMeter();
  const id = crypto.randomUUID();
  await restartWith(id, meter);
  await finish(id, { model: "m", callback_url: CALLBACK_URL });
  for (const wait of [180_000, 600_000]) {
    pass(wait);
    await runDurableObjectAlarm(stubOf(id));
  }
  await indexed(id);
  expect(meter.counted.rows).toBeGreaterThan(0);
  expect(meter.counted.rows).toBeLessThanOrEqual(2);
});

it("D1 bills no row for a publication that changes nothing", async () => {
  const meter = await warmMeter();
  const id = crypto.randomUUID();
  await restartWith(id, meter);
  await post("/v1/tasks", { id, model: "m" });
  await wake(id);
  meter.counted.rows = 0;
  await call("/v1/reindex", { body: { ids: [id] } });
  await indexed(id);
  expect(meter.counted.rows).toBe(0);
});
