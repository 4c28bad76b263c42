import { HOUR_MS } from "../core/time.ts";
import { fromBase64, toBase64, toHex, bytesOf, fromHex } from "../security/encoding.ts";
import type { TimeBudget } from "../time-budget.ts";
import { ready } from "./database.ts";

/** Time after the end of the retention at which a task is checked: an alarm may be late. */
const MARGIN_MS = HOUR_MS;
/**
 * Limit on the planned checks that one run performs: D1 allows 1,000 queries of one invocation, and each
 * check makes two.
 */
const MAX_ROUNDS = 100;
const ID_BYTES = 16;

const PLAN = "INSERT INTO expiry_checks (check_at, batch, ids) VALUES (?, ?, ?)";
const NEXT = `
  SELECT check_at AS checkAt, batch, ids FROM expiry_checks
  WHERE check_at <= ? ORDER BY check_at, batch LIMIT 1`;
const END = "DELETE FROM expiry_checks WHERE check_at = ? AND batch = ?";

interface PlannedCheck extends Record<string, unknown> {
  readonly checkAt: number;
  readonly batch: string;
  readonly ids: string;
}

/**
 * Returns the statements that plan a check whether tasks are erased; `[]` without ids. One row holds the
 * ids of thousands of tasks, because their objects may live for weeks after their rows have left the index.
 * @param endsAt latest end of the retention of these tasks, in Unix milliseconds.
 */
export function planCheck(
  database: D1Database,
  ids: readonly string[],
  endsAt: number,
): readonly D1PreparedStatement[] {
  if (ids.length === 0) return [];
  return [database.prepare(PLAN).bind(endsAt + MARGIN_MS, crypto.randomUUID(), packIds(ids))];
}

/**
 * Performs the checks that are due at `now`, in Unix milliseconds.
 * @param check function that checks tasks and returns the ids of those that it could not reach; these are
 * checked again after `MARGIN_MS`.
 */
export async function runChecks(
  db: D1Database,
  now: number,
  budget: TimeBudget,
  check: (ids: readonly string[]) => Promise<readonly string[]>,
): Promise<void> {
  const database = await ready(db);
  for (let round = 0; round < MAX_ROUNDS && !budget.isSpent(); round++) {
    const due = await database.prepare(NEXT).bind(now).first<PlannedCheck>();
    if (due === null) return;
    const unchecked = await check(unpackIds(due.ids));
    await database.batch([
      database.prepare(END).bind(due.checkAt, due.batch),
      ...planCheck(database, unchecked, now),
    ]);
  }
}

/** Packs ids, which are UUIDs, as base64 of 16 bytes each. */
function packIds(ids: readonly string[]): string {
  const bytes = ids.map((id) => fromHex(id.replaceAll("-", ""), ID_BYTES) ?? new Uint8Array());
  return toBase64(bytesOf(...bytes));
}

function unpackIds(text: string): readonly string[] {
  const ids = toHex(fromBase64(text)).match(/.{32}/g) ?? [];
  return ids.map((hex) => hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-"));
}
