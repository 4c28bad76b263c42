import type { IndexRow } from "../core/views/index-row.ts";
import { writeRows } from "./writer.ts";
import { withTimeout } from "../timeout.ts";

/** Where rows go: straight into the database, or into a queue whose consumer writes them. */
export interface IndexBindings {
  readonly INDEX_DB?: D1Database;
  readonly INDEX_QUEUE?: Queue<IndexRow>;
}

/** Whether the row is on its way for good; false when nobody said so in time. */
export function writeRow(row: IndexRow, bindings: IndexBindings): Promise<boolean> {
  const { INDEX_DB: db, INDEX_QUEUE: queue } = bindings;
  return withTimeout(
    "index",
    async () => {
      if (db === undefined) return false;
      if (queue === undefined) await writeRows(db, [row], Date.now());
      else await queue.send(row);
      return true;
    },
    false,
  );
}
