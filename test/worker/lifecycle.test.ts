import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import { refusal } from "./client.ts";
import { DAY_MS, pass, START, START_S, until, useClock } from "./clock.ts";
import {
  evict,
  expectUnchanged,
  NOTHING,
  restart,
  stored,
  stubOf,
  untilIdle,
  wake,
} from "./objects.ts";
import { aReceiver, never, status } from "./receiver.ts";
import {
  aCompletion,
  CALLBACK_URL,
  completed,
  finish,
  read,
  redeliver,
  register,
  report,
} from "./tasks.ts";

useClock();

/** Completes a task whose receiver does not answer within the timeout of 1 s. */
async function hanging() {
  const received = aReceiver(never);
  const id = await register();
  await restart(id, { ...env, CALLBACK_TIMEOUT_S: "1" });
  await report(aCompletion(id));
  await until(() => received.length === 1);
  return { id, received };
}

describe.each([
  ["whose object is never evicted", () => Promise.resolve()],
  ["whose object is evicted after every request and alarm", evict],
])("a task %s", (kind, between) => {
  it(`the callback of a task ${kind} gets three attempts, the second 180 s after the end of the first, the third 600 s after that of the second, and no fourth`, async () => {
    const DURATION = 1234;
    const received = aReceiver(() => {
      pass(DURATION);
      return new Response(null, { status: 500 });
    });
    const id = await register();
    await between(id);
    await report({ id, status: "processing" });
    await between(id);
    await finish(aCompletion(id));
    await between(id);

    let end = START + DURATION;
    for (const wait of [180_000, 600_000]) {
      const nextAttemptAt = end + wait;
      expect(await stored(id)).toMatchObject({
        record: { callback: { state: { kind: "due", nextAttemptAt } } },
        alarm: nextAttemptAt,
      });
      expect(await wake(id, wait)).toBe(true);
      await between(id);
      end = nextAttemptAt + DURATION;
    }

    expect(await stored(id)).toMatchObject({
      record: { callback: { state: { kind: "failed" } }, expiresAt: end + 28 * DAY_MS },
      alarm: end + 28 * DAY_MS,
    });
    const attempts = [1, 2, 3].map((number) => ({ number, series: 1, duration_ms: DURATION }));
    const callback = { status: "failed", attempts };
    expect(await read(id)).toMatchObject({ status: "completed", callback });
    await wake(id, 3_600_000);
    await between(id);
    expect(received).toHaveLength(3);
  });

  it(`a task ${kind} is erased 28 days after its last change`, async () => {
    aReceiver();
    const id = await completed();
    await between(id);
    expect(await stored(id)).toMatchObject({ alarm: START + 28 * DAY_MS });
    pass(27 * DAY_MS);
    await redeliver(id);
    await untilIdle(id);
    await between(id);
    expect(await stored(id)).toMatchObject({ alarm: START + 55 * DAY_MS });
    expect(await wake(id, 28 * DAY_MS)).toBe(true);
    expect(await stored(id)).toEqual(NOTHING);
  });

  it(`an open task ${kind} fails with upstream_timeout at its deadline and sends its callback`, async () => {
    const received = aReceiver();
    const id = await register({ deadline_at: START_S + 600 });
    await between(id);
    expect(await stored(id)).toMatchObject({ alarm: (START_S + 600) * 1000 });
    expect(await wake(id, 600_000)).toBe(true);
    await between(id);
    expect(received.map(({ headers }) => headers["x-event"])).toEqual(["task.failed"]);
    const error = { code: "upstream_timeout", message: expect.stringMatching(/./) };
    expect(await read(id)).toMatchObject({ error, callback: { status: "delivered" } });
  });
});

it("a callback attempt is stored before it is sent, together with an alarm that would wake the task after the attempt's time limit", async () => {
  let atSending: unknown;
  const id = await register();
  aReceiver(async () => {
    atSending = await stored(id);
    return new Response(null);
  });
  await finish(aCompletion(id));
  expect(atSending).toMatchObject({
    record: {
      callback: { state: { kind: "in_flight", number: 1, dueAt: START, startedAt: START } },
    },
    alarm: START + 10_000 + 5_000,
  });
});

it("while a callback attempt waits for the receiver's response, GET shows it without an outcome, and ordering a redelivery gets 409", async () => {
  const { id } = await hanging();
  const { callback } = await read(id);
  expect(callback).toEqual({
    url: CALLBACK_URL,
    status: "sending",
    attempts: [{ number: 1, series: 1, started_at: START_S, late_ms: 0, after_ms: 0 }],
  });
  const running = { status: 409, code: "series_running" };
  expect(await refusal(await redeliver(id))).toEqual(running);
  await until(async () => (await stored(id)).alarm === START + 180_000);
});

const WATCHDOG_MS = 15_000;
const Finished = z.looseObject({ callback: z.looseObject({ series: z.looseObject({}) }) });

/** Stores the record of a task whose instance crashed during the first attempt. */
async function crashed(): Promise<string> {
  const id = await completed();
  await runInDurableObject(stubOf(id), async (_, { storage }) => {
    const { callback, ...task } = Finished.parse(storage.kv.get("task"));
    storage.kv.put("task", {
      ...task,
      callback: {
        ...callback,
        attempts: [],
        lastNumber: 1,
        series: { ...callback.series, started: 1 },
        state: { kind: "in_flight", number: 1, dueAt: START, startedAt: START },
        deliveredAt: null,
      },
    });
    await storage.setAlarm(START + WATCHDOG_MS);
  });
  await evict(id);
  return id;
}

it("a callback attempt cut off by an eviction of the task's Durable Object is recorded as interrupted, and the next attempt follows after 5 s", async () => {
  const received = aReceiver(status(200));
  const id = await crashed();
  await expectUnchanged(id, () => read(id));
  expect(await wake(id, WATCHDOG_MS)).toBe(true);
  expect(received).toHaveLength(1);
  const started_at = START_S;
  const attempt = { number: 1, started_at, duration_ms: WATCHDOG_MS, outcome: "interrupted" };
  const next_attempt_at = START_S + (WATCHDOG_MS + 5_000) / 1000;
  const callback = { status: "retrying", attempts: [attempt], next_attempt_at };
  expect(await read(id)).toMatchObject({ callback });
  expect(await stored(id)).toMatchObject({ alarm: START + WATCHDOG_MS + 5_000 });
  await wake(id, 5_000);
  expect(received.map(({ headers }) => headers["x-attempt"])).toEqual(["1", "2"]);
  expect(await read(id)).toMatchObject({ callback: { status: "delivered" } });
});

it("GET of a task sets the task's alarm again when the alarm was lost and was due more than 60 s ago", async () => {
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
