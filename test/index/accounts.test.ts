import { env } from "cloudflare:workers";
import { expect, it } from "vitest";
import { ready } from "../../src/index-db/database.ts";
import { writeRows } from "../../src/index-db/index-row-table.ts";
import { aKey, anAccount } from "../worker/accounts.ts";
import { call, invalid, refusal } from "../worker/client.ts";
import { START, START_S } from "../worker/clock.ts";
import { answerOf, aRow, DAY, insert, TABLES, useIndex } from "./support.ts";

useIndex();

it("GET /v1/accounts lists each account once, in the order of their ids", async () => {
  const ids = ["c", "a", "b", "d"].map((name) => `${name}-${crypto.randomUUID()}`);
  for (const id of [...ids, ...ids]) await call("/v1/accounts", { body: { id } });
  const sorted = ids.toSorted();
  const first = await (await call("/v1/accounts?limit=3")).json();
  expect(first).toEqual({
    data: sorted.slice(0, 3).map((id) => ({ id, created_at: START_S })),
    next_cursor: sorted[2],
  });
  const second = await (await call(`/v1/accounts?limit=3&cursor=${sorted[2]}`)).json();
  expect(second).toEqual({ data: [{ id: sorted[3], created_at: START_S }], next_cursor: null });
});

const WEEK_S = 7 * 86_400;

it("GET /v1/accounts/{account}/stats counts by default the account's tasks of the last 7 days, both with an operator key and with a key of the account", async () => {
  const account = await anAccount();
  const { key } = await aKey(account);
  await insert(
    aRow({ account }),
    aRow({ account, createdAt: START - 60_000, callback: "failed", attempts: 3 }),
    aRow({ account, status: "failed", category: "timeout", callback: null, attempts: 0 }),
    aRow({ account, createdAt: START - 8 * DAY }),
    aRow({ account: "other" }),
  );
  const expected = {
    since: START_S + 1 - WEEK_S,
    until: START_S + 1,
    oldest_at: START_S - 60,
    is_capped: false,
    tasks: {
      total: 3,
      pending: 0,
      processing: 0,
      completed: 2,
      failed: 1,
      failures: { timeout: 1 },
    },
    callbacks: {
      waiting: 0,
      sending: 0,
      retrying: 0,
      paused: 0,
      delivered: 1,
      failed: 1,
      attempts: 4,
      success_rate: 0.5,
    },
  };
  const path = `/v1/accounts/${account}/stats`;
  for (const sent of [{}, { key }]) {
    expect(await (await call(path, sent)).json()).toEqual(expected);
  }
  const narrow = await call(`${path}?since=${START_S}`);
  expect(await narrow.json()).toMatchObject({ tasks: { total: 2 } });
  expect(await refusal(await call("/v1/accounts/other/stats", { key }))).toMatchObject({
    status: 404,
  });
  expect(await refusal(await call(`${path}?since=5&until=5`))).toEqual(invalid("/since"));
});

it("GET /v1/accounts/{account}/stats counts at most 10,000 tasks, in all databases of the index together, and says when there are more", async () => {
  const { SHARD_1: second } = env;
  if (second === undefined) throw new Error("this test needs two databases");
  await ready(second);
  await second.batch(TABLES.map((table) => second.prepare(`DELETE FROM ${table}`)));
  const rows = Array.from({ length: 5_001 }, (_, n) =>
    aRow({ account: "a", createdAt: START - n }),
  );
  await insert(...rows);
  for (const part of [rows.slice(0, 2_500), rows.slice(2_500)])
    await writeRows(second, part, START);
  const bindings = { INDEX_DB_1: second, INDEX_SHARD_HOURS: 750 };
  expect(await answerOf("/v1/accounts/a/stats", bindings)).toMatchObject({
    tasks: { total: 10_000 },
    is_capped: true,
  });
});
