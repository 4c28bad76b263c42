import { OUTCOMES } from "../core/record/outcome.ts";
import { IS_OWN } from "./count-tables.ts";

/**
 * Totals that the index keeps of all tasks that it has ever counted. Each has its name, the column of `rollups`
 * that it adds up, and the status of the tasks that it covers; null means all tasks. For each outcome there is one
 * total, of the attempts of callbacks that ended with this outcome. Those of outputs count the copies that were made,
 * their bytes, and those that were given up.
 */
const SOURCES = [
  ["accepted", "tasks", null],
  ["ended.completed", "tasks", "completed"],
  ["ended.failed", "tasks", "failed"],
  ["refunds", "refunds", null],
  ["outputs.kept", "kept_outputs", null],
  ["outputs.bytes", "kept_bytes", null],
  ["outputs.lost", "lost_outputs", null],
  ...OUTCOMES.map((outcome) => [`outcome.${outcome}`, `attempts_${outcome}`, null] as const),
] as const;

export const TOTALS = SOURCES.map(([name]) => name);

export type TotalName = (typeof TOTALS)[number];

/**
 * A row of the table `totals` in one database of the index: how many tasks, attempts, outputs or bytes of one
 * kind it has ever counted.
 */
export interface TotalRow {
  readonly name: TotalName;
  readonly value: number;
  /** Time of the run of the cron trigger that raised the total last, in Unix milliseconds. */
  readonly advancedAt: number;
}

/** Query for the part of each total that the hour `?1` has, as one JSON object in the column `sums`. */
export const SUMS_OF_HOUR = `
  SELECT json_object(${SOURCES.map(([name, column, status]) => {
    const value = status === null ? column : `iif(status = '${status}', ${column}, 0)`;
    return `'${name}', coalesce(sum(${value}), 0)`;
  }).join(", ")}) AS sums FROM rollups WHERE hour = ?1`;

/**
 * Statement that raises the totals after the hour `?1` was counted again: by the difference between its present
 * sums and those before the count, `?5`; `?6` is the present time. A number that has fallen, because a task was
 * erased, lowers no total, so that the totals only rise.
 */
export const ADVANCE = `
  INSERT INTO totals (name, value, advanced_at)
  SELECT key, value - before, ?6
  FROM (SELECT key, value, ?5 ->> ('$."' || key || '"') AS before FROM json_each((${SUMS_OF_HOUR})))
  WHERE value > before AND ${IS_OWN}
  ON CONFLICT (name) DO UPDATE
  SET value = totals.value + excluded.value, advanced_at = excluded.advanced_at`;
