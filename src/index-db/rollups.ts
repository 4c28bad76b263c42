import { bucketOf } from "./buckets.ts";
import { ready } from "./database.ts";
import { DAY_MS, HOUR_MS, MINUTE_MS } from "../core/time.ts";

/** Length of the range of creation times that one transaction recounts. */
const RANGE_MS = 6 * HOUR_MS;
const KEEP_MS = 400 * DAY_MS;
/** Part of each hour in which the whole reach is recounted; later only the current range is, to save reads. */
const FULL_WITHIN_MS = 10 * MINUTE_MS;
/**
 * Number of hosts counted by name in a range, those with most failures first. The others are counted as
 * `*`, because clients choose hosts.
 */
const MAX_HOSTS = 100;

/** Latency histograms: the name of each, and the SQL expression of its values in milliseconds. */
const MEASURES = [
  ["first_attempt", "first_attempt_ms"],
  ["settled", "settled_ms"],
  ["index", "CASE WHEN settled_at IS NOT NULL THEN max(0, indexed_at - version) END"],
] as const;

const HOUR = `created_at - created_at % ${HOUR_MS}`;
const IN_RANGE = "created_at >= ?1 AND created_at < ?2";

const COUNT_TASKS = `
  WITH hosts AS (
    SELECT host FROM tasks WHERE ${IN_RANGE} AND host IS NOT NULL
    GROUP BY 1 ORDER BY sum(callback = 'failed') DESC, count(*) DESC, 1 LIMIT ${MAX_HOSTS}
  )
  SELECT ${HOUR} AS hour, model,
    CASE WHEN host IS NULL THEN '' WHEN host IN hosts THEN host ELSE '*' END AS host,
    status, coalesce(callback, '') AS callback, count(*) AS tasks, sum(attempts) AS attempts
  FROM tasks WHERE ${IN_RANGE} GROUP BY 1, 2, 3, 4, 5`;

const COUNT_LATENCIES = MEASURES.map(
  ([measure, column]) => `
  SELECT ${HOUR} AS hour, '${measure}' AS measure, ${bucketOf(column)} AS bucket,
    count(*) AS tasks, sum(${column}) AS total_ms
  FROM tasks WHERE ${IN_RANGE} AND ${column} IS NOT NULL GROUP BY 1, 3`,
).join(" UNION ALL ");

/**
 * Statements that recount one range. They write only counts that differ, because D1 charges for written
 * rows.
 */
const STATEMENTS: readonly string[] = [
  ...updateTable(
    "rollups",
    COUNT_TASKS,
    ["hour", "model", "host", "status", "callback"],
    ["tasks", "attempts"],
  ),
  ...updateTable(
    "latencies",
    COUNT_LATENCIES,
    ["hour", "measure", "bucket"],
    ["tasks", "total_ms"],
  ),
];

/**
 * Recounts the tasks created within the last `reachMs`, hour by hour. Recounting the rows, instead of
 * adding to counters, stays exact in whatever order and however often rows arrive. Older hours keep their
 * counts.
 * @param now current time, in Unix milliseconds.
 */
export async function rollUp(db: D1Database, reachMs: number, now: number): Promise<void> {
  const database = await ready(db);
  const begin = Math.ceil((now - reachMs) / HOUR_MS) * HOUR_MS;
  const currentRange = now - (now % RANGE_MS);
  const isFull = now % HOUR_MS < FULL_WITHIN_MS;
  for (
    let from = isFull ? begin - (begin % RANGE_MS) : currentRange;
    from <= now;
    from += RANGE_MS
  ) {
    const range = [Math.max(from, begin), from + RANGE_MS];
    await database.batch(STATEMENTS.map((sql) => database.prepare(sql).bind(...range)));
  }
  const old = ["rollups", "latencies"].map((table) =>
    database.prepare(`DELETE FROM ${table} WHERE hour < ?`).bind(now - KEEP_MS),
  );
  await database.batch(old);
}

/**
 * Builds the statements that make `table` equal to the query `counted` for the range `?1` to `?2`: an
 * upsert of the rows that differ, and a deletion of those that the query no longer returns.
 */
function updateTable(
  table: string,
  counted: string,
  keys: readonly string[],
  values: readonly string[],
): readonly string[] {
  const [key, all] = [keys.join(", "), [...keys, ...values].join(", ")];
  const news = values.map((value) => `excluded.${value}`).join(", ");
  return [
    `INSERT INTO ${table} (${all}) SELECT ${all} FROM (${counted}) WHERE true
     ON CONFLICT (${key}) DO UPDATE SET (${values.join(", ")}) = (${news})
     WHERE (${values.map((value) => `${table}.${value}`).join(", ")}) IS NOT (${news})`,
    `DELETE FROM ${table} WHERE hour >= ?1 AND hour < ?2
     AND (${key}) NOT IN (SELECT ${key} FROM (${counted}))`,
  ];
}
