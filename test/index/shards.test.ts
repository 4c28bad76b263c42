import { env } from "cloudflare:workers";
import { beforeEach, describe, expect, it } from "vitest";
import * as z from "zod";
import type { IndexRow } from "../../src/core/views/index-row.ts";
import { ready } from "../../src/index-db/database.ts";
import { listShards } from "../../src/index-db/list-shards.ts";
import { ANY_TASK } from "../../src/index-db/list.ts";
import { unsettledTasks } from "../../src/index-db/open-tasks.ts";
import { Shards } from "../../src/index-db/shards.ts";
import { writeRows } from "../../src/index-db/index-row-table.ts";
import type { IndexDatabase } from "../../src/index-db/index-database.ts";
import { anAccount } from "../worker/accounts.ts";
import { post, refusal } from "../worker/client.ts";
import { pass, START } from "../worker/clock.ts";
import { NOTHING, stored } from "../worker/objects.ts";
import { aReceiver } from "../worker/receiver.ts";
import { consumed } from "./consumed.ts";
import { gated, restartWith } from "./bindings.ts";
import {
  aRow,
  callWith,
  cron,
  DAY,
  db,
  finish,
  HOUR,
  isWritten,
  TABLES,
  useIndex,
  wake,
} from "./support.ts";

useIndex();

/** Span of one database: three of 90 hours hold rows of 7 days and tasks open for 3.75 days. */
const SPAN_HOURS = 90;
const SPAN = SPAN_HOURS * HOUR;
const DATABASES = [db, required(env.SHARD_1), required(env.SHARD_2)] as const;
const SHARDS = new Shards(DATABASES, SPAN);
const BINDINGS = {
  INDEX_DB_1: DATABASES[1],
  INDEX_DB_2: DATABASES[2],
  INDEX_SHARD_HOURS: SPAN_HOURS,
};
/** Time at which the present span began. */
const BORDER = START - (START % SPAN);

const fail = () => Promise.reject(new Error("D1 is full"));

function required(bound: IndexDatabase | undefined): IndexDatabase {
  if (bound === undefined) throw new Error("these tests need three databases");
  return bound;
}

beforeEach(async () => {
  for (const each of DATABASES) {
    await ready(each);
    await each.batch(TABLES.map((table) => each.prepare(`DELETE FROM ${table}`)));
  }
});

/** Writes a row to the database for its creation time. */
async function write(
  fields: Partial<IndexRow> & { readonly createdAt: number },
): Promise<IndexRow> {
  const row = aRow({ expiresAt: START + DAY, ...fields });
  await writeRows(SHARDS.at(row.createdAt), [row], Date.now());
  return row;
}

/** Returns the ids in each database. */
async function ids(): Promise<readonly (readonly unknown[])[]> {
  const read = DATABASES.map(async (each) => {
    const { results } = await each.prepare("SELECT id FROM index_rows ORDER BY 1").all();
    return results.map(({ id }) => id);
  });
  return Promise.all(read);
}

const Page = z.looseObject({
  data: z.array(z.looseObject({ id: z.string() })),
  next_cursor: z.string().nullable(),
});

/** Returns the ids of all pages of a list, and the number of pages. */
async function listed(query: string, bindings: object = BINDINGS) {
  const found: string[] = [];
  let cursor: string | null = null;
  let pages = 0;
  do {
    const next: string = cursor === null ? "" : `&cursor=${cursor}`;
    const response = await callWith(bindings, `/v1/tasks?${query}${next}`);
    const page: z.output<typeof Page> = Page.parse(await response.json());
    found.push(...page.data.map(({ id }) => id));
    cursor = page.next_cursor;
    pages += 1;
  } while (cursor !== null && pages < 50);
  return { found, pages };
}

/** Writes rows of six spans of time, two for each database. @returns the rows, newest first. */
async function rowsOfSixSpans(): Promise<readonly IndexRow[]> {
  const times = [0, 1, 2, 3, 4, 5].flatMap((span) => [
    BORDER - span * SPAN + 1,
    BORDER - span * SPAN,
    BORDER - span * SPAN - 1,
  ]);
  const rows: IndexRow[] = [];
  for (const createdAt of times) rows.push(await write({ createdAt, host: `h${createdAt % 2}` }));
  return rows;
}

describe("an index of three databases", () => {
  it("GET /v1/tasks lists tasks of several index databases newest first, whatever the size of a page", async () => {
    const rows = await rowsOfSixSpans();
    expect((await ids()).every((each) => each.length === 6)).toBe(true);
    const all = rows.map(({ id }) => id);
    for (const limit of [1, 2, 3, 5, 50]) {
      expect((await listed(`limit=${limit}`)).found).toEqual(all);
    }
    const [since, until] = [(BORDER - 4 * SPAN) / 1000, BORDER / 1000];
    const inside = rows.filter(
      (row) => row.createdAt >= since * 1000 && row.createdAt < until * 1000,
    );
    expect((await listed(`since=${since}&until=${until}&limit=2`)).found).toEqual(
      inside.map(({ id }) => id),
    );
    const even = rows.filter(({ host }) => host === "h0").map(({ id }) => id);
    expect((await listed("host=h0&limit=4")).found).toEqual(even);
  });

  it("when the index has several databases, GET /v1/tasks reads only the databases that have tasks of the page", async () => {
    await rowsOfSixSpans();
    const asked = new Set<IndexDatabase>();
    const counting = DATABASES.map((each) => gated(each, async () => asked.add(each)));
    const [INDEX_DB, INDEX_DB_1, INDEX_DB_2] = counting;
    const bindings = { ...BINDINGS, INDEX_DB, INDEX_DB_1, INDEX_DB_2 };
    const response = await callWith(bindings, "/v1/tasks?limit=2");
    expect(Page.parse(await response.json()).data).toHaveLength(2);
    expect(asked.size).toBe(1);
  });

  it("when the index has a database for each time span, GET /v1/tasks reads at most four spans for a page, and the next page begins with the fifth", async () => {
    const many = new Shards([...DATABASES, ...DATABASES], SPAN);
    const row = await write({ createdAt: BORDER - 5 * SPAN });
    const first = await listShards(many, ANY_TASK, null, 5, START);
    expect(first).toMatchObject({ tasks: [], next: { createdAt: BORDER - 3 * SPAN } });
    const second = await listShards(many, ANY_TASK, first.next, 1, START);
    expect(second.tasks).toMatchObject([{ id: row.id }]);
  });

  it("when the index has several databases, a task writes its row to the one for its creation time, and the row is removed there when the task is erased", async () => {
    aReceiver();
    const id = crypto.randomUUID();
    await restartWith(id, BINDINGS);
    const created_at = Math.floor((BORDER - SPAN) / 1000);
    await finish(id, { model: "m", created_at });
    while (!(await isWritten(id))) await wake(id);
    const at = DATABASES.indexOf(SHARDS.at(created_at * 1000));
    expect((await ids())[at]).toEqual([id]);
    expect((await ids()).flat()).toEqual([id]);
    const response = await callWith(BINDINGS, `/v1/tasks/${id}`, { method: "DELETE" });
    expect(response.status).toBe(204);
    expect((await ids()).flat()).toEqual([]);
  });

  it("the consumer of INDEX_QUEUE writes each row to the index database for its task's creation time, and retries only the rows for a database that fails", async () => {
    const rows = [0, 1, 2].map((span) => aRow({ createdAt: BORDER - span * SPAN + 1 }));
    const broken = SHARDS.at(BORDER - SPAN + 1);
    const names = ["INDEX_DB", "INDEX_DB_1", "INDEX_DB_2"];
    const name = names[DATABASES.indexOf(broken)] ?? "";
    const result = await consumed(rows, { ...BINDINGS, [name]: gated(broken, fail) });
    expect(result).toMatchObject({ acked: ["0", "2"], retried: ["1"] });
    expect(new Set((await ids()).flat())).toEqual(new Set([rows[0]?.id, rows[2]?.id]));
  });

  it("GET /v1/stats and GET /metrics sum over several index databases", async () => {
    for (const row of [START - HOUR, BORDER - SPAN + 1, BORDER - 1])
      await write({ createdAt: row });
    await write({ createdAt: BORDER - SPAN + 2, dueAt: START - HOUR, expiresAt: null });
    await cron({ ...BINDINGS, PAUSED: "true" });
    const since = Math.floor((BORDER - SPAN) / 1000);
    const response = await callWith(BINDINGS, `/v1/stats?since=${since}`);
    expect(await response.json()).toMatchObject({
      tasks: { total: 4 },
      callbacks: { delivered: 4 },
      backlog: { tasks: 1 },
      index: { overdue: { tasks: 1, oldest_age_ms: HOUR } },
    });
    const metrics = await (await callWith(BINDINGS, "/metrics")).text();
    expect(metrics).toContain("task_relay_overdue_tasks 1");
  });

  it("the cron removes expired rows from several index databases, and moves the row of an open task that is in a wrong one to the one for the task's creation time", async () => {
    for (const span of [0, 1, 2]) {
      const createdAt = BORDER - (3 + span) * SPAN;
      await write({ createdAt, expiresAt: START + 1 });
    }
    const id = crypto.randomUUID();
    await restartWith(id, BINDINGS);
    await post("/v1/tasks", { id, model: "m" });
    const own = SHARDS.at(START);
    const other = SHARDS.at(START + SPAN);
    const gone = { createdAt: START, expiresAt: null, dueAt: START, version: 1 };
    await writeRows(other, [aRow({ id, ...gone })], START);
    pass(600_001);
    await cron(BINDINGS);
    for (let alarms = 0; alarms < 3 && (await ids()).flat().length !== 1; alarms++) await wake(id);
    expect((await ids()).map((each) => each.length)).toEqual(
      DATABASES.map((each) => (each === own ? 1 : 0)),
    );
  });

  it("DELETE /v1/accounts/{account} answers 409 when any one of several index databases has the row of an open task of the account", async () => {
    for (const span of [0, 1, 2]) {
      const account = await anAccount();
      const open = { status: "pending", dueAt: START + DAY, expiresAt: null } as const;
      await write({ createdAt: BORDER - span * SPAN, account, ...open });
      const response = await callWith(BINDINGS, `/v1/accounts/${account}`, { method: "DELETE" });
      expect(await refusal(response)).toEqual({ status: 409, code: "task_open" });
    }
  });

  it("when the index has several databases, POST /v1/wake finds the due tasks in all of them, and wakes them in the order of their due times", async () => {
    for (const span of [0, 1, 2]) {
      const createdAt = BORDER - span * SPAN;
      await write({ createdAt, dueAt: START + span, expiresAt: null });
    }
    const first = { createdAt: 0, dueAt: START, id: "f" };
    const due = async (limit: number) =>
      (await unsettledTasks(SHARDS, first, limit)).map(({ dueAt }) => dueAt - START);
    expect([await due(2), await due(5)]).toEqual([
      [0, 1],
      [0, 1, 2],
    ]);
    const response = await callWith(BINDINGS, "/v1/wake", { body: { all: true } });
    expect(await response.json()).toEqual({ woken: 0, unknown: 3, failed: 0, next_cursor: null });
  });

  it("when the index has several databases, a bulk redelivery finds the tasks in all of them", async () => {
    const rows = await rowsOfSixSpans();
    const headers = { "Idempotency-Key": "run" };
    const asked = { method: "POST", headers };
    const response = await callWith(BINDINGS, "/v1/redeliveries?limit=500", asked);
    const counts = { matched: rows.length, started: 0, skipped: rows.length };
    expect(await response.json()).toMatchObject({ ...counts, next_cursor: null });
    expect(await stored(rows[0]?.id ?? "")).toEqual(NOTHING);
  });
});
