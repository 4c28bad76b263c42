import { DAY_MS, HOUR_MS, MINUTE_MS } from "../core/time.ts";
import type { TimeBudget } from "../lib/time-budget.ts";
import {
  ADD_PART,
  COUNT_TABLES,
  IS_OWN,
  REMOVE_GONE,
  REPLACE,
  TABLES_OF_COUNT,
} from "./count-tables.ts";
import { ready, READY_QUERIES } from "./database.ts";
import type { Position } from "./list.ts";
import {
  removalOfSummaries,
  SUMMARY_QUERIES,
  summaryWrites,
  writeStaleSummaries,
} from "./summaries.ts";
import { ADVANCE, SUMS_OF_HOUR } from "./totals.ts";

/**
 * Length of a quarter of a day in milliseconds. The tasks of an hour of the present quarter whose rows have changed
 * are counted again at every run of the cron trigger, those of earlier quarters once an hour.
 */
const RANGE_MS = 6 * HOUR_MS;
const KEEP_MS = 400 * DAY_MS;
/**
 * Minutes at the beginning of each hour, in milliseconds. A run of the cron trigger that falls into them counts all
 * hours whose rows have changed; any other run counts only the hours of the present quarter of the day (`RANGE_MS`).
 * The first run of a day also deletes old counts.
 */
const FIRST_MS = 10 * MINUTE_MS;
/**
 * Largest number of rows of `tasks` that one statement counts. D1 counts most of them twice as read: in the table,
 * and as sorted into groups. An hour with more rows is counted in parts, because other queries wait meanwhile, and
 * D1 ends a statement after 30 seconds.
 */
export const PART_ROWS = 100_000;

/** Statements that delete the counts of the hours before `?1`, in Unix milliseconds. */
const REMOVALS = [...COUNT_TABLES, "counters", "stale_hours"].map(
  (name) => `DELETE FROM ${name} WHERE hour < ?1`,
);
/**
 * Statements that delete, for the hours up to `?1` (Unix milliseconds), which are not counted any more, the marks
 * for counting them and the parts of counts that were not finished.
 */
const REMOVALS_OF_UNCOUNTED = ["dirty_hours", ...TABLES_OF_COUNT].map(
  (name) => `DELETE FROM ${name} WHERE hour <= ?1`,
);
const REMOVAL_QUERIES = REMOVALS.length + REMOVALS_OF_UNCOUNTED.length + 1;

const DIRTY_HOURS = `
  SELECT hours.hour, passes.run, passes.created_at AS createdAt, passes.id, EXISTS (
    SELECT 1 FROM dirty_hours WHERE hour = hours.hour AND run = passes.run
  ) AS isHeld
  FROM (SELECT DISTINCT hour FROM dirty_hours WHERE hour >= ?1 AND hour > ?2) AS hours
  LEFT JOIN count_passes AS passes ON passes.hour = hours.hour
  ORDER BY hours.hour DESC`;
const UNMARK = "DELETE FROM dirty_hours WHERE hour = ?1";
const CLAIM = "INSERT INTO dirty_hours (hour, run) VALUES (?1, ?2)";
const RELEASE = `${UNMARK} AND run = ?2`;
const FORGET = TABLES_OF_COUNT.map((name) => `DELETE FROM ${name} WHERE hour = ?1`);
/** Statements that delete the stored parts of the count `?2`, unless another has taken the hour over. */
const FORGET_OWN = FORGET.map(
  (sql) => `${sql} AND EXISTS (SELECT 1 FROM dirty_hours WHERE hour = ?1 AND run = ?2)`,
);
/** Query for the last row of the next part of an hour; none if the rest of the hour is the last part. */
const END_OF_PART = `
  SELECT created_at AS createdAt, id FROM tasks
  WHERE (created_at, id) > (?2, ?3) AND created_at < ?1 + ${HOUR_MS}
  ORDER BY created_at, id LIMIT 1 OFFSET ?4`;
const ADVANCE_PASS = `
  INSERT OR REPLACE INTO count_passes (hour, run, created_at, id)
  SELECT ?1, ?2, ?5, ?6 WHERE ${IS_OWN}`;

const LOCATE_QUERIES = 2;
const ADD_QUERIES = ADD_PART.length + 1;
/**
 * Number of queries that store the counts of an hour whose parts are all counted: its counts, totals and summaries.
 */
const STORE_QUERIES = REPLACE.length + REMOVE_GONE.length + 1 + SUMMARY_QUERIES + 1;

/** The count of one hour, which is made in parts: where the next part begins. */
interface Pass extends Position {
  readonly hour: number;
  /** Id of this count, under which the hour is held in `dirty_hours`. */
  readonly run: string;
  /** True when an earlier part is stored. */
  readonly hasParts: boolean;
}

/** An hour whose rows have changed since they were counted, and the count of it that was begun, if any. */
interface DirtyHour extends Record<string, unknown> {
  readonly hour: number;
  readonly run: string | null;
  readonly createdAt: number | null;
  readonly id: string | null;
  readonly isHeld: 0 | 1;
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
 * Counts again the tasks of the hours that are marked in `dirty_hours`, because rows of tasks created in them
 * have changed since the last count. Counting the rows instead of incrementing counters gives exact numbers
 * even when rows arrive late, twice or out of order. D1 counts; only positions and sums of an hour leave it.
 * Counts of hours before the retention are not changed, because rows of these hours may have expired.
 *
 * The newest hour is counted first, and the others take turns at being next, so that none waits for long when
 * the budget does not suffice for all.
 * @param retentionMs shortest time between the creation of a task and the expiry of its row.
 * @param now current time, in Unix milliseconds.
 * @param partRows largest number of rows that one statement counts.
 * @returns null when the budget did not suffice to look for hours.
 */
export async function rollUp(
  db: D1Database,
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
    .prepare(DIRTY_HOURS)
    .bind(since, now - retentionMs)
    .all<DirtyHour>();
  let hours = 0;
  for (const dirty of inTurn(results, now)) {
    const isCounted = await countHour(database, dirty, now, budget, partRows);
    if (!isCounted) break;
    hours += 1;
  }
  await writeStaleSummaries(database, budget);
  return { hours, left: results.length - hours };
}

/**
 * Deletes counts of hours before `keptSince`, and what is left of unfinished counts of hours up to `countedSince`.
 */
async function removeOld(
  database: D1Database,
  keptSince: number,
  countedSince: number,
): Promise<void> {
  await database.batch([
    ...REMOVALS.map((sql) => database.prepare(sql).bind(keptSince)),
    ...REMOVALS_OF_UNCOUNTED.map((sql) => database.prepare(sql).bind(countedSince)),
    removalOfSummaries(database, keptSince),
  ]);
}

/** Puts the newest hour first, and lets the others begin at another one in each run of the cron trigger. */
function inTurn([newest, ...others]: readonly DirtyHour[], now: number): readonly DirtyHour[] {
  if (newest === undefined) return [];
  const first = Math.floor(now / FIRST_MS) % Math.max(1, others.length);
  return [newest, ...others.slice(first), ...others.slice(0, first)];
}

/**
 * Counts the tasks of one hour, part after part. The counts of all parts but the last are kept apart
 * (`rollups_parts` …); one transaction replaces the counts of the hour by the sums of all parts, raises the
 * totals (totals.ts) and writes the summary (summaries.ts). So nobody sees the counts of some parts only.
 *
 * The table `dirty_hours` lists the hours to be counted. A count replaces the entries of its hour by one with
 * its own id, which the last transaction deletes. So after a crash the hour is still in the list, and a row
 * that changes during the count puts it in the list again, also when its part is counted already. The next run
 * goes on after the last stored part. If another count has taken the hour over, this one writes nothing.
 * @returns false when the budget did not suffice.
 */
async function countHour(
  database: D1Database,
  dirty: DirtyHour,
  now: number,
  budget: TimeBudget,
  partRows: number,
): Promise<boolean> {
  let pass = passOf(dirty);
  const opening = pass.hasParts ? [] : openings(database, pass, dirty.run !== null);
  if (!budget.has(opening.length + LOCATE_QUERIES + STORE_QUERIES)) return false;
  budget.take(opening.length);
  if (opening.length > 0) await database.batch([...opening]);
  while (budget.take(LOCATE_QUERIES)) {
    const { before, end } = await locate(database, pass, partRows);
    if (end === null) {
      if (!budget.take(STORE_QUERIES + (pass.hasParts ? FORGET.length : 0))) return false;
      await store(database, pass, before, now);
      return true;
    }
    if (!budget.take(ADD_QUERIES)) return false;
    if (!(await addPart(database, pass, end))) return true;
    pass = { ...pass, ...end, hasParts: true };
  }
  return false;
}

/** Returns the count of an hour that was begun, if it still holds the hour, or else a new one. */
function passOf({ hour, run, createdAt, id, isHeld }: DirtyHour): Pass {
  if (isHeld === 1 && run !== null && createdAt !== null && id !== null) {
    return { hour, run, createdAt, id, hasParts: true };
  }
  return { hour, run: crypto.randomUUID(), createdAt: hour, id: "", hasParts: false };
}

/** Returns the statements that begin a count, and delete the parts of an earlier one that lost the hour. */
function openings(
  database: D1Database,
  { hour, run }: Pass,
  hasLeftover: boolean,
): readonly D1PreparedStatement[] {
  return [
    ...(hasLeftover ? FORGET : []).map((sql) => database.prepare(sql).bind(hour)),
    database.prepare(UNMARK).bind(hour),
    database.prepare(CLAIM).bind(hour, run),
  ];
}

/**
 * Finds the end of the next part, null for the last part, and the sums that the hour has in the totals before it
 * is counted again.
 */
async function locate(database: D1Database, { hour, createdAt, id }: Pass, partRows: number) {
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

/** Counts one part and stores its counts. @returns false when another run has counted the part meanwhile. */
async function addPart(database: D1Database, pass: Pass, end: Position): Promise<boolean> {
  const values = valuesOf(pass, end);
  const answers = await database.batch(
    [...ADD_PART, ADVANCE_PASS].map((sql) => database.prepare(sql).bind(...values)),
  );
  return (answers.at(-1)?.meta.changes ?? 0) > 0;
}

/** Counts the last part and stores the counts of the hour, unless another count has taken the hour over. */
async function store(database: D1Database, pass: Pass, before: string, now: number): Promise<void> {
  const { hour, run, createdAt, id, hasParts } = pass;
  const values = valuesOf(pass, { createdAt: hour + HOUR_MS, id: "" });
  await database.batch([
    ...REPLACE.map((sql) => database.prepare(sql).bind(...values)),
    ...REMOVE_GONE.map((sql) => database.prepare(sql).bind(hour)),
    database.prepare(ADVANCE).bind(hour, run, createdAt, id, before, now),
    ...summaryWrites(database, JSON.stringify([hour])),
    ...(hasParts ? FORGET_OWN : []).map((sql) => database.prepare(sql).bind(hour, run)),
    database.prepare(RELEASE).bind(hour, run),
  ]);
}

function valuesOf(pass: Pass, end: Position) {
  return [pass.hour, pass.run, pass.createdAt, pass.id, end.createdAt, end.id] as const;
}
