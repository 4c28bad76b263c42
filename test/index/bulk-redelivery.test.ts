import { env } from "cloudflare:workers";
import { expect, it } from "vitest";
import * as z from "zod";
import { aKey, anAccount } from "../worker/accounts.ts";
import { call, invalid, refusal } from "../worker/client.ts";
import { pass } from "../worker/clock.ts";
import { untilIdle, stored, NOTHING } from "../worker/objects.ts";
import type { Sent } from "../worker/outside.ts";
import { aReceiver, status } from "../worker/receiver.ts";
import { CALLBACK_URL, completed, register } from "../worker/tasks.ts";
import { aRow, callWith, insert, useIndex, indexedTask } from "./support.ts";

useIndex();

const Answer = z.strictObject({
  matched: z.int(),
  started: z.int(),
  skipped: z.int(),
  skipped_because: z.record(z.string(), z.int()),
  next_cursor: z.string().nullable(),
});

const order = (query: string, key: string | null, account?: string, body?: object) =>
  call(`/v1/redeliveries${query}`, {
    method: "POST",
    body,
    ...(account !== undefined && { key: account }),
    ...(key !== null && { headers: { "Idempotency-Key": key } }),
  });

async function redelivered(query: string, key: string | null, account?: string) {
  const response = await order(query, key, account);
  if (response.status !== 200) throw new Error(await response.text());
  return Answer.parse(await response.json());
}

/** Creates settled tasks in the index, the oldest first. */
async function settledTasks(count: number, fields: object = {}): Promise<readonly string[]> {
  const ids: string[] = [];
  for (let n = 0; n < count; n++) {
    const id = await indexedTask(fields);
    ids.push(id);
    pass(1);
  }
  return ids;
}

/** Waits until no callback is being sent. @returns how often the callback of each task was sent. */
async function timesSent(received: readonly Sent[], ids: readonly string[]) {
  for (const id of ids) await untilIdle(id);
  return ids.map((id) => received.filter(({ headers }) => headers["x-task-id"] === id).length);
}

const onePage = (matched: number, started: number, skipped_because = {}) => ({
  matched,
  started,
  skipped: Object.values<number>(skipped_because).reduce((sum, count) => sum + count, 0),
  skipped_because,
  next_cursor: null,
});

const apply = () => Promise.reject(new Error("Network connection lost."));

it("a bulk redelivery with ?callback=delivered sends each task's callback once more, although it was delivered before", async () => {
  const received = aReceiver(status(200));
  const ids = await settledTasks(3);
  expect(await redelivered("?callback=delivered", "again")).toEqual(onePage(3, 3));
  expect(await timesSent(received, ids)).toEqual([2, 2, 2]);
});

it("a bulk redelivery that was interrupted and is ordered again with the same Idempotency-Key sends no callback twice", async () => {
  const received = aReceiver(status(200));
  const ids = await settledTasks(5);
  const first = await redelivered("?limit=2", "run");
  expect(first).toMatchObject({ matched: 2, started: 2 });
  // The order is interrupted here, and given again with the same key.
  for (let run = 0; run < 2; run++) {
    let cursor: string | null = null;
    do {
      const query: string = cursor === null ? "" : `&cursor=${cursor}`;
      const page: z.output<typeof Answer> = await redelivered(`?limit=2${query}`, "run");
      cursor = page.next_cursor;
    } while (cursor !== null);
    expect(await timesSent(received, ids)).toEqual([2, 2, 2, 2, 2]);
  }
  await redelivered("", "another run");
  expect(await timesSent(received, ids)).toEqual([3, 3, 3, 3, 3]);
});

it("a bulk redelivery repeated with the same Idempotency-Key sends no callback twice, even if tasks were redelivered one by one in between", async () => {
  const received = aReceiver(status(200));
  const ids = await settledTasks(6);
  expect(await redelivered("", "run-1")).toEqual(onePage(6, 6));
  await timesSent(received, ids);
  const single = { method: "POST", headers: { "Idempotency-Key": "single" } };
  for (const id of ids.slice(0, 5)) {
    expect((await call(`/v1/tasks/${id}/redeliver`, single)).status).toBe(202);
  }
  expect(await timesSent(received, ids)).toEqual([3, 3, 3, 3, 3, 2]);
  expect(await redelivered("", "run-1")).toEqual(onePage(6, 0, { already_ordered: 6 }));
  expect(await timesSent(received, ids)).toEqual([3, 3, 3, 3, 3, 2]);
});

it("a bulk redelivery skips a task whose callback was sent to another URL with the same Idempotency-Key before, and its answer gives the reason", async () => {
  const received = aReceiver(status(200));
  const ids = await settledTasks(2);
  const headers = { "Idempotency-Key": "run" };
  const body = { callback_url: "https://repaired.example.net/hook" };
  const single = await call(`/v1/tasks/${ids[0]}/redeliver`, { body, headers });
  expect(single.status).toBe(202);
  expect(await timesSent(received, ids)).toEqual([2, 1]);
  expect(await redelivered("", "run")).toEqual(onePage(2, 1, { idempotency_key_reused: 1 }));
  expect(await timesSent(received, ids)).toEqual([2, 2]);
});

it("two simultaneous requests for the same bulk redelivery with one Idempotency-Key send each callback only once", async () => {
  const received = aReceiver(status(200));
  const ids = await settledTasks(3);
  const answers = await Promise.all([redelivered("", "run"), redelivered("", "run")]);
  expect(await timesSent(received, ids)).toEqual([2, 2, 2]);
  expect(answers.reduce((sum, { started }) => sum + started, 0)).toBe(3);
});

it("a bulk redelivery skips tasks that are open, have no callback, are erased, or have a callback that is being sent", async () => {
  const received = aReceiver(status(500));
  const open = await register();
  const sending = await completed();
  const silent = await completed({ callback_url: null });
  const gone = crypto.randomUUID();
  await insert(...[open, sending, silent, gone].map((id) => aRow({ id, callback: "failed" })));
  const before = await stored(sending);
  expect(await redelivered("?callback=failed", "run")).toEqual(
    onePage(4, 0, { task_open: 1, series_running: 1, no_callback: 1, unknown_task: 1 }),
  );
  expect(received).toHaveLength(1);
  expect(await stored(sending)).toEqual(before);
  expect(await stored(gone)).toEqual(NOTHING);
});

it("a bulk redelivery with ?dry_run=true only counts the tasks, sends nothing and needs no Idempotency-Key", async () => {
  const received = aReceiver(status(200));
  const ids = await settledTasks(2);
  const before = await Promise.all(ids.map((id) => stored(id)));
  const callbacks = ["waiting", "sending", "retrying", null] as const;
  await insert(...callbacks.map((callback) => aRow({ callback })));
  const because = { task_open: 1, series_running: 2, no_callback: 1 };
  for (const key of [null, "run"]) {
    expect(await redelivered("?dry_run=true", key)).toEqual(onePage(6, 0, because));
  }
  expect(received).toHaveLength(2);
  expect(await Promise.all(ids.map((id) => stored(id)))).toEqual(before);
});

it("a bulk redelivery ordered with an account key sends callbacks only of tasks of this account", async () => {
  const received = aReceiver(status(200));
  const [own, other] = [await anAccount(), await anAccount()];
  const { key } = await aKey(own);
  const [mine, foreign] = [
    await settledTasks(1, { account: own }),
    await settledTasks(1, { account: other }),
  ];
  expect(await redelivered("", "run", key)).toMatchObject({ matched: 1, started: 1 });
  expect(await timesSent(received, [...mine, ...foreign])).toEqual([2, 1]);
  // Also when the index names the wrong account.
  await insert(...foreign.map((id) => aRow({ id, account: own })));
  expect(await redelivered("", "again", key)).toMatchObject({ matched: 2, started: 1 });
  expect(await timesSent(received, foreign)).toEqual([1]);
});

it("a bulk redelivery skips a task redelivered with the same Idempotency-Key only if the same caller has ordered that; all operator keys are one caller", async () => {
  const received = aReceiver(status(200));
  const account = await anAccount();
  const { key } = await aKey(account);
  const ids = await settledTasks(2, { account });
  const ordered = { key, headers: { "Idempotency-Key": "outage-1" }, body: {} };
  expect((await call(`/v1/tasks/${ids[0]}/redeliver`, ordered)).status).toBe(202);
  expect(await timesSent(received, ids)).toEqual([2, 1]);
  const operator = "test-only-operator-key";
  const older = "test-only-older-operator-key";
  for (const [bearer, times] of [
    [operator, [3, 2]],
    [key, [3, 3]],
    [older, [3, 3]],
    [key, [3, 3]],
  ] as const) {
    await redelivered("", "outage-1", bearer);
    expect(await timesSent(received, ids)).toEqual(times);
  }
});

it("one request for a bulk redelivery covers at most 100 tasks by default, and at most as many as its parameter limit says", async () => {
  await insert(...Array.from({ length: 501 }, () => aRow()));
  expect(await redelivered("?dry_run=true", null)).toMatchObject({ matched: 100 });
  expect(await redelivered("?dry_run=true&limit=500", null)).toMatchObject({
    matched: 500,
    next_cursor: expect.any(String),
  });
  expect(await redelivered("?dry_run=true&limit=10000", null)).toEqual(onePage(501, 0));
  const gone = await redelivered("?limit=150", "run");
  expect(gone).toMatchObject({ matched: 150, started: 0, skipped_because: { unknown_task: 150 } });
});

it.each([
  ["it has no Idempotency-Key", "", null, "/Idempotency-Key"],
  ["its limit is 501 tasks, one more than allowed without dry_run", "?limit=501", "k", "/limit"],
  ["it has an unknown filter", "?state=failed", "k", "/state"],
  ["its value of dry_run is invalid", "?dry_run=yes", "k", "/dry_run"],
  ["its cursor is invalid", "?cursor=1", "k", "/cursor"],
  ["its filters are in the body", "", "k", "/callback", { callback: "failed" }],
])(
  "a bulk redelivery is refused with 400, and the answer names the faulty field, when %s",
  async (_, query, key, path, body?: object) => {
    expect(await refusal(await order(query, key, undefined, body))).toEqual(invalid(path));
  },
);

it("a bulk redelivery that failed because one task's Durable Object was unreachable sends, when it is repeated, only the callbacks not sent before", async () => {
  const received = aReceiver(status(200));
  const ids = await settledTasks(4);
  const lost = ids[2] ?? "";
  const getByName = (name: string) => (name === lost ? { apply } : env.TASKS.getByName(name));
  const headers = { "Idempotency-Key": "run" };
  const asked = { method: "POST", headers };
  const response = await callWith({ TASKS: { getByName } }, "/v1/redeliveries", asked);
  expect(await refusal(response)).toEqual({ status: 503, code: "unavailable" });
  await redelivered("", "run");
  expect(await timesSent(received, ids)).toEqual([2, 2, 2, 2]);
  expect(received.every(({ url }) => url === CALLBACK_URL)).toBe(true);
});
