import { HOUR_MS, toSeconds } from "../../core/time.ts";
import { sum } from "../../core/sum.ts";
import type { HostCount } from "../../index-db/step-counts.ts";
import type { TroubledTask } from "../../index-db/troubled-tasks.ts";
import { ratio } from "./count-views.ts";
import {
  failedAt,
  type FailingHost,
  type Failures,
  failingHosts,
  firstAttemptAt,
  isStillSending,
  sumOf,
} from "./failing-hosts.ts";

const HOURS = 24;
const MAX_ACCOUNTS = 20;
const MAX_KINDS = 20;

/**
 * A receiver's host in a list of hosts, with its callbacks of the last 24 hours, and whether it is failing at present.
 */
export type HostView = ReturnType<typeof hostView>;

/**
 * Returns the hosts to which callbacks of the last 24 hours go or a callback is still failing, or that are paused. Hosts that
 * fail at present come first, and then those with the most failed callbacks. The host `*` stands for all hosts that are
 * not counted separately.
 * @param paused the paused hosts, each with the end of its pause, in Unix milliseconds.
 * @param now current time, in Unix milliseconds.
 */
export function hostViews(
  failures: Failures,
  paused: ReadonlyMap<string, number>,
  now: number,
): readonly HostView[] {
  const { counts, failed, next } = failures;
  const hosts = new Set([
    ...counts.hosts.map(({ host }) => host),
    ...failed.tasks.filter(({ createdAt }) => createdAt >= counts.since).map(({ host }) => host),
    ...next.tasks.filter(isStillSending).map(({ host }) => host),
    ...paused.keys(),
  ]);
  const viewOf = viewer(failures, paused, now);
  return [...hosts]
    .flatMap((host) => (host === null || host === "" ? [] : [viewOf(host)]))
    .toSorted(worstFirst);
}

/**
 * Returns a function that describes one receiver's host: its callbacks of the last 24 hours, and whether it fails or is
 * paused at present.
 * @param paused the paused hosts, each with the end of its pause, in Unix milliseconds.
 * @param now current time, in Unix milliseconds.
 */
export function viewer(
  failures: Failures,
  paused: ReadonlyMap<string, number>,
  now: number,
): (host: string) => HostView {
  const { counts, failed } = failures;
  const rowsOf = Map.groupBy(counts.hosts, ({ host }) => host);
  const failedOf = Map.groupBy(failed.tasks, ({ host }) => host);
  const failing = new Map(failingHosts(failures, now).map((each) => [each.host, each]));
  return (host) => {
    const lastFailed = timeOf((failedOf.get(host) ?? []).map(failedAt), Math.max);
    const until = paused.get(host);
    const state = { failing: failing.get(host), pausedUntil: until, lastFailed };
    return hostView(host, rowsOf.get(host) ?? [], state, counts);
  };
}

/** State of a host besides its counts: its failures and its pause. Times are Unix milliseconds, that of the last failure Unix seconds. */
interface HostState {
  readonly failing: FailingHost | undefined;
  readonly pausedUntil: number | undefined;
  readonly lastFailed: number | null;
}

function hostView(
  host: string,
  rows: readonly HostCount[],
  { failing, pausedUntil, lastFailed }: HostState,
  { until }: Failures["counts"],
) {
  const [delivered, failed] = [sumOf(rows, "delivered"), sumOf(rows, "failed")];
  const ended = rows.filter(({ callback }) => callback === "delivered" || callback === "failed");
  const hours = hoursBefore(until).map((hour) => rows.filter((row) => row.hour === hour));
  const good = rows.filter(({ callback }) => callback === "delivered").map(({ hour }) => hour);
  return {
    host,
    callbacks: {
      total: total(rows),
      delivered,
      failed,
      sending: sumOf(rows, "sending"),
      retrying: sumOf(rows, "retrying"),
      paused: sumOf(rows, "paused"),
    },
    success_rate: ratio(delivered, delivered + failed),
    attempts_per_callback: ratio(sum(ended.map(({ attempts }) => attempts)), delivered + failed),
    failing: failing === undefined ? null : failingView(failing),
    paused_until: pausedUntil === undefined ? null : toSeconds(pausedUntil),
    last_failed_at: lastFailed,
    last_delivered_hour: good.length === 0 ? null : toSeconds(Math.max(...good)),
    callbacks_by_hour: hours.map(total),
    failed_by_hour: hours.map((ofHour) => sumOf(ofHour, "failed")),
  };
}

function failingView({ since, failed, sending, isCapped, outcome, statusCode }: FailingHost) {
  const counts = { failed, sending, is_capped: isCapped };
  return { since: toSeconds(since), ...counts, outcome, status_code: statusCode };
}

/**
 * Returns the start times of the 24 hours before the full hour `until`, oldest first. All times are Unix
 * milliseconds.
 */
function hoursBefore(until: number): readonly number[] {
  return Array.from({ length: HOURS }, (_, n) => until - (HOURS - n) * HOUR_MS);
}

function worstFirst(a: HostView, b: HostView): number {
  const size = ({ failing }: HostView) => (failing === null ? 0 : failing.failed + failing.sending);
  const byFailing = size(b) - size(a);
  const byFailed = b.callbacks.failed - a.callbacks.failed;
  const order = byFailing || byFailed || b.callbacks.total - a.callbacks.total;
  return order === 0 ? (a.host < b.host ? -1 : 1) : order;
}

/**
 * Returns, in Unix seconds, the time range that the statistics of hosts cover, the start of each of its last 24 hours
 * (callbacks are counted separately for each), and when the cron trigger last found something new to count.
 */
export function windowView({ since, until, countedAt }: Failures["counts"]) {
  return {
    since: toSeconds(since),
    until: toSeconds(until),
    counted_at: countedAt === null ? null : toSeconds(countedAt),
    hours: hoursBefore(until).map(toSeconds),
  };
}

/**
 * Describes how the callbacks to one host are failing: the numbers of failing callbacks by outcome and status code, and
 * by account, the largest first. All tasks in `failed` must have callbacks to this host; tasks in `next` may have
 * callbacks to other hosts, which are ignored.
 */
export function failuresOf(host: string, { failed, next }: Pick<Failures, "failed" | "next">) {
  const sending = next.tasks.filter((task) => task.host === host && isStillSending(task));
  const tasks = [...failed.tasks, ...sending];
  const kinds = Map.groupBy(tasks, ({ lastOutcome, lastStatusCode }) =>
    JSON.stringify([lastOutcome, lastStatusCode]),
  );
  const accounts = Map.groupBy(tasks, ({ account }) => account);
  return {
    outcomes: [...kinds.values()]
      .map(kindView)
      .toSorted((a, b) => b.tasks - a.tasks)
      .slice(0, MAX_KINDS),
    accounts: [...accounts]
      .map(([account, ofAccount]) => ({ account, tasks: ofAccount.length }))
      .toSorted((a, b) => b.tasks - a.tasks)
      .slice(0, MAX_ACCOUNTS),
    sending: sending.length,
    first_failed_at: timeOf(tasks.map(firstAttemptAt), Math.min),
    is_capped: failed.isCapped || next.isCapped,
  };
}

function kindView(tasks: readonly TroubledTask[]) {
  const last = tasks.toSorted((a, b) => failedAt(b) - failedAt(a))[0];
  return {
    outcome: last?.lastOutcome ?? null,
    status_code: last?.lastStatusCode ?? null,
    tasks: tasks.length,
    first_at: timeOf(tasks.map(firstAttemptAt), Math.min),
    last_at: timeOf(tasks.map(failedAt), Math.max),
    task_id: last?.id ?? null,
  };
}

function timeOf(times: readonly number[], choose: (...times: number[]) => number): number | null {
  return times.length === 0 ? null : toSeconds(choose(...times));
}

function total(rows: readonly HostCount[]): number {
  return sum(rows.map(({ callback, tasks }) => (callback === "" ? 0 : tasks)));
}
