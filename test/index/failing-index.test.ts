import { runDurableObjectAlarm } from "cloudflare:test";
import { expect, it } from "vitest";
import { INDEX_TIMEOUT_MS, QUERY_TIMEOUT_MS } from "../../src/index-db/database.ts";
import { call, post, refusal } from "../worker/client.ts";
import { pass, START, until } from "../worker/clock.ts";
import { evict, untilIdle, stored, stubOf } from "../worker/objects.ts";
import { aReceiver, status } from "../worker/receiver.ts";
import { aCompletion, read, register } from "../worker/tasks.ts";
import { gated, restartWith } from "./bindings.ts";
import { callWith, db, indexed, rowsOfTask, useIndex, wake, finish } from "./support.ts";
import { holdTimers } from "../worker/timers.ts";

useIndex();

type Gate = () => Promise<unknown>;
const fail: Gate = () => Promise.reject(new Error("D1 is unavailable"));
const hang: Gate = () => new Promise<never>(() => undefined);

/** Builds the gate of an index that answers a call only after its time limit, or never. */
function tooLate(answer: Gate, limitMs = INDEX_TIMEOUT_MS): Gate {
  const passLimit = holdTimers(limitMs);
  return () => {
    passLimit();
    return answer();
  };
}

const FAULTS: readonly [string, () => Gate][] = [
  ["fails", () => fail],
  ["does not answer", () => tooLate(hang)],
  ["answers too late", () => tooLate(() => Promise.resolve())],
];

/** Registers a task on a relay whose index has the fault while `fault.isOn` is true. */
async function withFault(gate: Gate) {
  const fault = { isOn: true, asked: 0 };
  const id = await register();
  const INDEX_DB = gated(db, async () => {
    fault.asked += 1;
    if (fault.isOn) await gate();
  });
  await restartWith(id, { INDEX_DB });
  return { id, fault };
}

/** Starts an alarm whose write to the index hangs. @returns lets its time limit pass and waits for the alarm. */
async function hangingAlarm(id: string, fault: { readonly asked: number }) {
  const passLimit = holdTimers(INDEX_TIMEOUT_MS);
  const alarm = runDurableObjectAlarm(stubOf(id));
  await until(() => fault.asked > 0);
  return async () => {
    passLimit();
    await alarm;
  };
}

it.each(FAULTS)(
  "the callback attempts of a task are made at their planned times when the index %s",
  async (_, gateOf) => {
    const received = aReceiver(status(500), status(200));
    const { id, fault } = await withFault(gateOf());
    await finish(id);
    for (let alarms = 0; alarms < 30 && received.length < 2; alarms++) await wake(id);
    await untilIdle(id);
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
  },
);

it.each(FAULTS)(
  "a task repeats the write of its index row with growing waits when the index %s",
  async (_, gateOf) => {
    const { id, fault } = await withFault(gateOf());
    const waits: number[] = [];
    for (let time = 0; time < 3; time++) {
      const at = await wake(id);
      waits.push(((await stored(id)).alarm ?? 0) - at);
    }
    expect(waits).toEqual([50_000, 240_000, 960_000]);
    expect((await stored(id)).record).toMatchObject({ indexRow: { version: 0, hasFailed: true } });
    fault.isOn = false;
    await wake(id);
    expect(await rowsOfTask(id)).toMatchObject([{ status: "pending" }]);
    expect((await stored(id)).alarm).toBe(START + 3 * 86_400_000);
  },
);

it("when a task ends while the write of its index row gets no answer, its callback is sent without waiting for the answer", async () => {
  const received = aReceiver();
  const { id, fault } = await withFault(hang);
  pass(30_000);
  const end = await hangingAlarm(id, fault);
  await post("/v1/events", aCompletion(id));
  await until(() => received.length === 1);
  await end();
  expect(await read(id)).toMatchObject({ callback: { status: "delivered" } });
});

it("when a redelivery of a task is ordered while the write of its index row gets no answer, the callback is sent without waiting for the answer", async () => {
  const received = aReceiver();
  const { id, fault } = await withFault(hang);
  await finish(id);
  pass(10);
  const end = await hangingAlarm(id, fault);
  await call(`/v1/tasks/${id}/redeliver`, { method: "POST" });
  await until(() => received.length === 2);
  await end();
});

it("the write of an index row that succeeds only after its timeout is repeated, also after the task's Durable Object was evicted, and changes nothing then", async () => {
  const { id, fault } = await withFault(tooLate(() => Promise.resolve()));
  await wake(id);
  expect((await stored(id)).record).toMatchObject({ indexRow: { version: 0, hasFailed: true } });
  await until(async () => (await rowsOfTask(id)).length === 1);
  const [first] = await rowsOfTask(id);
  fault.isOn = false;
  await evict(id);
  await wake(id);
  expect(await rowsOfTask(id)).toEqual([first]);
  const indexRow = { version: first?.["version"], hasFailed: false };
  expect((await stored(id)).record).toMatchObject({ indexRow });
});

it("accounts can be created and tasks can be erased even when the index does not answer", async () => {
  aReceiver();
  const bindings = { INDEX_DB: gated(db, tooLate(hang)) };
  const id = crypto.randomUUID();
  expect((await callWith(bindings, "/v1/accounts", { body: { id } })).status).toBe(201);
  const task = await register({ callback_url: null });
  await post("/v1/events", aCompletion(task));
  const erased = await callWith(bindings, `/v1/tasks/${task}`, { method: "DELETE" });
  expect(erased.status).toBe(204);
  expect((await call(`/v1/tasks/${task}`)).status).toBe(404);
});

it.each([
  ["/v1/tasks", {}],
  ["/v1/stats", {}],
  ["/metrics", {}],
  ["/v1/accounts", {}],
  ["/v1/redeliveries?dry_run=true", { body: {} }],
])(
  "%s answers 501 without an index, and 503 with Retry-After when the index fails or hangs",
  async (path, sent) => {
    const absent = await callWith({ INDEX_DB: undefined }, path, sent);
    expect(await refusal(absent)).toEqual({ status: 501, code: "index_disabled" });
    for (const gate of [fail, tooLate(hang, QUERY_TIMEOUT_MS)]) {
      const failed = await callWith({ INDEX_DB: gated(db, gate) }, path, sent);
      expect(failed.headers.get("Retry-After")).toMatch(/^[1-9]\d*$/);
      expect(await refusal(failed)).toEqual({ status: 503, code: "unavailable" });
    }
  },
);
