import { HOUR_MS } from "../core/time.ts";
import { fromBase64, toBase64, toHex, bytesOf, fromHex } from "../security/encoding.ts";
import type { TimeBudget } from "../lib/time-budget.ts";
import { ready, READY_QUERIES } from "./database.ts";
import type { IndexDatabase, IndexStatement } from "./index-database.ts";

/**
 * Time in milliseconds from the end of a task's retention to the check whether the task is erased. The alarm that
 * erases the task may be late by up to this time.
 */
const MARGIN_MS = HOUR_MS;
const ID_BYTES = 16;
/** Largest number of queries that check the tasks of one plan (`planCheck`). */
const CHECK_QUERIES = 3;

const PLAN = "INSERT INTO expiry_checks (check_at, batch, ids) VALUES (?, ?, ?)";
const NEXT = `
  SELECT check_at AS checkAt, batch, ids FROM expiry_checks
  WHERE check_at <= ? ORDER BY check_at, batch LIMIT 1`;
const END = "DELETE FROM expiry_checks WHERE check_at = ? AND batch = ?";

interface PlannedCheck {
  readonly checkAt: number;
  readonly batch: string;
  readonly ids: string;
}

/**
 * Returns the SQL statements that plan a check whether the Durable Objects of these tasks have erased them; an empty
 * list when there are no ids. The plan is one row with the ids of up to thousands of tasks. It is needed because a task
 * may be stored in its object for weeks after its row has left the index.
 * @param endsAt latest end of the retention of these tasks, in Unix milliseconds.
 */
export function planCheck(
  database: IndexDatabase,
  ids: readonly string[],
  endsAt: number,
): readonly IndexStatement[] {
  if (ids.length === 0) return [];
  return [database.prepare(PLAN).bind(endsAt + MARGIN_MS, crypto.randomUUID(), packIds(ids))];
}

/**
 * Checks whether expired tasks are erased, for all checks that are planned for `now` (Unix milliseconds) or earlier.
 * @param check function that checks tasks and returns the ids of those that it could not reach; these are checked again
 * after `MARGIN_MS`.
 * @returns false when the budget was too small to look for planned checks.
 */
export async function runChecks(
  db: IndexDatabase,
  now: number,
  budget: TimeBudget,
  check: (ids: readonly string[]) => Promise<readonly string[]>,
): Promise<boolean> {
  if (!budget.take(READY_QUERIES + CHECK_QUERIES)) return false;
  const database = await ready(db);
  do {
    const due = await database.prepare(NEXT).bind(now).first<PlannedCheck>();
    if (due === null) return true;
    const unchecked = await check(unpackIds(due.ids));
    await database.batch([
      database.prepare(END).bind(due.checkAt, due.batch),
      ...planCheck(database, unchecked, now),
    ]);
  } while (budget.take(CHECK_QUERIES));
  return true;
}

/** Returns task ids, which are UUIDs, packed as the base64 of their bytes, 16 bytes for each. */
function packIds(ids: readonly string[]): string {
  const bytes = ids.map((id) => fromHex(id.replaceAll("-", ""), ID_BYTES) ?? new Uint8Array());
  return toBase64(bytesOf(...bytes));
}

function unpackIds(text: string): readonly string[] {
  const ids = toHex(fromBase64(text)).match(/.{32}/g) ?? [];
  return ids.map((hex) => hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-"));
}
