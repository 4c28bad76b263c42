import { runDurableObjectAlarm } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, it, vi } from "vitest";
import * as z from "zod";
import { attach, hooked, readHooked, sendHook } from "./hooked.ts";
import { anOutside, answering, type Outside, type Site } from "./outside.ts";
import { until, useClock } from "./clock.ts";
import { restart, stored, stubOf } from "./objects.ts";
import { CALLBACK_URL } from "./tasks.ts";

useClock();

const ARK = "https://ark.cn-beijing.volces.com/api/v3/contents/generations/tasks/cgt-1";
const KEYED = { ...env, ARK_API_KEY: "test-only-ark-key" };
const RUNNING = { id: "cgt-1", status: "running" };
const Versioned = z.object({ version: z.int() });
const DONE = {
  id: "cgt-1",
  status: "succeeded",
  content: { video_url: "https://cdn.example.net/ark.mp4" },
};

function anArk(site: Site): Outside {
  const outside = anOutside();
  outside.on(CALLBACK_URL, answering("thank you"));
  outside.on("https://ark.", site);
  return outside;
}

/** A task with an attached job that the relay may ask after. */
async function pollable(bindings: object = KEYED, fields: object = {}) {
  const task = await hooked({ provider: "ark", bindings, fields });
  await attach(task, "cgt-1");
  return task;
}

/** Lets the alarm come when it is due; how long that was from now, in milliseconds. */
async function nextAlarm(id: string): Promise<number> {
  const waitMs = ((await stored(id)).alarm ?? NaN) - Date.now();
  vi.setSystemTime(Date.now() + waitMs);
  await runDurableObjectAlarm(stubOf(id));
  return waitMs;
}

describe("a poll", () => {
  it("is one GET with the key, as JSON, whose redirects are not followed", async () => {
    const outside = anArk(answering(RUNNING));
    const { id } = await pollable();
    await nextAlarm(id);
    expect(outside.sentTo("https://")).toMatchObject([
      {
        method: "GET",
        url: ARK,
        redirect: "manual",
        headers: { authorization: "Bearer test-only-ark-key", accept: "application/json" },
      },
    ]);
  });

  it("comes 15 s after the attachment, then after twice as long each time, up to 5 minutes", async () => {
    const outside = anArk(answering(RUNNING));
    const { id } = await pollable();
    for (const seconds of [15, 30, 60, 120, 240, 300, 300]) {
      const waitMs = await nextAlarm(id);
      expect(waitMs).toBeGreaterThanOrEqual(seconds * 1000);
      expect(waitMs).toBeLessThanOrEqual(seconds * 1200);
    }
    expect(outside.sentTo(ARK)).toHaveLength(7);
  });

  it("is no new version of the task while it tells nothing new", async () => {
    anArk(answering(RUNNING));
    const task = await pollable();
    await nextAlarm(task.id);
    const before = await readHooked(task);
    const { record } = await stored(task.id);
    await nextAlarm(task.id);
    expect(await readHooked(task)).toEqual(before);
    expect(Versioned.parse((await stored(task.id)).record)).toEqual(Versioned.parse(record));
  });

  /** What the upstream does, and that the task is as open as before. */
  const UNCLEAR: readonly [string, Site][] = [
    ["500", answering(DONE, 500)],
    ["503", answering(DONE, 503)],
    ["302", answering(DONE, 302, { Location: "https://elsewhere.example.net" })],
    ["no JSON", () => new Response("<html>")],
    ["nothing", () => new Response(null)],
    ["JSON of more than 8 MB", answering({ ...DONE, padding: "x".repeat(8_388_608) })],
    ["a refused connection", () => Promise.reject(new Error("connection refused"))],
    ["an unknown state", answering({ ...DONE, status: "dreamt" })],
    ["404", answering({ error: { code: "NotFound" } }, 404)],
    ["401", answering(DONE, 401)],
  ];

  it.each(UNCLEAR)(
    "that is answered by %s leaves the task open, and is repeated",
    async (_, site) => {
      const outside = anArk(site);
      const task = await pollable();
      await nextAlarm(task.id);
      expect(await readHooked(task)).toMatchObject({ status: "pending" });
      expect(outside.sentTo("https://").map(({ url }) => url)).toEqual([ARK]);
      outside.on("https://ark.", answering(DONE));
      expect(await nextAlarm(task.id)).toBeLessThanOrEqual(36_000);
      expect(await readHooked(task)).toMatchObject({ status: "completed" });
      await until(() => outside.sentTo(CALLBACK_URL).length === 1);
    },
  );

  it.each([
    ["seconds", "90", 90_000],
    ["seconds that are fewer than the relay waits anyway", "1", 30_000],
    ["more than an hour, of which an hour is kept", "86400", 3_600_000],
    ["nonsense", "soon", 30_000],
    ["nothing", null, 30_000],
  ])("that comes too often is repeated after what Retry-After says: %s", async (_, value, ms) => {
    const headers: Record<string, string> = value === null ? {} : { "Retry-After": value };
    anArk(answering({}, 429, headers));
    const { id } = await pollable();
    await nextAlarm(id);
    const waitMs = await nextAlarm(id);
    expect(waitMs).toBeGreaterThanOrEqual(ms);
    expect(waitMs).toBeLessThanOrEqual(ms * 1.2);
  });

  it("waits for the date that Retry-After says", async () => {
    anArk(() => {
      const at = new Date(Date.now() + 120_000).toUTCString();
      return Response.json({}, { status: 429, headers: { "Retry-After": at } });
    });
    const { id } = await pollable();
    await nextAlarm(id);
    const waitMs = await nextAlarm(id);
    expect(waitMs).toBeGreaterThan(118_000);
    expect(waitMs).toBeLessThanOrEqual(120_000);
  });

  it("is not brought forward by hooks while the upstream wants to be left alone", async () => {
    const outside = anArk(answering({}, 429, { "Retry-After": "90" }));
    const task = await pollable();
    await nextAlarm(task.id);
    for (let hooks = 0; hooks < 5; hooks++) await sendHook(task, JSON.stringify(DONE));
    expect(outside.sentTo(ARK)).toHaveLength(1);
    outside.on("https://ark.", answering(DONE));
    expect(await nextAlarm(task.id)).toBe(90_000);
    expect(await readHooked(task)).toMatchObject({ status: "completed" });
  });

  it("is not made while the relay is paused, but the deadline passes", async () => {
    const outside = anArk(answering(RUNNING));
    const paused = { ...KEYED, PAUSED: "true" };
    const task = await pollable(paused, { deadline_at: Math.floor(Date.now() / 1000) + 100 });
    await nextAlarm(task.id);
    await nextAlarm(task.id);
    expect(outside.sentTo(ARK)).toEqual([]);
    expect(await readHooked(task)).toMatchObject({ error: { code: "upstream_timeout" } });
  });

  it("is made with the key that is configured when it is due", async () => {
    const outside = anArk(answering(RUNNING));
    const task = await pollable();
    await restart(task.id, { ...env, ARK_API_KEY: "test-only-newer-key" });
    await nextAlarm(task.id);
    expect(outside.sentTo(ARK)[0]?.headers["authorization"]).toBe("Bearer test-only-newer-key");
  });
});

describe("the deadline of a task with a job", () => {
  it("is put off once by a quarter while the upstream is at work", async () => {
    const outside = anArk(answering(RUNNING));
    const start = Math.floor(Date.now() / 1000);
    const task = await pollable(KEYED, { deadline_at: start + 1000 });
    for (let alarms = 0; alarms < 20; alarms++) {
      if ((await readHooked(task)).status === "failed") break;
      await nextAlarm(task.id);
    }
    expect(await readHooked(task)).toMatchObject({ error: { code: "upstream_timeout" } });
    const seconds = Math.round(Date.now() / 1000) - start;
    expect(seconds).toBeGreaterThanOrEqual(1250);
    // A poll just before either deadline keeps the last one waiting for a second.
    expect(seconds).toBeLessThanOrEqual(1253);
    await until(() => outside.sentTo(CALLBACK_URL).length === 1);
  });

  it("lets a success win that the last poll tells", async () => {
    const deadline_at = Math.floor(Date.now() / 1000) + 20;
    anArk(() => Response.json(Date.now() / 1000 >= deadline_at ? DONE : RUNNING));
    const task = await pollable(KEYED, { deadline_at });
    await nextAlarm(task.id);
    await nextAlarm(task.id);
    expect(await readHooked(task)).toMatchObject({ status: "completed" });
  });
});
