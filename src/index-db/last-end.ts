import { ready } from "./database.ts";

/** What a database of the index knows of the last end of a task. */
interface LastEnd {
  /** Time of the count that last found further ended tasks, in Unix milliseconds; null when none has. */
  readonly at: number | null;
  /** 1 when rows have changed that are not counted yet, else 0. */
  readonly isBehind: number;
}

const LAST_END = `
  SELECT max(advanced_at) AS at, EXISTS (SELECT 1 FROM dirty_hours) AS isBehind
  FROM totals WHERE name LIKE 'ended.%'`;

/** Returns when tasks were last seen to end, in all databases of the index; null when that is not known. */
export async function lastEndAt(databases: readonly D1Database[]): Promise<number | null> {
  const found = await Promise.all(
    databases.map(async (db) => (await ready(db)).prepare(LAST_END).first<LastEnd>()),
  );
  if (found.some((end) => end?.isBehind === 1)) return null;
  const times = found.flatMap((end) => end?.at ?? []);
  return times.length === 0 ? null : Math.max(...times);
}
