import { OUTCOMES } from "../core/record/outcome.ts";
import { bucketOf, JOB_BOUNDS_MS, MEASURES } from "./buckets.ts";

/**
 * Kinds of counts, with the names of their columns as readers see them. A row of a kind contains the number of tasks
 * (or attempts, or another value) of one hour that have the same `keys`, and the total of the value that `sum` names.
 *
 * The kind `sums` adds up columns of the tasks (`SUMMED`) over all tasks of the hour; its key is the name of the
 * column. The key `host` is `*` for hosts that are not counted by name. The kinds `job_times` and
 * `job_failures` count the ended tasks of each connection to a provider: completed ones by the time of their job
 * (`jobMs` of the index row), failed ones by the category of the failure. The kind `expiry_lost` counts the tasks that
 * were still stored by their Durable Objects after the end of their retention, in the hour in which this was found.
 */
export const KINDS = {
  tasks: { keys: ["model", "status", "callback"], number: "tasks", sum: "attempts" },
  outcomes: { keys: ["outcome"], number: "attempts", sum: null },
  failures: { keys: ["category"], number: "tasks", sum: null },
  sums: { keys: ["column"], number: "value", sum: null },
  hosts: { keys: ["host", "callback"], number: "tasks", sum: "attempts" },
  latencies: { keys: ["measure", "bucket"], number: "tasks", sum: "totalMs" },
  found_late: { keys: ["provider", "foundBy", "bucket"], number: "tasks", sum: "totalMs" },
  job_times: { keys: ["provider", "bucket"], number: "tasks", sum: "totalMs" },
  job_failures: { keys: ["provider", "category"], number: "tasks", sum: null },
  expiry_lost: { keys: [], number: "tasks", sum: null },
} as const satisfies Readonly<Record<string, KindOfCount>>;

interface KindOfCount {
  readonly keys: readonly string[];
  readonly number: string;
  readonly sum: string | null;
}

export type Kind = keyof typeof KINDS;

type KeyOf<K extends Kind> = (typeof KINDS)[K]["keys"][number];
type SumOf<K extends Kind> = Extract<(typeof KINDS)[K]["sum"], string>;

/** Counts of one kind (`KINDS`) that have the same keys, added up over some hours. */
export type CountRow<K extends Kind> = Readonly<Record<Exclude<KeyOf<K>, "bucket">, string>> &
  Readonly<Record<Extract<KeyOf<K>, "bucket"> | (typeof KINDS)[K]["number"] | SumOf<K>, number>>;

/**
 * Number of tasks with the same model, status and callback status, and number of their callback attempts. The callback
 * status is empty for tasks without a callback.
 */
export type Count = CountRow<"tasks">;

/** Columns of `index_rows` that the kind `sums` adds up. */
export const SUMMED = [
  "refunded",
  "kept_outputs",
  "kept_bytes",
  "lost_outputs",
  "credits_held",
  "credits_earned",
  "credits_released",
  "credits_refunded",
] as const;

export type Summed = (typeof SUMMED)[number];

/** Returns the name of the column of the table `counts` that contains the given key or number of a kind. */
export function columnOf(kind: Kind, name: string): string {
  const { keys, number, sum }: KindOfCount = KINDS[kind];
  if (name === number) return "number";
  return name === sum ? "sum" : `key${keys.indexOf(name) + 1}`;
}

/** Returns an SQL condition that selects the rows of the table `counts` of the given kinds. */
export function kindsIn(kinds: readonly Kind[]): string {
  return `kind IN (${kinds.map((kind) => `'${kind}'`).join(", ")})`;
}

/**
 * Largest number of receivers' hosts that are counted by name in an hour: those with the most failed callbacks. All
 * others are counted together as `*`, because clients choose the hosts and could fill the table.
 */
export const MAX_HOSTS = 100;
/**
 * Largest number of hosts that are counted by name in one part of an hour. From these, `MAX_HOSTS` are chosen when all
 * parts of the hour are counted.
 */
export const MAX_HOSTS_OF_PART = 1_000;

/**
 * SQL condition for the rows of one part of an hour. These are the rows after the position `?3`, `?4`, up to and
 * including the position `?5`, `?6`.
 */
const OF_PART = "(created_at, id) > (?3, ?4) AND (created_at, id) <= (?5, ?6)";

/** One query over a part of the rows of an hour, whose result has the counts of one or more kinds. */
export interface Scan {
  readonly kinds: readonly Kind[];
  /**
   * Query for the counts of one part of an hour's rows. Its result has the columns of the table `counts`; several of
   * its rows may have the same keys.
   */
  readonly ofPart: string;
  /** True when the query counts only the most important hosts by name, and all others together. Absent otherwise. */
  readonly hasHosts?: boolean;
}

/**
 * Queries over a part of the rows of an hour. Together they count all kinds. D1 permits five terms in a compound
 * `SELECT`, so one query counts at most four kinds.
 */
export const SCANS: readonly Scan[] = [
  {
    kinds: ["tasks", "outcomes", "failures", "sums"],
    // Few texts of `outcomes` differ, so the JSON is read once for each and not for each task.
    ofPart: `
      WITH grouped AS MATERIALIZED (
        SELECT model, status, coalesce(callback, '') AS callback, outcomes, coalesce(category, '') AS category,
          count(*) AS tasks, sum(attempts) AS attempts, ${SUMMED.map((name) => `sum(${name}) AS ${name}`).join(", ")}
        FROM index_rows WHERE ${OF_PART} GROUP BY 1, 2, 3, 4, 5
      ), summed (columns) AS (
        SELECT json_object(${SUMMED.map((name) => `'${name}', sum(${name})`).join(", ")}) FROM grouped
      )
      ${count("tasks", ["model", "status", "callback"], "tasks", "attempts")} FROM grouped
      UNION ALL
      ${count("outcomes", ["ended.key"], "tasks * ended.value")} FROM grouped, json_each(outcomes) AS ended
      UNION ALL
      ${count("failures", ["category"], "tasks")} FROM grouped WHERE category <> ''
      UNION ALL
      ${count("sums", ["entry.key"], "entry.value")} FROM summed, json_each(columns) AS entry WHERE entry.value > 0`,
  },
  {
    kinds: ["hosts"],
    ofPart: `
      ${count("hosts", ["host", "coalesce(callback, '')"], "count(*)", "sum(attempts)")}
      FROM index_rows WHERE ${OF_PART} AND host IS NOT NULL GROUP BY 2, 3`,
    hasHosts: true,
  },
  { kinds: ["latencies"], ofPart: latenciesOfPart() },
  {
    kinds: ["found_late", "job_times", "job_failures"],
    ofPart: `
      WITH ended AS MATERIALIZED (
        SELECT coalesce(provider, '') AS provider, status, coalesce(category, 'unknown') AS category,
          coalesce(found_by, '') AS found_by, ${bucketOf("found_late_ms")} AS found_bucket,
          ${bucketOf("job_ms", JOB_BOUNDS_MS)} AS job_bucket,
          count(*) AS tasks, sum(found_late_ms) AS found_ms, sum(job_ms) AS job_ms
        FROM index_rows
        WHERE ${OF_PART} AND finished_at IS NOT NULL AND (provider IS NOT NULL OR found_late_ms IS NOT NULL)
        GROUP BY 1, 2, 3, 4, 5, 6
      )
      ${count("found_late", ["provider", "found_by", "found_bucket"], "tasks", "found_ms")}
      FROM ended WHERE found_bucket IS NOT NULL
      UNION ALL
      ${count("job_times", ["provider", "job_bucket"], "tasks", "job_ms")}
      FROM ended WHERE provider <> '' AND status = 'completed' AND job_bucket IS NOT NULL
      UNION ALL
      ${count("job_failures", ["provider", "category"], "tasks")}
      FROM ended WHERE provider <> '' AND status = 'failed'`,
  },
];

/**
 * Builds the `SELECT` clause of a query for counts of one kind, with the columns of the table `counts`.
 * @param keys SQL expressions of the keys.
 */
function count(kind: Kind, keys: readonly string[], number: string, sum = "0"): string {
  const [key1 = "''", key2 = "''", key3 = "''"] = keys;
  return `SELECT '${kind}' AS kind, ${key1} AS key1, ${key2} AS key2, ${key3} AS key3, ${number} AS number, ${sum} AS sum`;
}

/**
 * Builds the query for the latency histograms of one part of an hour. It reads each task once, and first groups the
 * tasks that fall into the same bucket of every histogram.
 */
function latenciesOfPart(): string {
  const names = MEASURES.map(([measure]) => measure);
  const values = MEASURES.map(([measure, value]) => `${value} AS ${measure}_value`);
  const buckets = names.map((name) => `${bucketOf(`${name}_value`)} AS ${name}_bucket`);
  const sums = names.map((name) => `sum(${name}_value) AS ${name}_ms`);
  const histograms = names.map(
    (name) => `
      ${count("latencies", [`'${name}'`, `${name}_bucket`], "tasks", `${name}_ms`)}
      FROM measured WHERE ${name}_bucket IS NOT NULL`,
  );
  return `
    WITH measured AS MATERIALIZED (
      SELECT ${[...buckets, "count(*) AS tasks", ...sums].join(", ")}
      FROM (SELECT ${values.join(", ")} FROM index_rows WHERE ${OF_PART})
      GROUP BY ${names.map((_, index) => index + 1).join(", ")}
    )
    ${histograms.join(" UNION ALL ")}`;
}

/**
 * The totals: numbers of all tasks that the index has ever counted. Each entry has the name of the total, the kind of
 * the counts that it adds up, and the key and value to which these counts are limited (null for no limit). Each outcome
 * has a total of the callback attempts that ended with it. The totals of outputs are the copies that were made, their
 * bytes, and the copies that were given up.
 */
const SOURCES = [
  ["accepted", "tasks", null, null],
  ["ended.completed", "tasks", "status", "completed"],
  ["ended.failed", "tasks", "status", "failed"],
  ["refunds", "sums", "column", "refunded"],
  ["outputs.kept", "sums", "column", "kept_outputs"],
  ["outputs.bytes", "sums", "column", "kept_bytes"],
  ["outputs.lost", "sums", "column", "lost_outputs"],
  ...OUTCOMES.map((name) => [`outcome.${name}`, "outcomes", "outcome", name] as const),
] as const;

export const TOTALS = SOURCES.map(([name]) => name);

export type TotalName = (typeof TOTALS)[number];

/**
 * SQL query for the amounts that the counts of the hour `?1` contribute to the totals, as one JSON object in the column
 * `sums`.
 */
export const SUMS_OF_HOUR = `
  SELECT json_object(${SOURCES.map(([name, kind, key, value]) => {
    const ofKey = key === null ? "" : ` AND ${columnOf(kind, key)} = '${value}'`;
    return `'${name}', coalesce(sum(iif(kind = '${kind}'${ofKey}, number, 0)), 0)`;
  }).join(", ")}) AS sums
  FROM counts WHERE run = '' AND ${kindsIn(["tasks", "outcomes", "sums"])} AND hour = ?1`;
