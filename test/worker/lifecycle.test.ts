import { runDurableObjectAlarm } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { aReceiver, never, status } from "./receiver.ts";
import { call, post, refusal } from "./client.ts";
import { pass, START, START_S, until, useClock } from "./clock.ts";
import { evict, NOTHING, restart, stored, stubOf, untilIdle } from "./objects.ts";
import { aCompletion, CALLBACK_URL, completed, read, register } from "./tasks.ts";

useClock();

const DAY = 86_400_000;
const HOUR = 3_600_000;

function wake(id: string): Promise<boolean> {
  return runDurableObjectAlarm(stubOf(id));
}

describe.each([
  ["in one instance", () => Promise.resolve()],
  ["with an eviction between any two steps", evict],
])("the life of a task %s", (_, between) => {
  it("makes three attempts, 180 s and 600 s after the end of the one before, and no fourth", async () => {
    const DURATION = 1234;
    const received = aReceiver(() => {
      pass(DURATION);
      return new Response(null, { status: 500 });
    });
    const id = await register();
    await between(id);
    await post("/v1/events", { id, status: "processing" });
    await between(id);
    await post("/v1/events", aCompletion(id));
    await untilIdle(id);
    await between(id);

    const second = START + DURATION + 180_000;
    expect(await stored(id)).toMatchObject({
      record: { callback: { state: { kind: "due", nextAttemptAt: second } } },
      alarm: second,
    });
    pass(180_000);
    expect(await wake(id)).toBe(true);
    await between(id);

    const third = second + DURATION + 600_000;
    expect(await stored(id)).toMatchObject({
      record: { callback: { state: { kind: "due", nextAttemptAt: third } } },
      alarm: third,
    });
    pass(600_000);
    expect(await wake(id)).toBe(true);
    await between(id);

    const end = third + DURATION;
    expect(await stored(id)).toMatchObject({
      record: { callback: { state: { kind: "failed" } }, expiresAt: end + 28 * DAY },
      alarm: end + 28 * DAY,
    });
    expect(await read(id)).toMatchObject({
      status: "completed",
      callback: {
        status: "failed",
        attempts: [1, 2, 3].map((number) => ({ number, series: 1, duration_ms: DURATION })),
      },
    });
    pass(HOUR);
    await wake(id);
    await between(id);
    expect(received).toHaveLength(3);
  });

  it("ends 28 days after its last change, and leaves nothing", async () => {
    aReceiver();
    const id = await completed();
    await between(id);
    expect(await stored(id)).toMatchObject({ alarm: START + 28 * DAY });
    pass(28 * DAY);
    expect(await wake(id)).toBe(true);
    await between(id);
    expect(await stored(id)).toEqual(NOTHING);
    expect(await refusal(await call(`/v1/tasks/${id}`))).toMatchObject({ code: "unknown_task" });
  });

  it("fails at its deadline with upstream_timeout, which is called back", async () => {
    const received = aReceiver();
    const id = await register({ deadline_at: START_S + 600 });
    await between(id);
    expect(await stored(id)).toMatchObject({ alarm: (START_S + 600) * 1000 });
    pass(600_000);
    expect(await wake(id)).toBe(true);
    await between(id);
    expect(received.map(({ headers }) => headers["x-event"])).toEqual(["task.failed"]);
    expect(await read(id)).toMatchObject({
      status: "failed",
      error: { code: "upstream_timeout", message: expect.stringMatching(/./) },
      failure: { category: "timeout", retryable: true },
      callback: { status: "delivered", attempts: [{ number: 1 }] },
    });
    expect(received[0]?.body).not.toContain("failure");
    const late = await post("/v1/events", aCompletion(id));
    expect(await refusal(late)).toEqual({ status: 409, code: "conflicting_result" });
  });

  it("stays as it is when its alarm comes too early", async () => {
    const received = aReceiver(status(500));
    const [open, due] = [await register(), await completed()];
    for (const id of [open, due]) {
      const before = await stored(id);
      await between(id);
      expect(await wake(id)).toBe(true);
      expect(await stored(id)).toEqual(before);
    }
    expect(received).toHaveLength(1);
  });

  it("reaches a deadline beyond the reach of an alarm in hops", async () => {
    aReceiver();
    const id = await register({ deadline_at: START_S + 60 * 86_400 });
    for (const day of [29, 58]) {
      expect(await stored(id)).toMatchObject({ alarm: START + day * DAY });
      pass(29 * DAY);
      await between(id);
      expect(await wake(id)).toBe(true);
    }
    expect(await stored(id)).toMatchObject({ alarm: (START_S + 60 * 86_400) * 1000 });
    expect(await read(id)).toMatchObject({ status: "pending" });
    pass(2 * DAY);
    await wake(id);
    expect(await read(id)).toMatchObject({ status: "failed" });
  });
});

describe("the default deadline", () => {
  it("also closes a task that an event created and that nothing was heard of again", async () => {
    aReceiver();
    const id = crypto.randomUUID();
    await post("/v1/events", { id, status: "processing", model: "m", callback_url: CALLBACK_URL });
    expect(await stored(id)).toMatchObject({ alarm: START + 72 * HOUR });
    pass(72 * HOUR);
    await wake(id);
    expect(await read(id)).toMatchObject({ status: "failed", callback: { status: "delivered" } });
  });
});

describe("an attempt in flight", () => {
  it("is on record before it is sent, and the alarm watches over it", async () => {
    let atSending: unknown;
    const id = await register();
    aReceiver(async () => {
      atSending = await stored(id);
      return new Response(null);
    });
    await post("/v1/events", aCompletion(id));
    await untilIdle(id);
    expect(atSending).toMatchObject({
      record: { callback: { state: { kind: "in_flight", number: 1, startedAt: START } } },
      alarm: START + 10_000 + 5_000,
    });
  });

  it("is shown without an outcome", async () => {
    aReceiver(never);
    const id = await register();
    await restart(id, { ...env, CALLBACK_TIMEOUT_S: "1" });
    await post("/v1/events", aCompletion(id));
    const { callback } = await read(id);
    expect(callback).toEqual({
      url: CALLBACK_URL,
      status: "sending",
      attempts: [{ number: 1, series: 1, started_at: START_S }],
    });
    const open = await call(`/v1/tasks/${id}/redeliver`, { method: "POST" });
    expect(await refusal(open)).toEqual({ status: 409, code: "series_running" });
    await until(async () => (await stored(id)).alarm === START + 180_000);
  });

  it("is joined by an alarm, which does not send it again", async () => {
    const received = aReceiver(never);
    const id = await register();
    await restart(id, { ...env, CALLBACK_TIMEOUT_S: "1" });
    await post("/v1/events", aCompletion(id));
    await until(() => received.length === 1);
    expect(await wake(id)).toBe(true);
    expect(received).toHaveLength(1);
    expect(await stored(id)).toMatchObject({
      record: { callback: { attempts: [{ outcome: "timeout" }] } },
      alarm: START + 180_000,
    });
  });
});
