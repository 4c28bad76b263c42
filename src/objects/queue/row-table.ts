import type { CoolDowns } from "./cool-down.ts";
import { NO_COOL_DOWNS } from "./cool-down.ts";
import type { QueueChanges } from "./job-queue.ts";
import { type QueueRow, restoredState } from "./queue-row.ts";

type Row = Record<"submission_id" | "task_id" | "via", string> &
  Record<"attempt" | "since", number> & {
    account: string | null;
    state: QueueRow["state"]["kind"];
    granted_at: number | null;
  };

/** Without a rowid, a change of a row is one written row: no index of its own is written. */
const SCHEMA = `
  CREATE TABLE IF NOT EXISTS places (
    submission_id TEXT PRIMARY KEY,
    task_id TEXT NOT NULL,
    account TEXT,
    via TEXT NOT NULL,
    attempt INTEGER NOT NULL,
    since INTEGER NOT NULL,
    state TEXT NOT NULL,
    granted_at INTEGER
  ) STRICT, WITHOUT ROWID`;
const WRITE = `
  INSERT INTO places VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
  ON CONFLICT DO UPDATE SET
    task_id = ?2, account = ?3, via = ?4, attempt = ?5, since = ?6, state = ?7, granted_at = ?8`;
const DELETE = "DELETE FROM places WHERE submission_id = ?";
const ALL = "SELECT * FROM places";
const COOL_DOWNS_KEY = "cool_downs";

/** The storage of a queue: the table `places`, and the key `cool_downs`. */
export class RowTable {
  readonly #storage: DurableObjectStorage;

  constructor(storage: DurableObjectStorage) {
    this.#storage = storage;
    storage.sql.exec(SCHEMA);
  }

  coolDowns(): CoolDowns {
    return this.#storage.kv.get<CoolDowns>(COOL_DOWNS_KEY) ?? NO_COOL_DOWNS;
  }

  /** Reads the rows one after the other. */
  *rows(now: number): Generator<QueueRow> {
    for (const row of this.#storage.sql.exec<Row>(ALL)) {
      const { submission_id: submissionId, task_id: taskId, account, via, attempt, since } = row;
      const state = restoredState(row.state, row.granted_at ?? now, now);
      yield { submissionId, taskId, account, via, attempt, since, state };
    }
  }

  /** Stores all changes, or none of them when it throws. */
  store({ rows, coolDowns }: QueueChanges): void {
    if (rows.size === 0 && coolDowns === null) return;
    this.#storage.transactionSync(() => {
      for (const [id, row] of rows) {
        if (row === null) this.#storage.sql.exec(DELETE, id);
        else this.#write(row);
      }
      if (coolDowns !== null) this.#storage.kv.put(COOL_DOWNS_KEY, coolDowns);
    });
  }

  #write({ submissionId, taskId, account, via, attempt, since, state }: QueueRow): void {
    const grantedAt = state.kind === "waiting" ? null : state.at;
    const values = [submissionId, taskId, account, via, attempt, since, state.kind, grantedAt];
    this.#storage.sql.exec(WRITE, ...values);
  }
}
