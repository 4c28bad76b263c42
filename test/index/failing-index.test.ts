import { runDurableObjectAlarm } from "cloudflare:test";
import { describe, expect, it } from "vitest";
import { aReceiver, status } from "../worker/receiver.ts";
import { evict } from "../worker/instance.ts";
import {
  aCompletion,
  atRest,
  call,
  pass,
  post,
  read,
  realMs,
  register,
  START,
  stored,
  stubOf,
  until,
  useClock,
} from "../worker/support.ts";
import { gated, reborn, useOwnBindings } from "./bindings.ts";
import {
  aRow,
  callWith,
  db,
  indexed,
  insert,
  isPublished,
  rowsOfTask,
  useEmptyIndex,
  wake,
} from "./support.ts";

useClock();
useEmptyIndex();
useOwnBindings();

const fail = () => Promise.reject(new Error("D1 is on fire"));
const hang = () => new Promise<never>(() => undefined);

const FAULTS: readonly [string, () => Promise<unknown>][] = [
  ["fails", fail],
  ["does not answer", hang],
  ["answers after 2.5 seconds", () => realMs(2_500)],
];

/** A registered task whose index has the fault while `fault.isOn`. */
async function withFault(gate: () => Promise<unknown>) {
  const fault = { isOn: true, asked: 0 };
  const id = await register();
  const INDEX_DB = gated(db, async () => {
    fault.asked += 1;
    if (fault.isOn) await gate();
  });
  await reborn(id, { INDEX_DB });
  return { id, fault };
}

describe.each(FAULTS)("an index that %s", (_, gate) => {
  it("changes nothing of a callback: not its times, not its number, not its outcome", async () => {
    const received = aReceiver(status(500), status(200));
    const { id, fault } = await withFault(gate);
    await post("/v1/events", aCompletion(id));
    await atRest(id);
    for (let alarms = 0; alarms < 30 && received.length < 2; alarms++) await wake(id);
    await atRest(id);
    expect(fault.asked).toBeGreaterThan(0);
    const { callback } = await read(id);
    expect(callback).toMatchObject({
      status: "delivered",
      attempts: [
        { number: 1, started_at: Math.floor(START / 1000) },
        { number: 2, started_at: Math.floor((START + 180_000) / 1000) },
      ],
    });
    fault.isOn = false;
    await indexed(id);
    expect(await rowsOfTask(id)).toMatchObject([{ callback: "delivered", attempts: 2 }]);
    expect(received).toHaveLength(2);
  });

  it("is tried again by the alarm, later and later, until it knows the task", async () => {
    const { id, fault } = await withFault(gate);
    const waits: number[] = [];
    for (let time = 0; time < 3; time++) {
      const at = await wake(id);
      waits.push(((await stored(id)).alarm ?? 0) - at);
    }
    expect(waits).toEqual([5_000, 10_000, 20_000]);
    expect(await isPublished(id)).toBe(false);
    fault.isOn = false;
    expect(await indexed(id)).toMatchObject({ status: "pending" });
    expect((await stored(id)).alarm).toBe(START + 3 * 86_400_000);
  });
});

describe("an index that does not answer", () => {
  it("does not hold up the callback of a task that ends meanwhile", async () => {
    const received = aReceiver();
    const { id, fault } = await withFault(hang);
    pass(30_000);
    const alarm = runDurableObjectAlarm(stubOf(id));
    await until(() => fault.asked > 0);
    const before = performance.now();
    await post("/v1/events", aCompletion(id));
    await until(() => received.length === 1);
    expect(performance.now() - before).toBeLessThan(1_500);
    await alarm;
    expect(await read(id)).toMatchObject({ callback: { status: "delivered" } });
  });

  it("does not hold up an ordered series either", async () => {
    const received = aReceiver();
    const { id, fault } = await withFault(hang);
    await post("/v1/events", aCompletion(id));
    await atRest(id);
    pass(10);
    const alarm = runDurableObjectAlarm(stubOf(id));
    await until(() => fault.asked > 0);
    const before = performance.now();
    await call(`/v1/tasks/${id}/redeliver`, { method: "POST" });
    await until(() => received.length === 2);
    expect(performance.now() - before).toBeLessThan(1_500);
    await alarm;
  });

  it("does not keep an account from being created, nor a task from being erased", async () => {
    aReceiver();
    const bindings = { INDEX_DB: gated(db, hang) };
    const id = crypto.randomUUID();
    expect((await callWith(bindings, "/v1/accounts", { body: { id } })).status).toBe(201);
    const task = await register({ callback_url: null });
    await post("/v1/events", aCompletion(task));
    const erased = await callWith(bindings, `/v1/tasks/${task}`, { method: "DELETE" });
    expect(erased.status).toBe(204);
    expect((await call(`/v1/tasks/${task}`)).status).toBe(404);
  });
});

describe("a crash between the commit of a task and its publication", () => {
  it("leaves an alarm that publishes it", async () => {
    aReceiver();
    const { id, fault } = await withFault(fail);
    await post("/v1/events", aCompletion(id));
    await atRest(id);
    pass(10);
    await wake(id);
    expect(await rowsOfTask(id)).toEqual([]);
    expect(await isPublished(id)).toBe(false);
    fault.isOn = false;
    await evict(id);
    expect(await indexed(id)).toMatchObject({ status: "completed", callback: "delivered" });
  });

  it("of which nobody knows whether the row arrived writes it again, to no effect", async () => {
    const { id, fault } = await withFault(() => realMs(2_200));
    await wake(id);
    expect(await isPublished(id)).toBe(false);
    await until(async () => (await rowsOfTask(id)).length === 1);
    const [first] = await rowsOfTask(id);
    fault.isOn = false;
    await evict(id);
    expect(await indexed(id)).toEqual(first);
  });
});

describe("lists and statistics while the index fails", () => {
  it.each(["/v1/tasks", "/v1/stats", "/metrics", "/v1/accounts", "/v1/redeliveries?dry_run=true"])(
    "answer 503 unavailable, and to try again: %s",
    async (path) => {
      const message = path.includes("redeliveries") ? { body: {} } : {};
      const response = await callWith({ INDEX_DB: gated(db, fail) }, path, message);
      expect(response.status).toBe(503);
      expect(response.headers.get("Retry-After")).toMatch(/^[1-9]\d*$/);
      expect(await response.json()).toMatchObject({ code: "unavailable" });
    },
  );

  it("show afterwards how far the index was behind", async () => {
    const { id, fault } = await withFault(fail);
    await insert(aRow({ id, createdAt: START, version: START - 1, dueAt: START, expiresAt: null }));
    aReceiver();
    await post("/v1/events", aCompletion(id));
    await atRest(id);
    pass(100_000);
    const behind = await (await callWith({ INDEX_DB: db }, "/v1/stats")).json();
    expect(behind).toMatchObject({ index: { overdue: { tasks: 1, oldest_age_ms: 100_000 } } });
    fault.isOn = false;
    await indexed(id);
    const caughtUp = await (await callWith({ INDEX_DB: db }, "/v1/stats")).json();
    expect(caughtUp).toMatchObject({ index: { overdue: { tasks: 0, oldest_age_ms: null } } });
  });
});
