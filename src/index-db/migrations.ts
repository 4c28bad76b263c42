import { OUTCOMES } from "../core/record/outcome.ts";
import { HOUR_MS } from "../core/time.ts";

/** Columns with credits of charges: those that are still held, and those that were earned, released or refunded. */
const CREDIT_COLUMNS = ["credits_held", "credits_earned", "credits_released", "credits_refunded"];

const HOUR_OF_ROW = `NEW.created_at - NEW.created_at % ${HOUR_MS}`;
const MARK_TRIGGERS = ["insert", "update"].map(
  (change) => `CREATE TRIGGER IF NOT EXISTS mark_hour_on_${change} AFTER ${change} ON tasks
    WHEN NOT EXISTS (SELECT 1 FROM dirty_hours WHERE hour = ${HOUR_OF_ROW} AND run = '')
    BEGIN INSERT INTO dirty_hours (hour, run) VALUES (${HOUR_OF_ROW}, ''); END`,
);
/**
 * Statement for an index whose rows were written by an earlier release, which did not mark the hours whose
 * rows it changed. It marks the hours of the last four days as changed, so that the cron trigger counts their
 * tasks.
 */
const MARK_RECENT_HOURS = `
  INSERT OR IGNORE INTO dirty_hours (hour, run)
  WITH RECURSIVE past (hours) AS (SELECT 0 UNION ALL SELECT hours + 1 FROM past WHERE hours < 96)
  SELECT (unixepoch() / 3600 - hours) * ${HOUR_MS}, '' FROM past WHERE EXISTS (SELECT 1 FROM tasks)`;

const STALE_TRIGGERS = ["rollups", "latencies", "failures"].flatMap(staleTriggers);

/** Returns the triggers that add to `stale_hours` each hour whose counts in this table change. */
function staleTriggers(table: string): readonly string[] {
  return ["INSERT", "UPDATE", "DELETE"].map((change) => {
    const hour = change === "DELETE" ? "OLD.hour" : "NEW.hour";
    return `CREATE TRIGGER IF NOT EXISTS ${table}_stale_on_${change} AFTER ${change} ON ${table}
      WHEN NOT EXISTS (SELECT 1 FROM stale_hours WHERE hour = ${hour})
      BEGIN INSERT INTO stale_hours (hour) VALUES (${hour}); END`;
  });
}

/**
 * Trigger for a release before the table `host_counts`, which counts by host in `rollups`: its count of an hour
 * replaces that of a later release.
 */
const HOSTS_IN_ROLLUPS = `CREATE TRIGGER IF NOT EXISTS hosts_in_rollups AFTER INSERT ON rollups
  WHEN NEW.host <> ''
  BEGIN DELETE FROM host_counts WHERE hour = NEW.hour; END`;

/**
 * Returns the statement that creates a table of numbers for each hour.
 * @param keys names and types of the key columns after the hour.
 */
function countTable(name: string, keys: readonly string[], sums: readonly string[]): string {
  const columns = [
    "hour INTEGER NOT NULL",
    ...keys.map((key) => `${key} NOT NULL`),
    ...sums.map((sum) => `${sum} INTEGER NOT NULL`),
  ];
  const key = ["hour", ...keys.map((each) => each.split(" ")[0])];
  return `CREATE TABLE IF NOT EXISTS ${name} (
    ${columns.join(", ")}, PRIMARY KEY (${key.join(", ")})
  ) STRICT, WITHOUT ROWID`;
}
/** Statement that adds to `stale_hours` all hours that an earlier release has counted. */
const LIST_COUNTED_HOURS = `
  INSERT OR IGNORE INTO stale_hours (hour)
  WITH RECURSIVE counted (hour) AS (
    SELECT max(hour) FROM rollups
    UNION ALL
    SELECT (SELECT max(hour) FROM rollups WHERE rollups.hour < counted.hour) FROM counted
    WHERE counted.hour IS NOT NULL
  )
  SELECT hour FROM counted WHERE hour IS NOT NULL`;

/**
 * Migrations of the database schema of the index, oldest first; a released one is never changed. Two
 * isolates may apply a migration at the same time (database.ts). Triggers mark the
 * hour in which the task of each written row was created, in `dirty_hours`, because its tasks must be counted
 * again; so rows that an older release writes mark their hours too. Marking a marked hour again writes no
 * row. D1 bills each entry of a database index as a written row, so there are few entries: the primary key of
 * `tasks` has the order of the list, `tasks_of_account` contains only tasks of accounts, `tasks_failed` only
 * failed callbacks, `tasks_submit_unknown` only tasks whose submission has an unknown outcome, `tasks_outputs_lost`
 * only tasks with an output whose copy was given up, and `tasks_due` only tasks that still have to change by
 * themselves.
 *
 * `outcomes` of a row of `tasks` has the numbers of the ended attempts of its callback, by outcome, as JSON,
 * e.g. `{"delivered":1,"timeout":2}`. `attempts_delivered`, `attempts_timeout` … of a row of `rollups` are the
 * sums of these numbers; `attempts` also counts attempts that are still running.
 *
 * A row of `summaries` sums up the counts of one hour or day as JSON (summaries.ts), so that few rows show a
 * long time. Triggers list the hours whose counts have changed since, in `stale_hours`; so counts that an
 * older release writes list their hours too.
 *
 * The tables whose names end in `_parts` have the counts of the first parts of an hour that is being counted, and
 * a row of `count_passes` says which count (`run`) this is and the last row of `tasks` that it has counted
 * (rollups.ts). Since there is `host_counts`, the host in `rollups` is empty.
 */
export const MIGRATIONS: readonly (readonly string[])[] = [
  [
    `CREATE TABLE IF NOT EXISTS tasks (
      id TEXT NOT NULL,
      version INTEGER NOT NULL,
      account TEXT,
      model TEXT NOT NULL,
      provider TEXT,
      status TEXT NOT NULL,
      callback TEXT,
      attempts INTEGER NOT NULL,
      last_outcome TEXT,
      last_status_code INTEGER,
      host TEXT,
      created_at INTEGER NOT NULL,
      completed_at INTEGER,
      finished_at INTEGER,
      settled_at INTEGER,
      first_attempt_ms INTEGER,
      settled_ms INTEGER,
      due_at INTEGER,
      expires_at INTEGER,
      indexed_at INTEGER NOT NULL,
      PRIMARY KEY (created_at, id)
    ) STRICT, WITHOUT ROWID`,
    `CREATE INDEX IF NOT EXISTS tasks_of_account ON tasks (account, created_at, id)
      WHERE account IS NOT NULL`,
    `CREATE INDEX IF NOT EXISTS tasks_failed ON tasks (created_at, id, host)
      WHERE callback = 'failed'`,
    `CREATE INDEX IF NOT EXISTS tasks_due ON tasks (due_at, created_at) WHERE due_at IS NOT NULL`,
    `CREATE TABLE IF NOT EXISTS rollups (
      hour INTEGER NOT NULL,
      model TEXT NOT NULL,
      host TEXT NOT NULL,
      status TEXT NOT NULL,
      callback TEXT NOT NULL,
      tasks INTEGER NOT NULL,
      attempts INTEGER NOT NULL,
      PRIMARY KEY (hour, model, host, status, callback)
    ) STRICT, WITHOUT ROWID`,
    `CREATE TABLE IF NOT EXISTS latencies (
      hour INTEGER NOT NULL,
      measure TEXT NOT NULL,
      bucket INTEGER NOT NULL,
      tasks INTEGER NOT NULL,
      total_ms INTEGER NOT NULL,
      PRIMARY KEY (hour, measure, bucket)
    ) STRICT, WITHOUT ROWID`,
    `CREATE TABLE IF NOT EXISTS erased (
      created_at INTEGER NOT NULL,
      id TEXT NOT NULL,
      version INTEGER NOT NULL,
      PRIMARY KEY (created_at, id)
    ) STRICT, WITHOUT ROWID`,
    `CREATE TABLE IF NOT EXISTS accounts (
      id TEXT NOT NULL PRIMARY KEY,
      created_at INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID`,
  ],
  [
    `CREATE TABLE IF NOT EXISTS dirty_hours (
      hour INTEGER NOT NULL,
      run TEXT NOT NULL,
      PRIMARY KEY (hour, run)
    ) STRICT, WITHOUT ROWID`,
    ...MARK_TRIGGERS,
    MARK_RECENT_HOURS,
  ],
  [
    `CREATE TABLE IF NOT EXISTS counters (
      hour INTEGER NOT NULL,
      name TEXT NOT NULL,
      tasks INTEGER NOT NULL,
      PRIMARY KEY (hour, name)
    ) STRICT, WITHOUT ROWID`,
    `CREATE TABLE IF NOT EXISTS expiry_checks (
      check_at INTEGER NOT NULL,
      batch TEXT NOT NULL,
      ids TEXT NOT NULL,
      PRIMARY KEY (check_at, batch)
    ) STRICT, WITHOUT ROWID`,
  ],
  [
    `CREATE TABLE IF NOT EXISTS sweep_passes (
      started_at INTEGER NOT NULL PRIMARY KEY,
      created_at INTEGER NOT NULL,
      id TEXT NOT NULL
    ) STRICT, WITHOUT ROWID`,
  ],
  [
    "ALTER TABLE tasks ADD COLUMN found_by TEXT",
    "ALTER TABLE tasks ADD COLUMN found_late_ms INTEGER",
    `CREATE TABLE IF NOT EXISTS found_late (
      hour INTEGER NOT NULL,
      provider TEXT NOT NULL,
      found_by TEXT NOT NULL,
      bucket INTEGER NOT NULL,
      tasks INTEGER NOT NULL,
      total_ms INTEGER NOT NULL,
      PRIMARY KEY (hour, provider, found_by, bucket)
    ) STRICT, WITHOUT ROWID`,
  ],
  [
    "ALTER TABLE tasks ADD COLUMN refunded INTEGER NOT NULL DEFAULT 0",
    "ALTER TABLE rollups ADD COLUMN refunds INTEGER NOT NULL DEFAULT 0",
    `CREATE TABLE IF NOT EXISTS totals (
      name TEXT NOT NULL PRIMARY KEY,
      value INTEGER NOT NULL,
      advanced_at INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID`,
  ],
  [
    "ALTER TABLE tasks ADD COLUMN outcomes TEXT NOT NULL DEFAULT '{}'",
    ...OUTCOMES.map(
      (outcome) => `ALTER TABLE rollups ADD COLUMN attempts_${outcome} INTEGER NOT NULL DEFAULT 0`,
    ),
  ],
  ["ALTER TABLE tasks ADD COLUMN job TEXT"],
  ["ALTER TABLE tasks ADD COLUMN category TEXT"],
  [
    `CREATE TABLE IF NOT EXISTS failures (
      hour INTEGER NOT NULL,
      category TEXT NOT NULL,
      tasks INTEGER NOT NULL,
      PRIMARY KEY (hour, category)
    ) STRICT, WITHOUT ROWID`,
    `CREATE TABLE IF NOT EXISTS summaries (
      step_ms INTEGER NOT NULL,
      at INTEGER NOT NULL,
      counts TEXT NOT NULL,
      hosts TEXT NOT NULL,
      latencies TEXT NOT NULL,
      failures TEXT NOT NULL,
      PRIMARY KEY (step_ms, at)
    ) STRICT, WITHOUT ROWID`,
    "CREATE TABLE IF NOT EXISTS stale_hours (hour INTEGER NOT NULL PRIMARY KEY) STRICT",
    ...STALE_TRIGGERS,
    LIST_COUNTED_HOURS,
  ],
  [
    countTable("host_counts", ["host TEXT", "callback TEXT"], ["tasks", "attempts"]),
    ...staleTriggers("host_counts"),
    HOSTS_IN_ROLLUPS,
    countTable(
      "rollups_parts",
      ["model TEXT", "host TEXT", "status TEXT", "callback TEXT"],
      ["tasks", "attempts", "refunds", ...OUTCOMES.map((outcome) => `attempts_${outcome}`)],
    ),
    countTable("host_counts_parts", ["host TEXT", "callback TEXT"], ["tasks", "attempts"]),
    countTable("latencies_parts", ["measure TEXT", "bucket INTEGER"], ["tasks", "total_ms"]),
    countTable(
      "found_late_parts",
      ["provider TEXT", "found_by TEXT", "bucket INTEGER"],
      ["tasks", "total_ms"],
    ),
    countTable("failures_parts", ["category TEXT"], ["tasks"]),
    `CREATE TABLE IF NOT EXISTS count_passes (
      hour INTEGER NOT NULL PRIMARY KEY,
      run TEXT NOT NULL,
      created_at INTEGER NOT NULL,
      id TEXT NOT NULL
    ) STRICT`,
  ],
  [
    "ALTER TABLE tasks ADD COLUMN submission TEXT",
    `CREATE INDEX IF NOT EXISTS tasks_submit_unknown ON tasks (created_at, id, status)
      WHERE submission = 'unknown'`,
  ],
  [
    ...["tasks", "rollups", "rollups_parts"].flatMap((table) =>
      ["kept_outputs", "kept_bytes", "lost_outputs"].map(
        (column) => `ALTER TABLE ${table} ADD COLUMN ${column} INTEGER NOT NULL DEFAULT 0`,
      ),
    ),
    "CREATE INDEX IF NOT EXISTS tasks_outputs_lost ON tasks (created_at, id) WHERE lost_outputs > 0",
  ],
  ["tasks", "rollups", "rollups_parts"].flatMap((table) =>
    CREDIT_COLUMNS.map(
      (column) => `ALTER TABLE ${table} ADD COLUMN ${column} INTEGER NOT NULL DEFAULT 0`,
    ),
  ),
];
