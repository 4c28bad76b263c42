import { MINUTE_MS } from "../core/time.ts";
import { sum } from "../core/sum.ts";
import { inEach } from "./each-shard.ts";
import {
  countTasks,
  type Filters,
  type ListedTask,
  listTasks,
  type Page,
  type Position,
  type TaskCount,
} from "./list.ts";
import type { IndexDatabase } from "./index-database.ts";
import type { Shards } from "./shards.ts";

/**
 * A part of a list of tasks that is read at once: a range of creation times, in Unix milliseconds, and the databases of
 * the index in which the rows of this range are.
 */
interface Section {
  readonly databases: readonly IndexDatabase[];
  readonly since: number | null;
  readonly until: number | null;
}

/** Largest number of sections (ranges of creation times) that are read for one page of the list. */
const MAX_SECTIONS = 4;
/**
 * Largest time in milliseconds by which the clock of a task's Durable Object, which sets the creation time, may be
 * ahead of the clock of the Worker that lists tasks.
 */
const CLOCK_SKEW_MS = MINUTE_MS;
/**
 * Lowest possible task id. Tasks with the same creation time are listed by descending id. A position with a certain
 * creation time and this id therefore lies behind all tasks created at that time or later.
 */
const LOWEST_ID = "00000000-0000-0000-0000-000000000000";

/**
 * Lists one page of tasks, newest first. If the index has several databases, only those that may have rows of the page
 * are read.
 * @param now current time, in Unix milliseconds.
 */
export async function listShards(
  shards: Shards,
  filters: Filters,
  after: Position | null,
  limit: number,
  now: number,
): Promise<Page> {
  const tasks: ListedTask[] = [];
  let read = 0;
  for (const { databases, since, until } of sectionsOf(shards, filters, after, now)) {
    if (read === MAX_SECTIONS && until !== null) {
      return { tasks, next: { createdAt: until, id: LOWEST_ID } };
    }
    read += 1;
    const bounds = { ...filters, since, until };
    const readPage = (db: IndexDatabase) => listTasks(db, bounds, after, limit - tasks.length);
    const pages = await inEach(databases, readPage);
    const page = merge(pages, limit - tasks.length);
    tasks.push(...page.tasks);
    if (page.next !== null) return { tasks, next: page.next };
  }
  return { tasks, next: null };
}

/**
 * Counts the tasks of a list that follow a position, in all databases. In each database only the newest 10,000 rows
 * after the position are examined.
 */
export async function countShards(
  { databases }: Shards,
  filters: Filters,
  after: Position | null,
): Promise<TaskCount> {
  const counts = await inEach(databases, (db) => countTasks(db, filters, after));
  return {
    count: sum(counts.map((part) => part.count)),
    isCapped: counts.some(({ isCapped }) => isCapped),
  };
}

/**
 * Divides a list of tasks into sections by creation time, newest first. The databases of the index take the tasks of
 * successive spans of creation time in turn. Each of the latest spans is a section whose rows are in one database; all
 * earlier times are one section whose rows may be in any database.
 */
function* sectionsOf(
  shards: Shards,
  filters: Filters,
  after: Position | null,
  now: number,
): Generator<Section> {
  const { databases, spanMs } = shards;
  if (databases.length === 1)
    return yield { databases, since: filters.since, until: filters.until };
  const newest = Math.floor((now + CLOCK_SKEW_MS) / spanMs);
  const oldest = newest - databases.length + 1;
  const upper = Math.min(filters.until ?? Infinity, (after?.createdAt ?? Infinity) + 1);
  const lower = filters.since ?? -Infinity;
  for (let span = newest; span >= oldest; span--) {
    const since = Math.max(lower, span * spanMs);
    const until = Math.min(upper, (span + 1) * spanMs);
    if (since < until) yield { databases: [shards.at(since)], since, until };
  }
  const until = Math.min(upper, oldest * spanMs);
  if (lower < until) yield { databases, since: filters.since, until };
}

/**
 * Merges the pages that several databases have returned for the same range of creation times. If a database has more
 * rows than it has returned, the merged page ends at the last row of that database; rows of other databases after it
 * belong to the next page.
 */
function merge(pages: readonly Page[], limit: number): Page {
  const [only, ...others] = pages;
  if (only !== undefined && others.length === 0) return only;
  const [end = null] = pages.flatMap(({ next }) => next ?? []).toSorted(newestFirst);
  const all = pages.flatMap(({ tasks }) => tasks).toSorted(newestFirst);
  const known = end === null ? all : all.filter((task) => newestFirst(task, end) <= 0);
  const tasks = known.slice(0, limit);
  const last = tasks.at(-1);
  if (last === undefined || tasks.length === known.length) return { tasks, next: end };
  return { tasks, next: { createdAt: last.createdAt, id: last.id } };
}

function newestFirst(a: Position, b: Position): number {
  if (a.createdAt !== b.createdAt) return b.createdAt - a.createdAt;
  if (a.id === b.id) return 0;
  return a.id < b.id ? 1 : -1;
}
