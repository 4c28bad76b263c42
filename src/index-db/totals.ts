import { OUTCOMES } from "../core/record/outcome.ts";
import { type CountRow, TASK_SUMS } from "./tally.ts";

/**
 * Totals that the index keeps of all tasks that it has ever counted. Each has its name, the column of
 * `rollups` that it adds up, and the status of the tasks that it covers; null means all tasks. There is one for
 * the ended attempts of callbacks with each outcome.
 */
const SOURCES = [
  ["accepted", "tasks", null],
  ["ended.completed", "tasks", "completed"],
  ["ended.failed", "tasks", "failed"],
  ["refunds", "refunds", null],
  ...OUTCOMES.map((outcome) => [`outcome.${outcome}`, `attempts_${outcome}`, null] as const),
] as const;

export const TOTALS = SOURCES.map(([name]) => name);

export type TotalName = (typeof TOTALS)[number];

/**
 * A row of the table `totals` in one database of the index: how many tasks or attempts of one kind it has
 * ever counted.
 */
export interface TotalRow {
  readonly name: TotalName;
  readonly value: number;
  /** Time of the run of the cron trigger that raised the total last, in Unix milliseconds. */
  readonly advancedAt: number;
}

/**
 * Statement that raises the totals. `?1` is a list of increments, each with its hour and the name of the
 * total; `?3` is the present time. An increment is added only if the entry of its hour in `dirty_hours` still
 * has the id `?2` of this run, because another run may have taken the hour over.
 */
export const ADVANCE = `
  INSERT INTO totals (name, value, advanced_at)
  SELECT value ->> 1, sum(value ->> 2), ?3 FROM json_each(?1)
  WHERE EXISTS (SELECT 1 FROM dirty_hours WHERE hour = value ->> 0 AND run = ?2)
  GROUP BY value ->> 1
  ON CONFLICT (name) DO UPDATE
  SET value = totals.value + excluded.value, advanced_at = excluded.advanced_at`;

/**
 * Computes the increments of the totals after some hours were counted again, by comparing the stored counts
 * with the new ones. A number that has fallen, because a task was erased, lowers no total, so that the totals
 * only rise.
 * @returns the increments above 0, each with its hour and the name of the total.
 */
export function advances(
  stored: readonly CountRow[],
  counted: readonly CountRow[],
): readonly (readonly [number, TotalName, number])[] {
  const before = Map.groupBy(stored, hourOf);
  return [...Map.groupBy(counted, hourOf)].flatMap(([hour, rows]) => {
    const known = before.get(hour) ?? [];
    return SOURCES.flatMap(([name, column, status]) => {
      const rise = sumOf(rows, column, status) - sumOf(known, column, status);
      return rise > 0 ? [[hour, name, rise] as const] : [];
    });
  });
}

function hourOf({ key: [hour] }: CountRow): number {
  return Number(hour);
}

/** Adds up a column of rows of the table `rollups`, of the tasks with a status; null means all tasks. */
function sumOf(
  rows: readonly CountRow[],
  column: (typeof TASK_SUMS)[number],
  status: string | null,
): number {
  const index = TASK_SUMS.indexOf(column);
  const covered = rows.filter(({ key }) => status === null || key[3] === status);
  return covered.reduce((total, { sums }) => total + (sums[index] ?? 0), 0);
}
