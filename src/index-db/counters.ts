import { HOUR_MS } from "../core/time.ts";
import { ready } from "./database.ts";

/**
 * Name of a counter that the index keeps for each hour. `expiry_lost` counts the tasks that were found still
 * stored in their Durable Objects after the end of their retention.
 */
export type Counter = "expiry_lost";

const ADD = `
  INSERT INTO counters (hour, name, tasks) VALUES (?, ?, ?)
  ON CONFLICT (hour, name) DO UPDATE SET tasks = counters.tasks + excluded.tasks`;

/** Number of queries that `count` makes on a database that is ready. */
export const COUNTER_QUERIES = 1;

/** Adds the number `tasks` to a counter, for the hour of `now` (Unix milliseconds). */
export async function count(
  db: D1Database,
  name: Counter,
  tasks: number,
  now: number,
): Promise<void> {
  if (tasks === 0) return;
  const database = await ready(db);
  await database
    .prepare(ADD)
    .bind(now - (now % HOUR_MS), name, tasks)
    .run();
}
