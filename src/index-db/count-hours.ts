import { DAY_MS, HOUR_MS, MINUTE_MS } from "../core/time.ts";
import type { TimeBudget } from "../lib/time-budget.ts";
import {
  KINDS,
  kindsIn,
  MAX_HOSTS,
  MAX_HOSTS_OF_PART,
  type Scan,
  SCANS,
  SUMS_OF_HOUR,
} from "./count-kinds.ts";
import { ready, READY_QUERIES } from "./database.ts";
import type { Position } from "./list.ts";
import type { IndexDatabase } from "./index-database.ts";
import { SUM_UP_DAY, SUM_UP_HOUR } from "./step-counts.ts";

/**
 * Length of a quarter of a day in milliseconds. An hour whose rows have changed is counted again at every run of the
 * cron trigger if it belongs to the present quarter of the day, otherwise only once an hour.
 */
const RANGE_MS = 6 * HOUR_MS;
const KEEP_MS = 400 * DAY_MS;
/**
 * Length in milliseconds of the first part of each hour. A run of the cron trigger in this part counts the index rows
 * of all hours whose rows have changed; any other run counts only such hours in the present quarter of the day
 * (`RANGE_MS`). Runs in the first part of a UTC day also delete old counts.
 */
const FIRST_MS = 10 * MINUTE_MS;
/**
 * Largest number of rows of tasks that one statement counts. D1 bills most of them as two reads: one from the table,
 * and one when they are grouped. An hour with more rows is counted in parts, because other queries wait meanwhile, and
 * D1 ends a statement after 30 seconds.
 */
export const PART_ROWS = 100_000;

const COLUMNS = "kind, key1, key2, key3";
const COUNTED = kindsIn(SCANS.flatMap(({ kinds }) => kinds));
const ALL_KINDS = Object.keys(KINDS)
  .map((kind) => `'${kind}'`)
  .join(", ");

/** SQL statements that delete the counts of the hours before `?1` (Unix milliseconds). */
const REMOVALS = [
  `DELETE FROM counts WHERE run = '' AND kind IN (${ALL_KINDS}) AND hour < ?1`,
  `DELETE FROM step_counts WHERE step_ms IN (${HOUR_MS}, ${DAY_MS}) AND at < ?1 - ${DAY_MS}`,
];
/**
 * SQL statements about the hours up to `?1` (Unix milliseconds), which are not counted any more. They delete the marks
 * that these hours must be counted, and the parts of unfinished counts.
 */
const REMOVALS_OF_UNCOUNTED = [
  "DELETE FROM counts WHERE run > '' AND hour <= ?1",
  "DELETE FROM hours_to_count WHERE hour <= ?1",
];
const REMOVAL_QUERIES = REMOVALS.length + REMOVALS_OF_UNCOUNTED.length;

const HOURS_TO_COUNT = `
  SELECT hour, run, created_at AS createdAt, id FROM hours_to_count
  WHERE hour >= ?1 AND hour > ?2 ORDER BY hour DESC`;
/**
 * SQL statement that begins the count `?2` of the hour `?1`, unless an earlier count has already counted a part of this
 * hour.
 */
const BEGIN = "UPDATE hours_to_count SET is_changed = 0, run = ?2 WHERE hour = ?1 AND id = ''";
/**
 * SQL query for the last row of the next part of an hour. It returns no row when all remaining rows of the hour fit
 * into one part.
 */
const END_OF_PART = `
  SELECT created_at AS createdAt, id FROM index_rows
  WHERE (created_at, id) > (?2, ?3) AND created_at < ?1 + ${HOUR_MS}
  ORDER BY created_at, id LIMIT 1 OFFSET ?4`;

/**
 * SQL condition that selects the row of `hours_to_count` for the hour `?1`, if the count `?2` is in progress there and
 * has reached the position `?3`, `?4`.
 */
const AT_PART = "hour = ?1 AND run = ?2 AND created_at = ?3 AND id = ?4";
/**
 * SQL condition under which a count may write: the count is still in progress for the hour, and its next part begins at
 * the expected position. Therefore no part is added twice, and a count that was replaced by another one writes nothing.
 */
const IS_OWN = `EXISTS (SELECT 1 FROM hours_to_count WHERE ${AT_PART})`;
const MOVE_ON = `UPDATE hours_to_count SET created_at = ?5, id = ?6 WHERE ${AT_PART}`;

/** SQL statements that add the counts of one part of an hour's rows to those of its earlier parts. */
const ADD_PART = SCANS.map(
  (scan) => `
    INSERT INTO counts (run, kind, hour, key1, key2, key3, number, sum)
    SELECT ?2, kind, ?1, key1, key2, key3, sum(number), sum(sum)
    FROM (${withNamedHosts(scan, scan.ofPart, MAX_HOSTS_OF_PART)}) WHERE ${IS_OWN} GROUP BY ${COLUMNS}
    ON CONFLICT (run, kind, hour, key1, key2, key3) DO UPDATE
    SET number = counts.number + excluded.number, sum = counts.sum + excluded.sum`,
);

/**
 * SQL statements that replace the counts of an hour by the sums of its last part and its earlier parts. Only counts
 * that have changed are written, because D1 bills written rows. Keys that no task has any more get the number 0.
 */
const REPLACE = SCANS.map((scan) => {
  const ofHour = `${kindsIn(scan.kinds)} AND hour = ?1`;
  const parts = `SELECT ${COLUMNS}, number, sum FROM counts WHERE run = ?2 AND ${ofHour}`;
  return `
    INSERT INTO counts (run, kind, hour, key1, key2, key3, number, sum)
    SELECT '', kind, ?1, key1, key2, key3, sum(number), sum(sum) FROM (
      SELECT * FROM (${withNamedHosts(scan, `${scan.ofPart} UNION ALL ${parts}`, MAX_HOSTS)})
      UNION ALL
      SELECT ${COLUMNS}, 0, 0 FROM counts WHERE run = '' AND ${ofHour}
    )
    WHERE ${IS_OWN} GROUP BY ${COLUMNS}
    ON CONFLICT (run, kind, hour, key1, key2, key3) DO UPDATE
    SET number = excluded.number, sum = excluded.sum
    WHERE (counts.number, counts.sum) IS NOT (excluded.number, excluded.sum)`;
});
const REMOVE_GONE = `DELETE FROM counts WHERE run = '' AND ${COUNTED} AND hour = ?1 AND number = 0`;

/**
 * SQL statement that raises the totals after the hour `?1` was counted again, by the difference between its present
 * sums and `?5`, those before the count; `?6` is the present time. A sum that has become smaller, because a task was
 * erased, does not lower its total.
 */
const RAISE_TOTALS = `
  INSERT INTO totals (name, value, advanced_at)
  SELECT key, value - before, ?6
  FROM (SELECT key, value, ?5 ->> ('$."' || key || '"') AS before FROM json_each((${SUMS_OF_HOUR})))
  WHERE value > before AND ${IS_OWN}
  ON CONFLICT (name) DO UPDATE
  SET value = totals.value + excluded.value, advanced_at = excluded.advanced_at`;

/** SQL statement that deletes the counts of single parts of an hour's rows, once the whole hour is counted. */
const FORGET_PARTS = `DELETE FROM counts WHERE run = ?2 AND hour = ?1 AND ${IS_OWN}`;
/**
 * SQL statements that end the count of an hour. The hour stays in `hours_to_count` if one of its rows was written
 * during the count.
 */
const END = [
  `DELETE FROM hours_to_count WHERE ${AT_PART} AND is_changed = 0`,
  `UPDATE hours_to_count SET run = '', created_at = ?1, id = '' WHERE ${AT_PART}`,
];

const LOCATE_QUERIES = 2;
const ADD_QUERIES = ADD_PART.length + 1;
/** Number of queries that store the counts of an hour once all parts of its rows are counted. */
const STORE_QUERIES = REPLACE.length + 4 + END.length;

/** SQL statement that adds `?3` to the number of the kind `?1` in the hour `?2`. */
const ADD = `
  INSERT INTO counts (run, kind, hour, key1, key2, key3, number, sum) VALUES ('', ?1, ?2, '', '', '', ?3, 0)
  ON CONFLICT (run, kind, hour, key1, key2, key3) DO UPDATE SET number = counts.number + excluded.number`;
/** Number of queries that `addToHour` makes when no step of the database schema is missing. */
export const ADD_TO_HOUR_QUERIES = 1;

/**
 * A count of an hour that is in progress. It counts the hour in parts; the position is the beginning of the next part.
 */
interface Pass extends Position {
  readonly hour: number;
  /** Id of this count. It stands in the row of the hour in `hours_to_count` as long as the count is in progress. */
  readonly run: string;
  /** True when the counts of an earlier part of the hour's rows are stored. */
  readonly hasParts: boolean;
}

/**
 * A row of `hours_to_count`. While no count of the hour is in progress, `run` is empty, and the position is the
 * beginning of the hour.
 */
interface ListedHour extends Position {
  readonly hour: number;
  readonly run: string;
}

/**
 * Numbers of hours in one database: those that a run of the cron trigger has counted (`hours`), and those that it
 * has left to a later run (`left`).
 */
export interface CountedHours {
  readonly hours: number;
  readonly left: number;
}

/**
 * Counts again the tasks of those hours that are listed in `hours_to_count`, because rows of tasks created in them have
 * changed since the last count. Counting the rows instead of incrementing counters gives exact numbers even when rows
 * arrive late, twice or in any order. D1 itself counts; only positions and the sums of an hour are sent to the relay.
 * Counts of hours before the retention are not changed, because rows of these hours may have expired.
 *
 * The newest hour is counted first. The others take turns at being the next, so that none waits for long when the
 * budget is too small for all.
 * @param retentionMs shortest time between the creation of a task and the expiry of its row, in milliseconds.
 * @param now current time, in Unix milliseconds.
 * @param partRows largest number of rows that one statement counts.
 * @returns the numbers of hours; null when the budget was too small to look for hours.
 */
export async function countHours(
  db: IndexDatabase,
  retentionMs: number,
  now: number,
  budget: TimeBudget,
  partRows = PART_ROWS,
): Promise<CountedHours | null> {
  if (!budget.take(READY_QUERIES + 1)) return null;
  const database = await ready(db);
  if (now % DAY_MS < FIRST_MS && budget.take(REMOVAL_QUERIES)) {
    await removeOld(database, now - KEEP_MS, now - retentionMs);
  }
  const since = now % HOUR_MS < FIRST_MS ? 0 : now - (now % RANGE_MS);
  const { results } = await database
    .prepare(HOURS_TO_COUNT)
    .bind(since, now - retentionMs)
    .all<ListedHour>();
  let hours = 0;
  for (const listed of inTurn(results, now)) {
    const isCounted = await countHour(database, listed, now, budget, partRows);
    if (!isCounted) break;
    hours += 1;
  }
  return { hours, left: results.length - hours };
}

/**
 * Adds to the number of tasks of one kind in the hour of `now` (Unix milliseconds). It is for a kind that is not
 * counted from the rows of tasks.
 */
export async function addToHour(
  db: IndexDatabase,
  kind: "expiry_lost",
  number: number,
  now: number,
): Promise<void> {
  if (number === 0) return;
  const database = await ready(db);
  await database
    .prepare(ADD)
    .bind(kind, now - (now % HOUR_MS), number)
    .run();
}

/**
 * Deletes the counts of the hours before `keptSince`. For the hours up to `countedSince`, which are not counted any
 * more, deletes the parts of unfinished counts and the marks that these hours must be counted.
 */
async function removeOld(
  database: IndexDatabase,
  keptSince: number,
  countedSince: number,
): Promise<void> {
  await database.batch([
    ...REMOVALS.map((sql) => database.prepare(sql).bind(keptSince)),
    ...REMOVALS_OF_UNCOUNTED.map((sql) => database.prepare(sql).bind(countedSince)),
  ]);
}

/**
 * Returns the hours in the order in which they are counted. The newest hour is always the first. Of the others, each
 * run of the cron trigger begins with another one.
 */
function inTurn([newest, ...others]: readonly ListedHour[], now: number): readonly ListedHour[] {
  if (newest === undefined) return [];
  const first = Math.floor(now / FIRST_MS) % Math.max(1, others.length);
  return [newest, ...others.slice(first), ...others.slice(0, first)];
}

/**
 * Counts the tasks of one hour, part after part. The counts of all parts except the last are stored under the id of the
 * count (`run`). One transaction then replaces the counts of the hour by the sums of all parts, raises the totals, and
 * updates the sums by hour and day (`step_counts`), so that no reader sees the counts of only some parts.
 *
 * The count first clears the mark of its hour in `hours_to_count` and stores its id there; its last transaction deletes
 * this row. After a crash the hour is therefore still listed, and the next run continues after the last stored part
 * under the same id. If a row of a task changes during the count, it marks the hour again, even when its part was
 * counted already. A count that was replaced by another one writes nothing.
 * @returns false when the budget was too small.
 */
async function countHour(
  database: IndexDatabase,
  listed: ListedHour,
  now: number,
  budget: TimeBudget,
  partRows: number,
): Promise<boolean> {
  let pass: Pass =
    listed.id === ""
      ? { ...listed, run: crypto.randomUUID(), hasParts: false }
      : { ...listed, hasParts: true };
  if (!budget.has(1 + LOCATE_QUERIES + STORE_QUERIES)) return false;
  if (!pass.hasParts) {
    budget.take(1);
    await database.prepare(BEGIN).bind(pass.hour, pass.run).run();
  }
  while (budget.take(LOCATE_QUERIES)) {
    const { before, end } = await locate(database, pass, partRows);
    if (end === null) {
      if (!budget.take(STORE_QUERIES + (pass.hasParts ? 1 : 0))) return false;
      await store(database, pass, before, now);
      return true;
    }
    if (!budget.take(ADD_QUERIES)) return false;
    if (!(await addPart(database, pass, end))) return true;
    pass = { ...pass, ...end, hasParts: true };
  }
  return false;
}

/**
 * Finds the last row of the next part of an hour (null for the last part), and the sums of the hour before it is
 * counted again. The totals are later raised by the difference to these sums.
 */
async function locate(database: IndexDatabase, { hour, createdAt, id }: Pass, partRows: number) {
  const [sums, ends] = await database.batch<Record<string, unknown>>([
    database.prepare(SUMS_OF_HOUR).bind(hour),
    database.prepare(END_OF_PART).bind(hour, createdAt, id, partRows - 1),
  ]);
  const before = sums?.results[0]?.["sums"];
  if (typeof before !== "string" || ends === undefined)
    throw new Error("D1 gave no answer to a query");
  return { before, end: positionOf(ends.results[0]) };
}

function positionOf(row: Record<string, unknown> | undefined): Position | null {
  if (row === undefined) return null;
  const { createdAt, id } = row;
  if (typeof createdAt === "number" && typeof id === "string") return { createdAt, id };
  throw new Error("D1 answered with a row of another shape");
}

/**
 * Counts one part of an hour and stores its counts.
 * @returns false when another count of the hour has counted this part in the meantime.
 */
async function addPart(database: IndexDatabase, pass: Pass, end: Position): Promise<boolean> {
  const values = [...positionIn(pass), end.createdAt, end.id];
  const answers = await database.batch(
    [...ADD_PART, MOVE_ON].map((sql) => database.prepare(sql).bind(...values)),
  );
  return (answers.at(-1)?.meta.changes ?? 0) > 0;
}

/**
 * Counts the last part of an hour and replaces the counts of the hour, unless another count of the same hour has
 * replaced this one.
 */
async function store(
  database: IndexDatabase,
  pass: Pass,
  before: string,
  now: number,
): Promise<void> {
  const { hour, hasParts } = pass;
  const position = positionIn(pass);
  await database.batch([
    ...REPLACE.map((sql) => database.prepare(sql).bind(...position, hour + HOUR_MS, "")),
    database.prepare(REMOVE_GONE).bind(hour),
    database.prepare(RAISE_TOTALS).bind(...position, before, now),
    database.prepare(SUM_UP_HOUR).bind(hour),
    database.prepare(SUM_UP_DAY).bind(hour - (hour % DAY_MS)),
    ...(hasParts ? [FORGET_PARTS, ...END] : END).map((sql) =>
      database.prepare(sql).bind(...position),
    ),
  ]);
}

function positionIn({ hour, run, createdAt, id }: Pass) {
  return [hour, run, createdAt, id] as const;
}

/**
 * Returns a query for the same counts as `from`, but with `*` in place of all hosts except those that are counted by
 * name. A query for counts that are not by host is returned unchanged.
 * @param from query for the counts.
 */
function withNamedHosts({ hasHosts }: Scan, from: string, maxHosts: number): string {
  if (hasHosts !== true) return from;
  return `
    WITH counted AS MATERIALIZED (
      SELECT ${COLUMNS}, sum(number) AS number, sum(sum) AS sum FROM (${from}) GROUP BY ${COLUMNS}
    ), named AS MATERIALIZED (
      SELECT key1 FROM counted WHERE key1 <> '*' GROUP BY key1
      ORDER BY sum(iif(key2 = 'failed', number, 0)) DESC, sum(number) DESC, key1 LIMIT ${maxHosts}
    )
    SELECT kind, iif(key1 IN (SELECT key1 FROM named), key1, '*') AS key1, key2, key3, number, sum
    FROM counted`;
}
