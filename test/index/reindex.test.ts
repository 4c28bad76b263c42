import { expect, it } from "vitest";
import { aCharged, anAccount } from "../worker/accounts.ts";
import { call, invalid, post, refusal } from "../worker/client.ts";
import { pass, until } from "../worker/clock.ts";
import { NOTHING, stored, stubOf } from "../worker/objects.ts";
import { aReceiver, status } from "../worker/receiver.ts";
import { completed, register } from "../worker/tasks.ts";
import { callWith, allRows, db, indexed, isWritten, useIndex, indexedTask } from "./support.ts";

useIndex();

const withoutTime = async () => (await allRows()).map((row) => ({ ...row, indexed_at: null }));

async function oneOfEachKind(): Promise<readonly string[]> {
  aReceiver(status(200), status(500));
  const account = await anAccount(5);
  const ids = [
    await completed(),
    await completed({ account }),
    await completed({ callback_url: null }),
    await register(),
    await aCharged(account, 5),
  ];
  const processing = await register();
  await post("/v1/events", { id: processing, status: "processing" });
  return [...ids, processing];
}

it("when all index rows were lost, POST /v1/reindex with the ids of the tasks makes each task write the same row again", async () => {
  const ids = await oneOfEachKind();
  for (const id of ids) await indexed(id);
  pass(60_000);
  const before = await withoutTime();
  expect(before).toHaveLength(ids.length);
  await db.prepare("DELETE FROM index_rows").run();
  const response = await call("/v1/reindex", { body: { ids } });
  expect(await response.json()).toEqual({ indexed: ids.length, unknown: 0, failed: 0 });
  await until(async () => (await allRows()).length === ids.length);
  expect(await withoutTime()).toEqual(before);
  for (const id of ids) await until(() => isWritten(id));
});

it("POST /v1/reindex of a task whose index row is correct changes neither the task nor the row", async () => {
  aReceiver();
  const id = await indexedTask();
  const [rows, before] = [await allRows(), await call(`/v1/tasks/${id}`)];
  pass(5000);
  await call("/v1/reindex", { body: { ids: [id, id] } });
  await indexed(id);
  expect(await allRows()).toEqual(rows);
  const after = await call(`/v1/tasks/${id}`);
  expect(after.headers.get("ETag")).toBe(before.headers.get("ETag"));
  expect(await after.text()).toBe(await before.text());
});

it("POST /v1/reindex accepts 500 task ids, in upper or lower case, and creates no task for an unknown id", async () => {
  const [id, unknown] = [await register(), crypto.randomUUID()];
  const others = Array.from({ length: 498 }, () => crypto.randomUUID());
  const ids = [id.toUpperCase(), unknown, ...others];
  // Hundreds of real objects take seconds.
  const none = { rewriteIndexRow: async () => null };
  const getByName = (asked: string) => (others.includes(asked) ? none : stubOf(asked));
  const response = await callWith({ TASKS: { getByName } }, "/v1/reindex", { body: { ids } });
  expect(await response.json()).toEqual({ indexed: 1, unknown: 499, failed: 0 });
  expect(await stored(unknown)).toEqual(NOTHING);
});

it.each([
  ["a body without the field ids", {}, "/ids"],
  ["an empty list of ids", { ids: [] }, "/ids"],
  [
    "a list of 501 ids, one more than allowed",
    { ids: Array.from({ length: 501 }, () => crypto.randomUUID()) },
    "/ids",
  ],
  ["a list with an invalid id", { ids: [crypto.randomUUID(), "x"] }, "/ids/1"],
  ["a body with an unknown field", { ids: [crypto.randomUUID()], all: true }, "/all"],
])("POST /v1/reindex refuses %s", async (_, body, path) => {
  expect(await refusal(await call("/v1/reindex", { body }))).toEqual(invalid(path));
});

it("POST /v1/reindex answers 501 without an index", async () => {
  const body = { ids: [crypto.randomUUID()] };
  const response = await callWith({ INDEX_DB: undefined }, "/v1/reindex", { body });
  expect(await refusal(response)).toEqual({ status: 501, code: "index_disabled" });
});
