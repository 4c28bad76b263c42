import { bucketOf } from "./buckets.ts";
import { ready } from "./database.ts";
import { HOUR_MS } from "../core/time.ts";

/** What is counted in one transaction. */
const RANGE_MS = 6 * HOUR_MS;
const KEEP_MS = 400 * 86_400_000;
/** Within this time of a full hour everything in reach is counted anew, else the present range alone. */
const FULL_WITHIN_MS = 600_000;
/** Clients choose their hosts: beyond these, the ones with the most failures, all count as `*`. */
const HOSTS_COUNTED = 100;

/** What the latency histograms measure, and the column that says it. */
const MEASURES = [
  ["first_attempt", "first_attempt_ms"],
  ["settled", "settled_ms"],
  ["index", "CASE WHEN settled_at IS NOT NULL THEN max(0, indexed_at - version) END"],
] as const;

const HOUR = `created_at - created_at % ${HOUR_MS}`;
const IN_RANGE = "created_at >= ?1 AND created_at < ?2";

const COUNTED = `
  WITH hosts AS (
    SELECT host FROM tasks WHERE ${IN_RANGE} AND host IS NOT NULL
    GROUP BY 1 ORDER BY sum(callback = 'failed') DESC, count(*) DESC, 1 LIMIT ${HOSTS_COUNTED}
  )
  SELECT ${HOUR} AS hour, model,
    CASE WHEN host IS NULL THEN '' WHEN host IN hosts THEN host ELSE '*' END AS host,
    status, coalesce(callback, '') AS callback, count(*) AS tasks, sum(attempts) AS attempts
  FROM tasks WHERE ${IN_RANGE} GROUP BY 1, 2, 3, 4, 5`;

const MEASURED = MEASURES.map(
  ([measure, column]) => `
  SELECT ${HOUR} AS hour, '${measure}' AS measure, ${bucketOf(column)} AS bucket,
    count(*) AS tasks, sum(${column}) AS total_ms
  FROM tasks WHERE ${IN_RANGE} AND ${column} IS NOT NULL GROUP BY 1, 3`,
).join(" UNION ALL ");

/** Rows of D1 are what it costs, so only what differs is written, and only what is gone deleted. */
const STATEMENTS: readonly string[] = [
  ...differences(
    "rollups",
    COUNTED,
    ["hour", "model", "host", "status", "callback"],
    ["tasks", "attempts"],
  ),
  ...differences("latencies", MEASURED, ["hour", "measure", "bucket"], ["tasks", "total_ms"]),
];

/**
 * Counts the tasks that were created within `reachMs` anew, hour by hour: exact, however often and in
 * whatever order their rows arrived. Hours beyond it stay as they were counted. @param now Unix milliseconds.
 */
export async function rollUp(db: D1Database, reachMs: number, now: number): Promise<void> {
  const database = await ready(db);
  const begin = Math.ceil((now - reachMs) / HOUR_MS) * HOUR_MS;
  const present = now - (now % RANGE_MS);
  const isFull = now % HOUR_MS < FULL_WITHIN_MS;
  for (let from = isFull ? begin - (begin % RANGE_MS) : present; from <= now; from += RANGE_MS) {
    const range = [Math.max(from, begin), from + RANGE_MS];
    await database.batch(STATEMENTS.map((sql) => database.prepare(sql).bind(...range)));
  }
  const old = ["rollups", "latencies"].map((table) =>
    database.prepare(`DELETE FROM ${table} WHERE hour < ?`).bind(now - KEEP_MS),
  );
  await database.batch(old);
}

function differences(
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
