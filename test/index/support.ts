import { createScheduledController, runDurableObjectAlarm } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { beforeEach, vi } from "vitest";
import * as z from "zod";
import type { IndexRow } from "../../src/core/views/index-row.ts";
import { app } from "../../src/app.ts";
import worker from "../../src/index.ts";
import { ready } from "../../src/index-db/database.ts";
import { writeRows } from "../../src/index-db/writer.ts";
import { aRequest, call } from "../worker/client.ts";
import { stored, stubOf } from "../worker/objects.ts";

export const HOUR = 3_600_000;
export const DAY = 86_400_000;

export const db = boundIndex();

function boundIndex(): D1Database {
  if (env.INDEX_DB === undefined) throw new Error("these tests need INDEX_DB");
  return env.INDEX_DB;
}

const TABLES = ["tasks", "rollups", "latencies", "accounts"];

export function useEmptyIndex(): void {
  beforeEach(async () => {
    await ready(db);
    await db.batch(TABLES.map((table) => db.prepare(`DELETE FROM ${table}`)));
  });
}

/** A row of a task that is settled and delivered, created now. */
export function aRow(fields: Partial<IndexRow> = {}): IndexRow {
  const createdAt = fields.createdAt ?? Date.now();
  return {
    id: crypto.randomUUID(),
    version: createdAt + 2,
    account: null,
    model: "m",
    provider: null,
    status: "completed",
    callback: "delivered",
    attempts: 1,
    lastOutcome: "delivered",
    lastStatusCode: 200,
    host: "client.example.net",
    createdAt,
    completedAt: createdAt,
    finishedAt: createdAt,
    settledAt: createdAt,
    firstAttemptMs: 0,
    settledMs: 0,
    dueAt: null,
    expiresAt: createdAt + 28 * DAY,
    ...fields,
  };
}

export async function insert(...rows: readonly IndexRow[]): Promise<void> {
  await writeRows(db, rows, Date.now());
}

export type StoredRow = Readonly<Record<string, string | number | null>>;

/** All rows, oldest first. */
export async function allRows(): Promise<readonly StoredRow[]> {
  const { results } = await db
    .prepare("SELECT * FROM tasks ORDER BY created_at, id")
    .all<Record<string, string | number | null>>();
  return results;
}

/** The rows of a task; the index holds one or none. */
export async function rowsOfTask(id: string): Promise<readonly StoredRow[]> {
  return (await allRows()).filter((row) => row["id"] === id);
}

const Published = z.object({
  version: z.int(),
  publication: z.object({ version: z.int() }),
});

/** Whether the object believes that the index knows all of it. */
export async function isPublished(id: string): Promise<boolean> {
  const { version, publication } = Published.parse((await stored(id)).record);
  return version === publication.version;
}

/** Lets the alarm of a task come when it is due. @returns its time. */
export async function wake(id: string): Promise<number> {
  const { alarm } = await stored(id);
  if (alarm === null) throw new Error("the task has no alarm");
  vi.setSystemTime(Math.max(Date.now(), alarm));
  await runDurableObjectAlarm(stubOf(id));
  return alarm;
}

/** Lets alarms come until the task is in the index as it is; its row. */
export async function indexed(id: string): Promise<StoredRow> {
  for (let alarms = 0; alarms < 10 && !(await isPublished(id)); alarms++) await wake(id);
  const [row, ...more] = await rowsOfTask(id);
  if (row === undefined || more.length > 0) throw new Error("expected one row");
  return row;
}

/** The cron trigger, now. */
export async function cron(bindings: object = {}): Promise<void> {
  const scheduledTime = new Date(Date.now());
  await worker.scheduled(createScheduledController({ scheduledTime }), { ...env, ...bindings });
}

/** Through the app of a relay with other bindings. */
export async function callWith(
  bindings: object,
  ...asked: Parameters<typeof aRequest>
): Promise<Response> {
  return app.fetch(aRequest(...asked), { ...env, ...bindings });
}

const Listed = z.object({
  data: z.array(z.looseObject({ id: z.string(), created_at: z.int() })),
  next_cursor: z.string().nullable(),
});

export async function list(query = "", key?: string): Promise<z.output<typeof Listed>> {
  const response = await call(`/v1/tasks${query}`, key === undefined ? {} : { key });
  if (response.status !== 200) throw new Error(await response.text());
  return Listed.parse(await response.json());
}

/** Ids of all pages, in order. @param between is done after each page. */
export async function listAll(
  query: string,
  between: () => Promise<unknown> = async () => undefined,
): Promise<readonly string[]> {
  const ids: string[] = [];
  let cursor: string | null = "";
  for (let pages = 0; cursor !== null; pages++) {
    if (pages > 500) throw new Error("the pages have no end");
    const page: z.output<typeof Listed> = await list(
      cursor === "" ? query : `${query}&cursor=${encodeURIComponent(cursor)}`,
    );
    ids.push(...page.data.map(({ id }) => id));
    cursor = page.next_cursor;
    await between();
  }
  return ids;
}
