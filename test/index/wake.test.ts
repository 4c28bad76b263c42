import { env } from "cloudflare:workers";
import { expect, it, vi } from "vitest";
import * as z from "zod";
import { call, invalid, OPERATOR_NAME, refusal } from "../worker/client.ts";
import { DAY_MS, pass, START, until } from "../worker/clock.ts";
import { NOTHING, restart, stored, stubOf } from "../worker/objects.ts";
import { aReceiver, status } from "../worker/receiver.ts";
import { completed, register } from "../worker/tasks.ts";
import { gated, restartWith } from "./bindings.ts";
import {
  aRow,
  callWith,
  db,
  indexedTask,
  insert,
  loseAlarm,
  isWritten,
  rowsOfTask,
  useIndex,
  wake as wakeByAlarm,
} from "./support.ts";

useIndex();

const WITHOUT_INDEX = { INDEX_DB: undefined };
const PAUSED = { ...env, PAUSED: "true" };

async function wake(body: object, bindings: object = {}): Promise<unknown> {
  const response = await callWith(bindings, "/v1/wake", { body });
  expect(response.status).toBe(200);
  return response.json();
}

const fail = () => Promise.reject(new Error("Exceeded allowed rows written"));
const spent = () => Promise.reject(new Error("Too many subrequests by single Worker invocation."));
const Page = z.looseObject({ next_cursor: z.string().nullable() });

/** Returns a namespace in which the object of this task cannot be reached. */
function without(lost: string) {
  const getByName = (id: string) => (id === lost ? { wake: fail } : env.TASKS.getByName(id));
  return { TASKS: { getByName } };
}

it("POST /v1/wake with a list of ids answers how many tasks were woken, unknown or unreachable, and needs no index", async () => {
  const received = aReceiver(status(500), status(200));
  const [due, open, lost] = [await completed(), await register(), await register()];
  pass(180_000);
  await loseAlarm(due);
  await loseAlarm(open);
  const unknown = crypto.randomUUID();
  const ids = [due.toUpperCase(), open, unknown, lost];
  const answer = await wake({ ids }, { ...WITHOUT_INDEX, ...without(lost) });
  expect(answer).toEqual({ woken: 2, unknown: 1, failed: 1, next_cursor: null });
  await until(() => received.length === 2);
  expect((await stored(open)).alarm).toBeGreaterThan(Date.now());
  expect(await stored(unknown)).toEqual(NOTHING);
});

it("POST /v1/wake does not send a due callback while the relay is paused, and sends it at once after the pause", async () => {
  const received = aReceiver();
  const id = await register();
  await restart(id, PAUSED);
  await call("/v1/events", {
    body: { id, status: "completed", output: { urls: ["https://cdn.example.com/1"] } },
  });
  pass(3_600_000);
  await loseAlarm(id);
  await restart(id, PAUSED);
  expect(await wake({ ids: [id] })).toMatchObject({ woken: 1 });
  const { alarm } = await stored(id);
  expect(alarm).toBeGreaterThan(Date.now() + 60_000);
  expect(received).toEqual([]);
  await restart(id);
  await wake({ ids: [id] });
  await until(() => received.length === 1);
});

it("POST /v1/wake erases an expired task whose alarm was lost", async () => {
  aReceiver();
  const id = await indexedTask();
  await loseAlarm(id);
  pass(28 * DAY_MS);
  await wake({ ids: [id] });
  await until(async () => (await stored(id)).record === undefined);
});

it('POST /v1/wake with "all": true wakes all tasks that have work planned, 500 for each request, the earliest first, and logs the name of the caller\'s key', async () => {
  const received = aReceiver(status(500), status(200));
  const due = await indexedTask();
  const later = Array.from({ length: 500 }, (_, n) => aRow({ dueAt: START + 200_000 + n }));
  await insert(...later, aRow({ dueAt: null }));
  pass(180_000);
  await loseAlarm(due);
  const written = vi.spyOn(console, "log");
  // Hundreds of real objects take seconds.
  const getByName = (id: string) => (id === due ? stubOf(id) : { wake: async () => false });
  const first = await wake({ all: true }, { TASKS: { getByName } });
  expect(written.mock.calls.join()).toContain(
    `{"event":"tasks.wake","woken":1,"unknown":499,"failed":0,"by":"${OPERATOR_NAME}"`,
  );
  const cursor = expect.stringMatching(/^\d+_\d+_[0-9a-f-]{36}$/);
  expect(first).toEqual({ woken: 1, unknown: 499, failed: 0, next_cursor: cursor });
  await until(() => received.length === 2);
  const { next_cursor: next } = Page.parse(first);
  expect(await wake({ all: true, cursor: next })).toMatchObject({ unknown: 1, next_cursor: null });
});

/** Returns a namespace whose objects can be called only this many times in one invocation. */
function withCalls(allowed: number) {
  let calls = 0;
  const getByName = (id: string) => {
    calls += 1;
    return calls <= allowed ? env.TASKS.getByName(id) : { wake: spent, rewriteIndexRow: spent };
  };
  return { TASKS: { getByName } };
}

it('repeated requests POST /v1/wake with "all": true reach every task even when each request may call only 20 Durable Objects', async () => {
  const due = await indexedTask({ callback_url: null });
  const rows = Array.from({ length: 49 }, (_, n) => aRow({ dueAt: START + (n % 7) }));
  await insert(aRow({ id: due, dueAt: START + DAY_MS, version: Date.now() + 1 }), ...rows);
  const counts: unknown[] = [];
  let cursor: unknown = null;
  do {
    const answer = await wake({ all: true, cursor }, withCalls(20));
    const { next_cursor, ...counted } = Page.parse(answer);
    counts.push(counted);
    cursor = next_cursor;
  } while (cursor !== null && counts.length < 9);
  expect(counts).toEqual([
    { woken: 0, unknown: 20, failed: 0 },
    { woken: 0, unknown: 20, failed: 0 },
    { woken: 1, unknown: 9, failed: 0 },
  ]);
});

it('when the platform allows a request POST /v1/wake with "all": true no call to a Durable Object, its answer has a cursor that begins at the first task', async () => {
  await insert(aRow({ dueAt: START }));
  const { next_cursor: cursor } = Page.parse(await wake({ all: true }, withCalls(0)));
  const counts = { woken: 0, unknown: 1, failed: 0 };
  expect(await wake({ all: true, cursor })).toEqual({ ...counts, next_cursor: null });
});

it("when the platform allows a request POST /v1/wake with a list of ids no further call to a Durable Object, the tasks not yet woken are counted as failed", async () => {
  const ids = Array.from({ length: 3 }, () => crypto.randomUUID());
  expect(await wake({ ids }, withCalls(2))).toMatchObject({ unknown: 2, failed: 1 });
});

it("POST /v1/wake of a task whose index row could not be written makes the task write the row at once", async () => {
  const id = await register();
  const INDEX_DB = gated(db, fail);
  await restartWith(id, { INDEX_DB });
  for (let tries = 0; tries < 7; tries++) await wakeByAlarm(id);
  await restartWith(id, { INDEX_DB: db });
  pass(60_000);
  expect((await stored(id)).alarm).toBeGreaterThan(Date.now() + DAY_MS);
  await wake({ ids: [id] });
  await until(async () => (await rowsOfTask(id)).length === 1);
  await until(() => isWritten(id));
});

it.each([
  ["neither the field ids nor the field all", {}, "/ids"],
  ["both the field ids and the field all", { ids: [crypto.randomUUID()], all: true }, "/ids"],
  ["the field all set to false", { all: false }, "/all"],
  ["an empty list as the field ids", { ids: [] }, "/ids"],
  [
    "501 ids, one more than allowed, in the field ids",
    { ids: Array.from({ length: 501 }, () => crypto.randomUUID()) },
    "/ids",
  ],
  ["an invalid id in the field ids", { ids: ["x"] }, "/ids/0"],
  [
    "a cursor together with the field ids",
    { ids: [crypto.randomUUID()], cursor: `1_2_${"0".repeat(36)}` },
    "/cursor",
  ],
  ["an invalid cursor", { all: true, cursor: "7" }, "/cursor"],
  ["an unknown field", { all: true, limit: 7 }, "/limit"],
])("POST /v1/wake refuses a body with %s", async (_, body, path) => {
  expect(await refusal(await call("/v1/wake", { body }))).toEqual(invalid(path));
});

it('POST /v1/wake with "all": true answers 501 without an index', async () => {
  const response = await callWith(WITHOUT_INDEX, "/v1/wake", { body: { all: true } });
  expect(await refusal(response)).toEqual({ status: 501, code: "index_disabled" });
});
