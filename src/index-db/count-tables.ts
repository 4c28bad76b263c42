import { OUTCOMES } from "../core/record/outcome.ts";
import { bucketOf, FOUND_LATE, MEASURES } from "./buckets.ts";

/**
 * Largest number of receivers' hosts that are counted by name in an hour: those with the most failed
 * callbacks. The others are counted together as `*`, because clients choose the hosts and could fill the
 * table.
 */
const MAX_HOSTS = 100;
/**
 * Largest number of hosts that one part of a busy hour keeps apart, from which `MAX_HOSTS` are chosen once all
 * parts are counted.
 */
const MAX_HOSTS_OF_PART = 1_000;

/** Condition for the rows of one part of an hour: those after a position up to and including another. */
const OF_PART = "(created_at, id) > (?3, ?4) AND (created_at, id) <= (?5, ?6)";
/**
 * Condition under which the count `?2` of the hour `?1` may write: it still holds the hour, and has come to the
 * position from which this part begins. So no part is added twice, and a count that was overtaken writes nothing.
 */
export const IS_OWN = `
  EXISTS (SELECT 1 FROM dirty_hours WHERE hour = ?1 AND run = ?2)
  AND (?3, ?4) = (
    SELECT coalesce(max(created_at), ?1), coalesce(max(id), '') FROM count_passes
    WHERE hour = ?1 AND run = ?2
  )`;

/** A table with counts for each hour: its name, its key columns after the hour, and its columns of numbers. */
interface CountTable {
  readonly name: string;
  readonly keys: readonly string[];
  readonly sums: readonly string[];
  /** Query that counts the tasks of one part of an hour; several rows may have the same key. */
  readonly ofPart: string;
  /**
   * Builds the query that adds up rows with the same key.
   * @param maxHosts largest number of hosts that it names, where the table has hosts.
   */
  readonly added: (from: string, maxHosts: number) => string;
}

/** Columns with the numbers of kept and lost outputs and of the bytes that are kept, which `tasks` has too. */
const COPY_SUMS = ["kept_outputs", "kept_bytes", "lost_outputs"] as const;
/** Columns of the tables `tasks` and `rollups` with credits, by where they are. */
const CREDIT_SUMS = [
  "credits_held",
  "credits_earned",
  "credits_released",
  "credits_refunded",
] as const;

/** Columns of the table `tasks` that a count adds up as they are. */
const ADDED_SUMS = [...COPY_SUMS, ...CREDIT_SUMS] as const;
/** Columns of the table `rollups` with numbers of tasks, attempts, refunds, credits, and copies of outputs and their bytes. */
const TASK_SUMS = [
  "tasks",
  "attempts",
  "refunds",
  ...ADDED_SUMS,
  ...OUTCOMES.map((outcome) => `attempts_${outcome}` as const),
] as const;

const TABLES: readonly CountTable[] = [
  table("rollups", ["model", "host", "status", "callback"], TASK_SUMS, {
    // Few texts of `outcomes` differ, so the JSON is read once for each and not for each task.
    ofPart: `
      SELECT model, '' AS host, status, callback, tasks, attempts, refunds, ${ADDED_SUMS.join(", ")},
        ${OUTCOMES.map((name) => `tasks * coalesce(outcomes ->> '${name}', 0) AS attempts_${name}`).join(", ")}
      FROM (
        SELECT model, status, coalesce(callback, '') AS callback, outcomes, count(*) AS tasks,
          sum(attempts) AS attempts, sum(refunded) AS refunds,
          ${ADDED_SUMS.map((sum) => `sum(${sum}) AS ${sum}`).join(", ")}
        FROM tasks WHERE ${OF_PART} GROUP BY 1, 2, 3, 4
      )`,
  }),
  table("host_counts", ["host", "callback"], ["tasks", "attempts"], {
    ofPart: `
      SELECT host, coalesce(callback, '') AS callback, count(*) AS tasks, sum(attempts) AS attempts
      FROM tasks WHERE ${OF_PART} AND host IS NOT NULL GROUP BY 1, 2`,
    added: namedHosts,
  }),
  table("latencies", ["measure", "bucket"], ["tasks", "total_ms"], { ofPart: latenciesOfPart() }),
  table("found_late", ["provider", "found_by", "bucket"], ["tasks", "total_ms"], {
    ofPart: `
      SELECT coalesce(provider, '') AS provider, coalesce(found_by, '') AS found_by,
        ${bucketOf(FOUND_LATE[1])} AS bucket, count(*) AS tasks, sum(${FOUND_LATE[1]}) AS total_ms
      FROM tasks WHERE ${OF_PART} AND ${FOUND_LATE[1]} IS NOT NULL GROUP BY 1, 2, 3`,
  }),
  table("failures", ["category"], ["tasks"], {
    ofPart: `
      SELECT category, count(*) AS tasks FROM tasks WHERE ${OF_PART} AND category <> '' GROUP BY 1`,
  }),
];

export const COUNT_TABLES: readonly string[] = TABLES.map(({ name }) => name);

/** Statements that add the counts of one part of an hour to those of its earlier parts. */
export const ADD_PART: readonly string[] = TABLES.map(({ name, keys, sums, ofPart, added }) => {
  const parts = partsOf(name);
  return `
    INSERT INTO ${parts} (hour, ${[...keys, ...sums].join(", ")})
    SELECT ?1, ${[...keys, ...sums].join(", ")} FROM (${added(ofPart, MAX_HOSTS_OF_PART)}) WHERE ${IS_OWN}
    ON CONFLICT (hour, ${keys.join(", ")}) DO UPDATE
    SET ${sums.map((sum) => `${sum} = ${parts}.${sum} + excluded.${sum}`).join(", ")}`;
});

/**
 * Statements that replace the counts of an hour by those of its last part and its earlier parts together. Only
 * counts that differ are written, because D1 bills written rows. A key that has no tasks any more gets the
 * number 0 here.
 */
export const REPLACE: readonly string[] = TABLES.map(({ name, keys, sums, ofPart, added }) => {
  const columns = [...keys, ...sums].join(", ");
  const all = `${ofPart} UNION ALL SELECT ${columns} FROM ${partsOf(name)} WHERE hour = ?1`;
  return `
    INSERT INTO ${name} (hour, ${columns})
    SELECT ?1, ${[...keys, ...sums.map((sum) => `sum(${sum})`)].join(", ")} FROM (
      SELECT ${columns} FROM (${added(all, MAX_HOSTS)})
      UNION ALL
      SELECT ${[...keys, ...sums.map(() => "0")].join(", ")} FROM ${name} WHERE hour = ?1
    )
    WHERE ${IS_OWN} GROUP BY ${keys.join(", ")}
    ON CONFLICT (hour, ${keys.join(", ")}) DO UPDATE
    SET ${sums.map((sum) => `${sum} = excluded.${sum}`).join(", ")}
    WHERE (${sums.map((sum) => `${name}.${sum}`).join(", ")}) IS NOT (${sums.map((sum) => `excluded.${sum}`).join(", ")})`;
});

/** Statements that delete the keys of an hour that have no tasks any more. */
export const REMOVE_GONE: readonly string[] = TABLES.map(
  ({ name }) => `DELETE FROM ${name} WHERE hour = ?1 AND tasks = 0`,
);

/** Tables of a count that has begun: the counts of the earlier parts of an hour, and how far it has come. */
export const TABLES_OF_COUNT: readonly string[] = [
  ...TABLES.map(({ name }) => partsOf(name)),
  "count_passes",
];

/**
 * Builds the query for the counts of tasks by receivers' host in some hours. A release before the table
 * `host_counts` counted by model and host together, in `rollups`; the present one leaves the host empty there.
 * @param hours SQL condition for the hours, tested in each table by itself so that neither is read whole.
 */
export function countsByHost(hours: string): string {
  return `
    SELECT host, callback, tasks, attempts FROM host_counts WHERE ${hours}
    UNION ALL
    SELECT host, callback, tasks, attempts FROM rollups WHERE ${hours} AND host <> ''`;
}

function table(
  name: string,
  keys: readonly string[],
  sums: readonly string[],
  { ofPart, added }: Pick<CountTable, "ofPart"> & Partial<CountTable>,
): CountTable {
  return { name, keys, sums, ofPart, added: added ?? ((from) => addedUp(from, keys, sums)) };
}

function partsOf(name: string): string {
  return `${name}_parts`;
}

function addedUp(from: string, keys: readonly string[], sums: readonly string[]): string {
  const columns = [...keys, ...sums.map((sum) => `sum(${sum}) AS ${sum}`)];
  return `SELECT ${columns.join(", ")} FROM (${from}) GROUP BY ${keys.join(", ")}`;
}

function namedHosts(from: string, maxHosts: number): string {
  return `
    WITH counted AS MATERIALIZED (${addedUp(from, ["host", "callback"], ["tasks", "attempts"])}),
    named AS MATERIALIZED (
      SELECT host FROM counted WHERE host <> '*' GROUP BY host
      ORDER BY sum(iif(callback = 'failed', tasks, 0)) DESC, sum(tasks) DESC, host LIMIT ${maxHosts}
    )
    SELECT iif(host IN (SELECT host FROM named), host, '*') AS host, callback,
      sum(tasks) AS tasks, sum(attempts) AS attempts
    FROM counted GROUP BY 1, 2`;
}

/**
 * Builds the query for the latency histograms of one part. It reads each task once, into groups of the same
 * bucket in all histograms.
 */
function latenciesOfPart(): string {
  const names = MEASURES.map(([measure]) => measure);
  const values = MEASURES.map(([measure, value]) => `${value} AS ${measure}_value`);
  const buckets = names.map((name) => `${bucketOf(`${name}_value`)} AS ${name}_bucket`);
  const sums = names.map((name) => `sum(${name}_value) AS ${name}_ms`);
  const histograms = names.map(
    (name) => `
      SELECT '${name}' AS measure, ${name}_bucket AS bucket, tasks, ${name}_ms AS total_ms
      FROM measured WHERE ${name}_bucket IS NOT NULL`,
  );
  return `
    WITH measured AS MATERIALIZED (
      SELECT ${[...buckets, "count(*) AS tasks", ...sums].join(", ")}
      FROM (SELECT ${values.join(", ")} FROM tasks WHERE ${OF_PART})
      GROUP BY ${names.map((_, index) => index + 1).join(", ")}
    )
    ${histograms.join(" UNION ALL ")}`;
}
