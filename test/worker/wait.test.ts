import { beforeEach, describe, expect, it, vi } from "vitest";
import { aReceiver } from "./receiver.ts";
import { call, invalid, refusal } from "./client.ts";
import { pass, START_S, useClock } from "./clock.ts";
import { aCompletion, completed, register, report } from "./tasks.ts";

useClock();

/** The waits of the Worker in milliseconds. They take no real time; `between` runs during each. */
let pauses: number[] = [];
let between: (pause: number) => Promise<unknown> = () => Promise.resolve();

beforeEach(() => {
  pauses = [];
  between = () => Promise.resolve();
  vi.spyOn(scheduler, "wait").mockImplementation(async (ms) => {
    pass(ms);
    pauses.push(ms);
    await between(pauses.length);
  });
});

function waited(): number {
  return pauses.reduce((sum, ms) => sum + ms, 0);
}

describe("GET /v1/tasks/{id}?wait", () => {
  it("asks the object after 1, 1, 2, 2 and 3 s, then every 5 s, for at most 60 s", async () => {
    const id = await register();
    const response = await call(`/v1/tasks/${id}?wait=600`);
    expect(response.status).toBe(200);
    expect(await response.json()).toMatchObject({ status: "pending" });
    expect(pauses.slice(0, 7)).toEqual([1000, 1000, 2000, 2000, 3000, 5000, 5000]);
    expect(new Set(pauses.slice(5, -1))).toEqual(new Set([5000]));
    expect(waited()).toBe(60_000);
  });

  it.each([
    ["0", 0],
    ["-5", 0],
    ["3", 3000],
    ["2.5", 2500],
    ["60", 60_000],
    ["61", 60_000],
    ["99999999999999999999", 60_000],
  ])("delays the answer for ?wait=%s by %i ms", async (wait, ms) => {
    const id = await register();
    expect((await call(`/v1/tasks/${id}?wait=${wait}`)).status).toBe(200);
    expect(waited()).toBe(ms);
  });

  it.each(["", "abc", "5s", "NaN", "1,5", "%20"])("rejects ?wait=%s", async (wait) => {
    const id = await register();
    const response = await call(`/v1/tasks/${id}?wait=${wait}`);
    expect(await refusal(response)).toEqual(invalid("/wait"));
  });

  it("answers at the first question after the task has ended", async () => {
    aReceiver();
    const id = await register();
    between = async (pause) => {
      if (pause === 1) await report({ id, status: "processing" });
      if (pause === 3) await report(aCompletion(id));
    };
    const response = await call(`/v1/tasks/${id}?wait=30`);
    expect(await response.json()).toMatchObject({ status: "completed" });
    expect(pauses).toEqual([1000, 1000, 2000]);
  });

  it("does not wait for a terminal or unknown task", async () => {
    aReceiver();
    const id = await completed();
    expect((await call(`/v1/tasks/${id}?wait=30`)).status).toBe(200);
    expect((await call(`/v1/tasks/${crypto.randomUUID()}?wait=30`)).status).toBe(404);
    expect(pauses).toEqual([]);
  });

  it("waits with If-None-Match until the task changes", async () => {
    const id = await register();
    const tag = (await call(`/v1/tasks/${id}`)).headers.get("ETag") ?? "";
    between = async (pause) => {
      if (pause === 2) await report({ id, status: "processing" });
    };
    const headers = { "If-None-Match": tag };
    const response = await call(`/v1/tasks/${id}?wait=30`, { headers });
    expect(response.status).toBe(200);
    expect(await response.json()).toMatchObject({ status: "processing" });
    expect(pauses).toEqual([1000, 1000]);
  });

  it("answers 304 with If-None-Match when nothing changes in time, even for a terminal task", async () => {
    aReceiver();
    const id = await completed();
    const tag = (await call(`/v1/tasks/${id}`)).headers.get("ETag") ?? "";
    const response = await call(`/v1/tasks/${id}?wait=4`, { headers: { "If-None-Match": tag } });
    expect(response.status).toBe(304);
    expect(waited()).toBe(4000);
  });

  it("answers at once to an outdated If-None-Match", async () => {
    const id = await register();
    const headers = { "If-None-Match": '"1-operator"' };
    expect((await call(`/v1/tasks/${id}?wait=4`, { headers })).status).toBe(200);
    expect(pauses).toEqual([]);
  });
});

describe("GET /v1/tasks/{id} with Prefer", () => {
  it.each([
    ["wait=3", 3000],
    ["wait=600", 60_000],
    ["respond-async, wait=4", 4000],
    ["WAIT = 2", 2000],
    ['wait="5"', 5000],
    ["await=9", 0],
    ["return=minimal", 0],
    ["wait=soon", 0],
  ])("of %s delays the answer by %i ms", async (prefer, ms) => {
    const id = await register();
    const response = await call(`/v1/tasks/${id}`, { headers: { Prefer: prefer } });
    expect(response.status).toBe(200);
    expect(waited()).toBe(ms);
  });

  it("the Prefer header is ignored when ?wait is given", async () => {
    const id = await register({ deadline_at: START_S + 3600 });
    await call(`/v1/tasks/${id}?wait=1`, { headers: { Prefer: "wait=9" } });
    expect(waited()).toBe(1000);
  });
});
