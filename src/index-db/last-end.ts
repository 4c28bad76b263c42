import { HOUR_MS } from "../core/time.ts";
import { ready } from "./database.ts";

/**
 * Query for the time at which a task last ended: the time of the latest count that found further ended tasks,
 * or, if later, the latest end of a task in the hours whose rows have changed since they were counted.
 */
const LAST_END = `
  SELECT max(at) AS at FROM (
    SELECT max(advanced_at) AS at FROM totals WHERE name LIKE 'ended.%'
    UNION ALL
    SELECT max(finished_at) FROM (SELECT DISTINCT hour FROM dirty_hours) AS dirty
    CROSS JOIN tasks ON created_at >= dirty.hour AND created_at < dirty.hour + ${HOUR_MS}
  )`;

/**
 * Returns when tasks were last seen to end, in Unix milliseconds, in all databases of the index; null when none
 * has ended.
 */
export async function lastEndAt(databases: readonly D1Database[]): Promise<number | null> {
  const found = await Promise.all(
    databases.map(async (db) =>
      (await ready(db)).prepare(LAST_END).first<{ readonly at: number | null }>(),
    ),
  );
  const times = found.flatMap((end) => end?.at ?? []);
  return times.length === 0 ? null : Math.max(...times);
}
