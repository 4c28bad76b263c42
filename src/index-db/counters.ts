import { HOUR_MS } from "../core/time.ts";
import { ready } from "./database.ts";

/** Counters of the relay's own findings, by hour; `expiry_lost` counts tasks that outlived their retention. */
export type Counter = "expiry_lost";

const ADD = `
  INSERT INTO counters (hour, name, tasks) VALUES (?, ?, ?)
  ON CONFLICT (hour, name) DO UPDATE SET tasks = counters.tasks + excluded.tasks`;

/** Adds to a counter in the hour of `now`, which is in Unix milliseconds. */
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
