import { runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { beforeEach, vi } from "vitest";
import * as z from "zod";
import type { IndexRow } from "../../src/core/views/index-row.ts";
import { runScheduled } from "../../src/cron/cron.ts";
import { started } from "../worker/started.ts";
import { ready } from "../../src/index-db/database.ts";
import type { IndexDatabase } from "../../src/index-db/index-database.ts";
import { writeRows } from "../../src/index-db/index-row-table.ts";
import { answerTo, aRequest, call, post } from "../worker/client.ts";
import { useClock } from "../worker/clock.ts";
import { OBJECT_INDEX } from "../worker/object-index.ts";
import { evict, untilIdle, stored, stubOf } from "../worker/objects.ts";
import { aCompletion, completed } from "../worker/tasks.ts";
import { useBindings } from "./bindings.ts";

export const HOUR = 3_600_000;
export const DAY = 86_400_000;

/** The index of the project: in D1 or, in the project `index-object`, in an object. */
export const db: IndexDatabase = boundIndex();

function boundIndex(): IndexDatabase {
  const bound = env.INDEX_DB ?? OBJECT_INDEX;
  if (bound === null) throw new Error("these tests need an index");
  return bound;
}

export const TABLES = [
  "index_rows",
  "erased",
  "expiry_checks",
  "expiry_searches",
  "counts",
  "hours_to_count",
  "step_counts",
  "totals",
  "listed_accounts",
];

/** Statements of a count, in the SQL of a batch: those that store a part of an hour, and those that store the hour. */
export const STORES_PART = /INTO counts(?!.*INTO totals)/s;
export const STORES_HOUR = /INTO counts.*INTO totals/s;

/** Gives each test a clock that stands still, an empty index, and bindings of its own. */
export function useIndex(): void {
  useClock();
  useBindings();
  beforeEach(async () => {
    await ready(db);
    await db.batch(TABLES.map((table) => db.prepare(`DELETE FROM ${table}`)));
  });
}

/** Returns the row of a task that was created, settled and delivered now. */
export function aRow(fields: Partial<IndexRow> = {}): IndexRow {
  const createdAt = fields.createdAt ?? Date.now();
  return {
    id: crypto.randomUUID(),
    version: createdAt + 2,
    account: null,
    model: "m",
    refusal: null,
    provider: null,
    job: null,
    status: "completed",
    category: null,
    submission: null,
    keptOutputs: 0,
    keptBytes: 0,
    lostOutputs: 0,
    copyingOutputs: 0,
    callback: "delivered",
    attempts: 1,
    outcomes: { delivered: 1 },
    lastOutcome: "delivered",
    lastStatusCode: 200,
    host: "client.example.net",
    createdAt,
    completedAt: createdAt,
    finishedAt: createdAt,
    foundBy: null,
    foundLateMs: null,
    refunded: 0,
    creditsHeld: 0,
    creditsEarned: 0,
    creditsReleased: 0,
    creditsRefunded: 0,
    settledAt: createdAt,
    firstAttemptMs: 0,
    settledMs: 0,
    dueAt: null,
    expiresAt: createdAt + 28 * DAY,
    ...fields,
  };
}

/** Callbacks of a row: not tried yet, waiting for the second attempt, and failed. */
export const UNTRIED = { callback: "waiting", attempts: 0, outcomes: {} } as const;
export const RETRYING = { callback: "retrying", attempts: 2, outcomes: { rejected: 1 } } as const;
export const UNANSWERED = { callback: "failed", attempts: 3, outcomes: { timeout: 3 } } as const;

/** Writes rows as the relay does, in batches that D1 accepts. */
export async function insert(...rows: readonly IndexRow[]): Promise<void> {
  for (let from = 0; from < rows.length; from += 2500)
    await writeRows(db, rows.slice(from, from + 2500), Date.now());
}

export type StoredRow = Readonly<Record<string, string | number | null>>;

/** Returns all rows, oldest first. */
export async function allRows(): Promise<readonly StoredRow[]> {
  const { results } = await db
    .prepare("SELECT * FROM index_rows ORDER BY created_at, id")
    .all<Record<string, string | number | null>>();
  return results;
}

/** Returns the rows of a task, of which there is one or none. */
export async function rowsOfTask(id: string): Promise<readonly StoredRow[]> {
  return (await allRows()).filter((row) => row["id"] === id);
}

const Versioned = z.object({ version: z.int() });

/** Tells whether the index contains the present state of a task. */
export async function isWritten(id: string): Promise<boolean> {
  const { version } = Versioned.parse((await stored(id)).record);
  const [row] = await rowsOfTask(id);
  return row?.["version"] === version;
}

/** Moves the clock to the alarm of a task and runs it. @returns the time of the alarm. */
export async function wake(id: string): Promise<number> {
  const { alarm } = await stored(id);
  if (alarm === null) throw new Error("the task has no alarm");
  vi.setSystemTime(Math.max(Date.now(), alarm));
  await runDurableObjectAlarm(stubOf(id));
  return alarm;
}

/** Removes the alarm of a task, as happens when a quota of the platform lasts longer than its retries. */
export async function loseAlarm(id: string): Promise<void> {
  await runInDurableObject(stubOf(id), (_, { storage }) => storage.deleteAlarm());
  await evict(id);
}

/** Runs alarms until the index contains the present state of the task. @returns its row. */
export async function indexed(id: string): Promise<StoredRow> {
  for (let alarms = 0; alarms < 10 && !(await isWritten(id)); alarms++) await wake(id);
  const [row, ...more] = await rowsOfTask(id);
  if (row === undefined || more.length > 0) throw new Error("expected one row");
  return row;
}

/** Runs the cron trigger now. */
export async function cron(bindings: object = {}): Promise<void> {
  await runScheduled(await started({ ...env, ...bindings }), Date.now());
}

const Line = z.looseObject({ event: z.string() });

/** Keeps the lines of the log. @returns a function that returns all of them, or those of one event. */
export function logLines(level: "log" | "warn" = "log") {
  const written = vi.spyOn(console, level).mockImplementation(() => undefined);
  return (event?: string) =>
    written.mock.calls
      .map(([line]) => Line.parse(JSON.parse(String(line))))
      .filter((line) => event === undefined || line.event === event);
}

/** Sends a request to a relay with other bindings. */
export async function callWith(
  bindings: object,
  ...asked: Parameters<typeof aRequest>
): Promise<Response> {
  return answerTo(aRequest(...asked), { ...env, ...bindings });
}

/** Returns the answer of a relay with other bindings, without answers kept in memory. */
export async function answerOf(
  path: string,
  bindings: object = {},
): Promise<Record<string, unknown>> {
  const response = await callWith(bindings, path);
  if (response.status !== 200) throw new Error(await response.text());
  return response.json();
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

/** Returns the ids of all pages, in order. @param between runs after each page. */
export async function listAll(
  query: string,
  between: () => Promise<unknown> = async () => undefined,
): Promise<readonly string[]> {
  const ids: string[] = [];
  let cursor: string | null = "";
  for (let pages = 0; cursor !== null; pages++) {
    if (pages > 500) throw new Error("there are more than 500 pages");
    const page: z.output<typeof Listed> = await list(
      cursor === "" ? query : `${query}&cursor=${encodeURIComponent(cursor)}`,
    );
    ids.push(...page.data.map(({ id }) => id));
    cursor = page.next_cursor;
    await between();
  }
  return ids;
}

/** Completes a task and waits until its first callback attempt has ended. */
export async function finish(id: string, fields: object = {}): Promise<void> {
  await post("/v1/events", aCompletion(id, fields));
  await untilIdle(id);
}

/** Completes a new task and writes its row to the index. @returns its id. */
export async function indexedTask(fields: object = {}): Promise<string> {
  const id = await completed(fields);
  await indexed(id);
  return id;
}
