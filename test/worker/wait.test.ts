import { beforeEach, expect, it, vi } from "vitest";
import { aReceiver } from "./receiver.ts";
import { call, invalid, refusal } from "./client.ts";
import { pass, useClock } from "./clock.ts";
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

it("a waiting read asks the object after 1, 1, 2, 2 and 3 s, then every 5 s, for at most 60 s", async () => {
  const id = await register();
  const response = await call(`/v1/tasks/${id}?wait=600`);
  expect(response.status).toBe(200);
  expect(await response.json()).toMatchObject({ status: "pending" });
  expect(pauses.slice(0, 7)).toEqual([1000, 1000, 2000, 2000, 3000, 5000, 5000]);
  expect(new Set(pauses.slice(5, -1))).toEqual(new Set([5000]));
  expect(waited()).toBe(60_000);
});

it.each([
  ["?wait=0", "", 0],
  ["?wait=-5", "", 0],
  ["?wait=2.5", "", 2500],
  ["?wait=60", "", 60_000],
  ["?wait=99999999999999999999", "", 60_000],
  ["", "wait=3", 3000],
  ["", "wait=600", 60_000],
  ["", "respond-async, wait=4", 4000],
  ["", "WAIT = 2", 2000],
  ["", 'wait="5"', 5000],
  ["", "await=9", 0],
  ["", "wait=soon", 0],
  ["?wait=1", "wait=9", 1000],
])('a read with "%s" and "Prefer: %s" is delayed by %i ms', async (query, prefer, ms) => {
  const id = await register();
  const headers = { Prefer: prefer };
  expect((await call(`/v1/tasks/${id}${query}`, { headers })).status).toBe(200);
  expect(waited()).toBe(ms);
});

it.each(["", "abc", "5s", "NaN", "1,5", "%20"])(
  "a read with ?wait=%s is rejected",
  async (wait) => {
    const id = await register();
    const response = await call(`/v1/tasks/${id}?wait=${wait}`);
    expect(await refusal(response)).toEqual(invalid("/wait"));
  },
);

it("a waiting read answers at the first question after the task has ended", async () => {
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

it("a waiting read does not wait for a terminal or unknown task", async () => {
  aReceiver();
  const id = await completed();
  expect((await call(`/v1/tasks/${id}?wait=30`)).status).toBe(200);
  expect((await call(`/v1/tasks/${crypto.randomUUID()}?wait=30`)).status).toBe(404);
  expect(pauses).toEqual([]);
});

it("a waiting read with If-None-Match waits until the task changes", async () => {
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

it("a waiting read answers 304 with If-None-Match when nothing changes in time, even for a terminal task", async () => {
  aReceiver();
  const id = await completed();
  const tag = (await call(`/v1/tasks/${id}`)).headers.get("ETag") ?? "";
  const response = await call(`/v1/tasks/${id}?wait=4`, { headers: { "If-None-Match": tag } });
  expect(response.status).toBe(304);
  expect(waited()).toBe(4000);
});

it("a waiting read answers at once to an outdated If-None-Match", async () => {
  const id = await register();
  const headers = { "If-None-Match": '"1-operator"' };
  expect((await call(`/v1/tasks/${id}?wait=4`, { headers })).status).toBe(200);
  expect(pauses).toEqual([]);
});
