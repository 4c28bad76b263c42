import { type Outcome, OUTCOMES } from "../core/record/outcome.ts";
import { type FOUND_LATE, MEASURES, type Measure } from "./buckets.ts";

type Counted = Measure | (typeof FOUND_LATE)[0];

/**
 * Number of the tasks created in one hour that belong to the same group, with the sums of their attempts and
 * latencies. The tasks of a group have the same model, host, status, callback status, provider, source of the
 * result (hook, poll or report), category of the failure, and latency buckets.
 */
export type Group = {
  readonly hour: number;
  readonly model: string;
  /** Host of the receiver; empty when the tasks have no `callback_url`. */
  readonly host: string;
  readonly status: string;
  /** Status of the callback; empty when the tasks have no `callback_url`. */
  readonly callback: string;
  /** Name of the configured connection to a provider; empty when the tasks name none. */
  readonly provider: string;
  /**
   * Source of the results: the hook of the provider, a poll of it, or a report of the operator; empty when it
   * is not known.
   */
  readonly foundBy: string;
  /** Category of the failure; empty when the tasks have not failed, and when it is not known. */
  readonly category: string;
  readonly tasks: number;
  readonly attempts: number;
  readonly refunds: number;
} & {
  /** Number of the attempts of these tasks that have ended with an outcome. */
  readonly [O in `attempts_${Outcome}`]: number;
} & {
  /**
   * Number of the bucket of a latency histogram into which a measured time of these tasks falls, e.g.
   * `settled_bucket` for the time from the result to the end of the automatic callback attempts; null for
   * tasks whose row does not have this time.
   */
  readonly [M in `${Counted}_bucket`]: number | null;
} & {
  /**
   * Sum of the times that a latency histogram measures, over these tasks, in milliseconds, e.g. `settled_ms`
   * for the time from the result to the end of the automatic callback attempts; null for tasks whose row does
   * not have this time.
   */
  readonly [M in `${Counted}_ms`]: number | null;
};

/**
 * Row of a table with counts for each hour: its key, which begins with the hour, and its sums. In the table
 * `rollups` the sums are the numbers of tasks, of their attempts, of their refunds and of their attempts with
 * each outcome (`TASK_SUMS`). In the tables `latencies` and `found_late` they are the number of tasks and the
 * sum of their latencies, in `failures` the number of tasks.
 */
export interface CountRow {
  readonly key: readonly (string | number)[];
  readonly sums: readonly number[];
}

/**
 * Largest number of receivers' hosts that are counted by name in an hour: those with the most failed
 * callbacks. The others are counted together as `*`, because clients choose the hosts and could fill the
 * table.
 */
const MAX_HOSTS = 100;

/** Columns of the table `rollups` with numbers of tasks, attempts and refunds. */
export const TASK_SUMS = [
  "tasks",
  "attempts",
  "refunds",
  ...OUTCOMES.map((outcome) => `attempts_${outcome}` as const),
] as const;

/** Adds up the `TASK_SUMS` by hour, model, host, status and callback status, for the table `rollups`. */
export function countTasks(groups: readonly Group[]): readonly CountRow[] {
  const named = namedHosts(groups);
  return summed(
    groups.map((group) => {
      const { hour, model, host, status, callback } = group;
      const shown = host === "" || named.get(hour)?.has(host) === true ? host : "*";
      const sums = TASK_SUMS.map((name) => group[name]);
      return { key: [hour, model, shown, status, callback], sums };
    }),
  );
}

/** Adds up the tasks and their latencies by hour, histogram and bucket, for the table `latencies`. */
export function countLatencies(groups: readonly Group[]): readonly CountRow[] {
  return summed(
    MEASURES.flatMap(([measure]) =>
      groups.flatMap((group): readonly CountRow[] => {
        const bucket = group[`${measure}_bucket`];
        if (bucket === null) return [];
        const totalMs = group[`${measure}_ms`] ?? 0;
        return [{ key: [group.hour, measure, bucket], sums: [group.tasks, totalMs] }];
      }),
    ),
  );
}

/**
 * Adds up the tasks by provider, source of the result (hook, poll or report), and bucket of the time from the
 * end of the job at the provider to the arrival of the result, for the table `found_late`.
 */
export function countFoundLate(groups: readonly Group[]): readonly CountRow[] {
  return summed(
    groups.flatMap((group): readonly CountRow[] => {
      const { hour, provider, foundBy, tasks, found_late_bucket: bucket } = group;
      if (bucket === null) return [];
      return [{ key: [hour, provider, foundBy, bucket], sums: [tasks, group.found_late_ms ?? 0] }];
    }),
  );
}

/** Adds up the failed tasks by hour and category of the failure, where it is known, for the table `failures`. */
export function countFailures(groups: readonly Group[]): readonly CountRow[] {
  const known = groups.filter(({ category }) => category !== "");
  return summed(
    known.map(({ hour, category, tasks }) => ({ key: [hour, category], sums: [tasks] })),
  );
}

/**
 * Compares the stored counts with newly counted ones.
 * @returns the rows to write (`changed`), and the keys of the rows to delete (`gone`).
 */
export function difference(stored: readonly CountRow[], counted: readonly CountRow[]) {
  const known = byKey(stored);
  const current = byKey(counted);
  return {
    changed: [...current].flatMap(([text, row]) => {
      const { sums } = known.get(text) ?? {};
      return String(sums) === String(row.sums) ? [] : [row];
    }),
    gone: [...known].flatMap(([text, { key }]) => (current.has(text) ? [] : [key])),
  };
}

/** Returns for each hour the hosts of receivers that are counted by name; all others are counted together. */
function namedHosts(groups: readonly Group[]): ReadonlyMap<number, ReadonlySet<string>> {
  const hosts = summed(
    groups
      .filter(({ host }) => host !== "")
      .map(({ hour, host, callback, tasks }) => ({
        key: [hour, host],
        sums: [callback === "failed" ? tasks : 0, tasks],
      })),
  );
  const ofHour = Map.groupBy(hosts, ({ key: [hour] }) => Number(hour));
  return new Map(
    [...ofHour].map(([hour, rows]) => {
      const first = rows.toSorted(mostFailuresFirst).slice(0, MAX_HOSTS);
      return [hour, new Set(first.map(({ key: [, host] }) => String(host)))];
    }),
  );
}

function mostFailuresFirst(a: CountRow, b: CountRow): number {
  const [failuresOfA = 0, tasksOfA = 0] = a.sums;
  const [failuresOfB = 0, tasksOfB = 0] = b.sums;
  const order = failuresOfB - failuresOfA || tasksOfB - tasksOfA;
  return order === 0 ? (String(a.key[1]) < String(b.key[1]) ? -1 : 1) : order;
}

/** Replaces the rows with the same key by one row with the sums of their numbers. */
function summed(rows: readonly CountRow[]): readonly CountRow[] {
  const sums = new Map<string, CountRow>();
  for (const row of rows) {
    const text = JSON.stringify(row.key);
    const known = sums.get(text)?.sums ?? [];
    const added = row.sums.map((sum, index) => sum + (known[index] ?? 0));
    sums.set(text, { key: row.key, sums: added });
  }
  return [...sums.values()];
}

function byKey(rows: readonly CountRow[]): ReadonlyMap<string, CountRow> {
  return new Map(rows.map((row) => [JSON.stringify(row.key), row]));
}
