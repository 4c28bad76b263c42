import type { CountRow } from "./tally.ts";

/**
 * Names of the totals that the index keeps of all tasks that it has ever counted. `attempts.failed` counts the
 * attempts of a callback that did not deliver it.
 */
export const TOTALS = [
  "accepted",
  "ended.completed",
  "ended.failed",
  "attempts.delivered",
  "attempts.failed",
  "refunds",
] as const;

export type TotalName = (typeof TOTALS)[number];

/** A stored total of one database of the index. */
export interface TotalRow {
  readonly name: TotalName;
  readonly value: number;
  /** Time of the run of the cron trigger that raised the total last, in Unix milliseconds. */
  readonly advancedAt: number;
}

/**
 * Statement that advances the totals by the list `?1` of hours, names and increments, at the time `?3`, where
 * the run `?2` still owns the hour in `dirty_hours`.
 */
export const ADVANCE = `
  INSERT INTO totals (name, value, advanced_at)
  SELECT value ->> 1, sum(value ->> 2), ?3 FROM json_each(?1)
  WHERE EXISTS (SELECT 1 FROM dirty_hours WHERE hour = value ->> 0 AND run = ?2)
  GROUP BY value ->> 1
  ON CONFLICT (name) DO UPDATE
  SET value = totals.value + excluded.value, advanced_at = excluded.advanced_at`;

/**
 * Compares the stored counts of some hours with newly counted ones. A number that has fallen, because a task
 * was erased or a delivered callback was ordered again, advances nothing, so that the totals only rise.
 * @returns the increments above 0, each with its hour and the name of the total.
 */
export function advances(
  stored: readonly CountRow[],
  counted: readonly CountRow[],
): readonly (readonly [number, TotalName, number])[] {
  const before = Map.groupBy(stored, hourOf);
  return [...Map.groupBy(counted, hourOf)].flatMap(([hour, rows]) => {
    const known = sumsOf(before.get(hour) ?? []);
    const current = sumsOf(rows);
    const rise = (key: keyof typeof current) => Math.max(0, current[key] - known[key]);
    const delivered = rise("delivered");
    const risen: Readonly<Record<TotalName, number>> = {
      accepted: rise("tasks"),
      "ended.completed": rise("completed"),
      "ended.failed": rise("failed"),
      "attempts.delivered": delivered,
      "attempts.failed": Math.max(0, rise("attempts") - delivered),
      refunds: rise("refunds"),
    };
    return TOTALS.flatMap((name) => (risen[name] > 0 ? [[hour, name, risen[name]] as const] : []));
  });
}

function hourOf({ key: [hour] }: CountRow): number {
  return Number(hour);
}

/** Adds up the rows of the table `rollups` of one hour. */
function sumsOf(rows: readonly CountRow[]) {
  const sum = { tasks: 0, completed: 0, failed: 0, attempts: 0, delivered: 0, refunds: 0 };
  for (const { key, sums } of rows) {
    const [, , , status, callback] = key;
    const [tasks = 0, attempts = 0, refunds = 0] = sums;
    sum.tasks += tasks;
    sum.attempts += attempts;
    sum.refunds += refunds;
    if (status === "completed" || status === "failed") sum[status] += tasks;
    if (callback === "delivered") sum.delivered += tasks;
  }
  return sum;
}
