import { isOpenStatus } from "../../core/record/callback.ts";
import { DAY_MS, HOUR_MS } from "../../core/time.ts";
import type { HostCount } from "../../index-db/step-counts.ts";
import type { Found, TroubledTask } from "../../index-db/troubled-tasks.ts";
import type { RecentCounts } from "./recent-counts.ts";

/**
 * Rows and counts of the index from which failing hosts are found: the counts of the last day, the newest callbacks
 * that have failed for good, and the tasks that should change next, some of which wait for another attempt after a
 * failed one.
 */
export interface Failures {
  readonly counts: RecentCounts;
  /** The newest tasks whose callback has failed for good, up to a limit. */
  readonly failed: Found;
  /**
   * Unsettled tasks, i.e. those that have no result, or whose callback or refund is still under way, up to a limit. The
   * one that should change first (by an attempt, a refund or the deadline) comes first.
   */
  readonly next: Found;
}

/** A receiver's host to which callbacks are failing at present. */
export interface FailingHost {
  readonly host: string;
  /** Number of callbacks that have failed for good since the host began to fail. */
  readonly failed: number;
  /** Number of callbacks whose last attempt has failed and for which another attempt is planned or running. */
  readonly sending: number;
  /** True when `failed` may be less than the real number, because not all rows were read. */
  readonly isCapped: boolean;
  /** Time at which the host began to fail, in Unix milliseconds. */
  readonly since: number;
  /** Outcome of the last attempt of the newest failing callback; null when the index does not have it. */
  readonly outcome: string | null;
  readonly statusCode: number | null;
}

/** Smallest number of failing callbacks from which on a host counts as failing. */
const MIN_FAILING = 3;

/** Tells whether the last attempt of a task's callback has failed and another attempt will follow. */
export function isStillSending({ callback, lastOutcome }: TroubledTask): boolean {
  return isOpenStatus(callback) && lastOutcome !== null && lastOutcome !== "delivered";
}

/**
 * Returns when the first attempt of a task's callback began, in Unix milliseconds. When the index does not have this
 * time, returns the time at which the task ended or, if it has not ended, the time at which it was created.
 */
export function firstAttemptAt({ createdAt, finishedAt, firstAttemptMs }: TroubledTask): number {
  return (finishedAt ?? createdAt) + (firstAttemptMs ?? 0);
}

/**
 * Returns when the last attempt of a failed callback ended, in Unix milliseconds. When the index does not have this
 * time, returns the creation time of the task.
 */
export function failedAt({ settledAt, createdAt }: TroubledTask): number {
  return settledAt ?? createdAt;
}

/**
 * Returns the hosts that fail at present, the host with the most failing callbacks first. A callback is failing when it
 * has failed for good within the last hour, or when its last attempt has failed and another one follows. A host fails
 * when it has at least 3 failing callbacks, and no more callbacks than these were delivered to it. Deliveries are
 * counted over the tasks that were created in the present hour and the two hours before it.
 * @param now current time, in Unix milliseconds.
 */
export function failingHosts(failures: Failures, now: number): readonly FailingHost[] {
  const { counts, failed, next } = failures;
  const recent = failed.tasks.filter((task) => now - failedAt(task) < HOUR_MS);
  const sending = next.tasks.filter(isStillSending);
  const ofHost = Map.groupBy([...recent, ...sending], ({ host }) => host ?? "");
  ofHost.delete("");
  const countsOf = Map.groupBy(counts.hosts, ({ host }) => host);
  return [...ofHost]
    .flatMap(([host, tasks]) => {
      const rows = countsOf.get(host) ?? [];
      const delivered = sumOf(rows, "delivered", now - 2 * HOUR_MS);
      if (tasks.length < MIN_FAILING || tasks.length < delivered) return [];
      return [failingHost(host, tasks, rows, failed)];
    })
    .toSorted((a, b) => b.failed + b.sending - (a.failed + a.sending));
}

/**
 * Returns how many callbacks have failed for good within the last day. The rows of tasks know the newest ones at once;
 * the hourly counts, which may be minutes old, know them all.
 * @param now current time, in Unix milliseconds.
 */
export function failedOfDay({ counts, failed }: Omit<Failures, "next">, now: number) {
  const found = failed.tasks.filter((task) => now - failedAt(task) < DAY_MS).length;
  const counted = sumOf(counts.hosts, "failed");
  return { count: Math.max(found, counted), isCapped: failed.isCapped && found > counted };
}

function failingHost(
  host: string,
  tasks: readonly TroubledTask[],
  rows: readonly HostCount[],
  failed: Found,
): FailingHost {
  const run = startOfBadHours(rows);
  const known = failed.tasks.filter((task) => task.host === host);
  const ofRun = run === null ? [] : known.filter((task) => firstAttemptAt(task) >= run);
  const first = Math.min(...[...tasks, ...ofRun].map(firstAttemptAt));
  const since = failed.isCapped && run !== null ? Math.min(first, run) : first;
  const inScan = new Set([...tasks.filter(({ callback }) => callback === "failed"), ...ofRun]).size;
  const counted = run === null ? 0 : sumOf(rows, "failed", run);
  const last = tasks.toSorted((a, b) => failedAt(b) - failedAt(a))[0];
  return {
    host,
    failed: Math.max(inScan, counted),
    sending: tasks.filter(isStillSending).length,
    isCapped: failed.isCapped && inScan > counted,
    since,
    outcome: last?.lastOutcome ?? null,
    statusCode: last?.lastStatusCode ?? null,
  };
}

/**
 * Returns since when a host is failing, judging by its hourly counts, in Unix milliseconds: the start of the latest
 * unbroken run of hours in which at least as many callbacks failed as were delivered. Hours in which no callback ended
 * do not break the run.
 * @returns null when no callback ended in any hour, or when more callbacks were delivered than failed in the latest
 * hour in which any ended.
 */
function startOfBadHours(rows: readonly HostCount[]): number | null {
  const hours = [...Map.groupBy(rows, ({ hour }) => hour)].toSorted(([a], [b]) => b - a);
  let first: number | null = null;
  for (const [hour, ofHour] of hours) {
    const failed = sumOf(ofHour, "failed");
    const delivered = sumOf(ofHour, "delivered");
    if (failed + delivered === 0) continue;
    if (failed < delivered) break;
    first = hour;
  }
  return first;
}

/**
 * Returns the number of tasks that have a callback of this status and were created in or after the hour that contains
 * the time `since` (Unix milliseconds).
 */
export function sumOf(rows: readonly HostCount[], callback: string, since = 0): number {
  const from = since - (since % HOUR_MS);
  return rows.reduce(
    (sum, row) => sum + (row.callback === callback && row.hour >= from ? row.tasks : 0),
    0,
  );
}
