import { HOUR_MS } from "../core/time.ts";

/** Number of the first step of `SCHEMA`. A database with a lower number was made by a build before 1.0.0. */
export const FIRST_VERSION = 19;

/**
 * SQL triggers for writes of index rows. They mark the hour in which the task of a written row was created, so that the
 * hour is counted again. They write nothing when the hour is marked already.
 */
const MARK_TRIGGERS = ["insert", "update"].map((change) => {
  const hour = `NEW.created_at - NEW.created_at % ${HOUR_MS}`;
  return `CREATE TRIGGER IF NOT EXISTS mark_hour_on_${change} AFTER ${change} ON index_rows
    WHEN NOT EXISTS (SELECT 1 FROM hours_to_count WHERE hour = ${hour} AND is_changed = 1)
    BEGIN
      INSERT INTO hours_to_count (hour, is_changed, run, created_at, id) VALUES (${hour}, 1, '', ${hour}, '')
      ON CONFLICT (hour) DO UPDATE SET is_changed = 1;
    END`;
});

/**
 * Table with the rows of tasks; core/views/index-row.ts says what its columns mean. The primary key has the order of
 * the list of tasks. D1 bills each entry of a database index as a written row, so there are few entries:
 * `tasks_of_account` contains only tasks of accounts, `tasks_failed` only failed callbacks, `tasks_submit_unknown` only
 * tasks whose submission has an unknown outcome, `tasks_outputs_lost` only tasks with an output that could not be
 * copied, `tasks_copying` only tasks with an output that is being copied, and `tasks_due` only tasks that
 * should still change by themselves.
 *
 * `outcomes` has the numbers of the ended attempts of the callback, by outcome, as JSON, e.g.
 * `{"delivered":1,"timeout":2}`.
 */
const INDEX_ROWS = [
  `CREATE TABLE IF NOT EXISTS index_rows (
    id TEXT NOT NULL,
    version INTEGER NOT NULL,
    account TEXT,
    model TEXT NOT NULL,
    provider TEXT,
    job TEXT,
    status TEXT NOT NULL,
    category TEXT,
    submission TEXT,
    refusal TEXT,
    kept_outputs INTEGER NOT NULL DEFAULT 0,
    kept_bytes INTEGER NOT NULL DEFAULT 0,
    lost_outputs INTEGER NOT NULL DEFAULT 0,
    copying_outputs INTEGER NOT NULL DEFAULT 0,
    callback TEXT,
    attempts INTEGER NOT NULL,
    outcomes TEXT NOT NULL DEFAULT '{}',
    last_outcome TEXT,
    last_status_code INTEGER,
    host TEXT,
    created_at INTEGER NOT NULL,
    completed_at INTEGER,
    finished_at INTEGER,
    job_ms INTEGER,
    found_by TEXT,
    found_late_ms INTEGER,
    refunded INTEGER NOT NULL DEFAULT 0,
    credits_held INTEGER NOT NULL DEFAULT 0,
    credits_earned INTEGER NOT NULL DEFAULT 0,
    credits_released INTEGER NOT NULL DEFAULT 0,
    credits_refunded INTEGER NOT NULL DEFAULT 0,
    settled_at INTEGER,
    first_attempt_ms INTEGER,
    settled_ms INTEGER,
    due_at INTEGER,
    expires_at INTEGER,
    indexed_at INTEGER NOT NULL,
    PRIMARY KEY (created_at, id)
  ) STRICT, WITHOUT ROWID`,
  `CREATE INDEX IF NOT EXISTS tasks_of_account ON index_rows (account, created_at, id)
    WHERE account IS NOT NULL`,
  `CREATE INDEX IF NOT EXISTS tasks_failed ON index_rows (created_at, id, host)
    WHERE callback = 'failed'`,
  `CREATE INDEX IF NOT EXISTS tasks_submit_unknown ON index_rows (created_at, id, status)
    WHERE submission = 'unknown'`,
  `CREATE INDEX IF NOT EXISTS tasks_outputs_lost ON index_rows (created_at, id)
    WHERE lost_outputs > 0`,
  `CREATE INDEX IF NOT EXISTS tasks_copying ON index_rows (finished_at, copying_outputs)
    WHERE copying_outputs > 0`,
  `CREATE INDEX IF NOT EXISTS tasks_due ON index_rows (due_at, created_at)
    WHERE due_at IS NOT NULL`,
];

/**
 * Tables about removed index rows. They contain three things: the erased tasks, whose rows must not be written again;
 * the ids of tasks without a row whose Durable Objects must still be asked whether they have erased them; and how far
 * the search for expired rows has come.
 */
const REMOVALS = [
  `CREATE TABLE IF NOT EXISTS erased (
    created_at INTEGER NOT NULL,
    id TEXT NOT NULL,
    version INTEGER NOT NULL,
    PRIMARY KEY (created_at, id)
  ) STRICT, WITHOUT ROWID`,
  `CREATE TABLE IF NOT EXISTS expiry_checks (
    check_at INTEGER NOT NULL,
    batch TEXT NOT NULL,
    ids TEXT NOT NULL,
    PRIMARY KEY (check_at, batch)
  ) STRICT, WITHOUT ROWID`,
  `CREATE TABLE IF NOT EXISTS expiry_searches (
    started_at INTEGER NOT NULL PRIMARY KEY,
    created_at INTEGER NOT NULL,
    id TEXT NOT NULL
  ) STRICT`,
];

/**
 * Tables of the statistics (count-kinds.ts). A row of `counts` belongs to an hour and a kind. It has the keys of this
 * kind; all other keys are empty. A row whose `run` is not empty has the counts of those parts of an hour that the
 * count with this id has finished so far.
 *
 * `hours_to_count` lists the hours that must be counted. `is_changed` is 1 when a row of the hour was written after its
 * count began; `run` is the count in progress, if any, and `created_at` and `id` the last row that it has counted.
 *
 * A row of `step_counts` adds up the counts of one hour or day as JSON, so that a long time can be shown from few rows.
 */
const STATISTICS = [
  `CREATE TABLE IF NOT EXISTS counts (
    run TEXT NOT NULL,
    kind TEXT NOT NULL,
    hour INTEGER NOT NULL,
    key1 ANY NOT NULL,
    key2 ANY NOT NULL,
    key3 ANY NOT NULL,
    number INTEGER NOT NULL,
    sum INTEGER NOT NULL,
    PRIMARY KEY (run, kind, hour, key1, key2, key3)
  ) STRICT, WITHOUT ROWID`,
  `CREATE TABLE IF NOT EXISTS hours_to_count (
    hour INTEGER NOT NULL PRIMARY KEY,
    is_changed INTEGER NOT NULL,
    run TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    id TEXT NOT NULL
  ) STRICT, WITHOUT ROWID`,
  ...MARK_TRIGGERS,
  `CREATE TABLE IF NOT EXISTS step_counts (
    step_ms INTEGER NOT NULL,
    at INTEGER NOT NULL,
    counts TEXT NOT NULL,
    PRIMARY KEY (step_ms, at)
  ) STRICT, WITHOUT ROWID`,
  `CREATE TABLE IF NOT EXISTS totals (
    name TEXT NOT NULL PRIMARY KEY,
    value INTEGER NOT NULL,
    advanced_at INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID`,
];

const ACCOUNTS = `CREATE TABLE IF NOT EXISTS listed_accounts (
  id TEXT NOT NULL PRIMARY KEY,
  created_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID`;

/**
 * Steps that make the schema of a database of the index: the first creates it, and each later one adds tables or
 * columns. A released step is never changed, and two isolates may apply a step at the same time (database.ts). No step
 * removes or renames a table or column, because an earlier release may run at the same time as this one.
 */
export const SCHEMA: readonly (readonly string[])[] = [
  [...INDEX_ROWS, ...REMOVALS, ...STATISTICS, ACCOUNTS],
];
