import { runDurableObjectAlarm } from "cloudflare:test";
import { describe, expect, it } from "vitest";
import { aReceiver, refused, status } from "./receiver.ts";
import { ORIGIN, post, refusal } from "./client.ts";
import { pass, START, START_S, useClock } from "./clock.ts";
import { NOTHING, stored, stubOf, untilIdle } from "./objects.ts";
import { CALLBACK_URL, completed, read, register } from "./tasks.ts";

useClock();

const REPAIRED = "https://repaired.example.net/hook";

function redeliver(id: string, body: unknown = "", key?: string): Promise<Response> {
  const headers: Record<string, string> = key === undefined ? {} : { "Idempotency-Key": key };
  return post(`/v1/tasks/${id}/redeliver`, body, { headers });
}

describe("POST /v1/tasks/{id}/redeliver", () => {
  it("sends a delivered callback again, in a new series, under the same webhook-id", async () => {
    const received = aReceiver();
    const id = await completed();
    pass(60_000);
    const response = await redeliver(id);
    expect(response.status).toBe(202);
    expect(await response.json()).toMatchObject({
      callback: { status: "sending", delivered_at: START_S },
    });
    await untilIdle(id);
    expect(await read(id)).toMatchObject({
      callback: {
        status: "delivered",
        attempts: [
          { number: 1, series: 1, started_at: START_S },
          { number: 2, series: 2, started_at: START_S + 60 },
        ],
        delivered_at: START_S,
      },
    });
    const headers = received.map((request) => request.headers);
    expect(headers.map((each) => each["x-attempt"])).toEqual(["1", "2"]);
    expect(new Set(headers.map((each) => each["webhook-id"]))).toEqual(new Set([`msg_${id}`]));
    expect(received[1]?.body).toBe(received[0]?.body);
  });

  it("makes as many attempts as ordered, on the schedule, and is failed after the last", async () => {
    const received = aReceiver(status(200), status(500));
    const id = await completed();
    await redeliver(id, { attempts: 3 });
    await untilIdle(id);
    expect(await stored(id)).toMatchObject({ alarm: START + 180_000 });
    pass(180_000);
    await runDurableObjectAlarm(stubOf(id));
    expect(await stored(id)).toMatchObject({ alarm: START + 180_000 + 600_000 });
    pass(600_000);
    await runDurableObjectAlarm(stubOf(id));
    expect(received).toHaveLength(4);
    expect(await read(id)).toMatchObject({
      callback: {
        status: "failed",
        attempts: [
          { series: 1 },
          { number: 2, series: 2 },
          { number: 3 },
          { number: 4, series: 2 },
        ],
        delivered_at: START_S,
      },
    });
  });

  it("makes one attempt when none are ordered, and when they are null", async () => {
    const received = aReceiver(status(200), refused);
    const id = await completed();
    for (const body of ["", "{}", { attempts: null, callback_url: null }]) {
      expect((await redeliver(id, body)).status).toBe(202);
      await untilIdle(id);
      expect(await read(id)).toMatchObject({ callback: { status: "failed" } });
    }
    expect(received).toHaveLength(4);
  });

  it("sends to a repaired URL, which is the task's from then on", async () => {
    const received = aReceiver();
    const id = await completed();
    await redeliver(id, { callback_url: REPAIRED });
    await untilIdle(id);
    await redeliver(id);
    await untilIdle(id);
    expect(received.map(({ url }) => url)).toEqual([CALLBACK_URL, REPAIRED, REPAIRED]);
    expect(await read(id)).toMatchObject({ callback: { url: REPAIRED } });
  });

  it("gives a callback to a task that had none, and answers 409 no_callback without a URL", async () => {
    const received = aReceiver();
    const id = await completed({ callback_url: null });
    const before = await stored(id);
    expect(await refusal(await redeliver(id))).toEqual({ status: 409, code: "no_callback" });
    expect(await stored(id)).toEqual(before);
    expect((await redeliver(id, { callback_url: REPAIRED })).status).toBe(202);
    await untilIdle(id);
    expect(received.map(({ url }) => url)).toEqual([REPAIRED]);
  });

  it("starts once per Idempotency-Key; the last key is kept", async () => {
    const received = aReceiver();
    const id = await completed();
    for (const key of ["a", "a", "b", "b"]) {
      const response = await redeliver(id, "", key);
      expect(response.status).toBe(202);
      expect(await response.json()).toMatchObject({ id });
      await untilIdle(id);
    }
    expect(received).toHaveLength(3);
  });

  it("answers 202 to the same key while its series runs, and 409 series_running to another", async () => {
    aReceiver(status(200), status(500));
    const id = await completed();
    await redeliver(id, { attempts: 2 }, "a");
    await untilIdle(id);
    const before = await stored(id);
    expect((await redeliver(id, { attempts: 2 }, "a")).status).toBe(202);
    expect(await refusal(await redeliver(id, "", "b"))).toEqual({
      status: 409,
      code: "series_running",
    });
    expect(await stored(id)).toEqual(before);
  });

  it("answers 409 series_running, with the task, from the terminal event until it is settled", async () => {
    const received = aReceiver(status(500));
    const id = await completed();
    const response = await redeliver(id);
    expect(response.status).toBe(409);
    expect(await response.json()).toMatchObject({ code: "series_running", task: await read(id) });
    expect(received).toHaveLength(1);
  });

  it("answers 409 task_open, with the task, before", async () => {
    const id = await register();
    const before = await stored(id);
    const response = await redeliver(id, { callback_url: REPAIRED });
    expect(response.status).toBe(409);
    expect(await response.json()).toMatchObject({ code: "task_open", task: { status: "pending" } });
    expect(await stored(id)).toEqual(before);
  });

  it("answers 404 for an unknown id and for what is no id, and leaves nothing", async () => {
    const id = crypto.randomUUID();
    for (const each of [id, "42"]) {
      const response = await redeliver(each, { callback_url: REPAIRED });
      expect(await refusal(response)).toEqual({ status: 404, code: "unknown_task" });
    }
    expect(await stored(id)).toEqual(NOTHING);
  });

  it.each([
    ["no attempts", { attempts: 0 }, "/attempts"],
    ["four attempts", { attempts: 4 }, "/attempts"],
    ["half an attempt", { attempts: 1.5 }, "/attempts"],
    ["attempts as text", { attempts: "1" }, "/attempts"],
    ["an unknown field", { attempt: 1 }, "/attempt"],
    ["a URL on the relay", { callback_url: `${ORIGIN}/x` }, "/callback_url"],
    ["a local URL", { callback_url: "https://[::1]/x" }, "/callback_url"],
    ["a list", [], ""],
  ])("refuses %s and changes nothing", async (_, body, path) => {
    const received = aReceiver();
    const id = await completed();
    const before = await stored(id);
    const paths = [path];
    expect(await refusal(await redeliver(id, body))).toEqual({
      status: 400,
      code: "invalid_request",
      paths,
    });
    expect(await refusal(await redeliver(id, "", "é"))).toMatchObject({ status: 400 });
    expect(await stored(id)).toEqual(before);
    expect(received).toHaveLength(1);
  });

  it("keeps 20 attempts and never gives a number twice", async () => {
    aReceiver();
    const id = await completed();
    for (let count = 0; count < 21; count++) {
      await redeliver(id);
      await untilIdle(id);
    }
    const attempts = Array.from({ length: 20 }, (_, i) => ({ number: i + 3, series: i + 3 }));
    expect(await read(id)).toMatchObject({ callback: { attempts } });
  });
});
