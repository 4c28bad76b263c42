import { OUTCOMES } from "../../core/record/outcome.ts";
import { sum } from "../../core/sum.ts";
import type { TotalName } from "../../index-db/count-kinds.ts";
import { foundLateOf, type Histogram } from "../../index-db/found-late.ts";
import type { Statistics } from "../../index-db/statistics-shape.ts";
import type { Family, Sample } from "./metrics-text.ts";

/**
 * Largest number of models, and of hosts, that have a label value of their own, because clients may use any number of
 * them. Those with the most tasks are chosen, and all others are counted together as `*`.
 */
const MAX_VALUES = 100;

/** Facts about the deployed Worker that `/metrics` shows: its version, and what is paused. */
interface Deployment {
  readonly version: string | null;
  readonly isPaused: boolean;
  /** Number of the receivers' hosts that are paused. Null when it could not be read. */
  readonly pausedHosts: number | null;
}

/**
 * Builds the metrics that `/metrics` shows. The totals of all tasks that the index has ever counted are
 * counters. The counts of the tasks created in the last 48 hours are gauges, because they can also fall.
 * @param now time at which the statistics were read, in Unix milliseconds.
 */
export function metricsOf(found: Statistics, now: number, deployment: Deployment): Family[] {
  const { histograms, backlog, overdue, submitUnknown, copies } = found;
  const { counts: lags, totalMs } = histograms.index;
  const indexed = sum(lags);
  return [
    gauge("build_info", "Version of the Worker.", 1, { version: deployment.version ?? "" }),
    gauge("paused", "1 while PAUSED is set.", deployment.isPaused ? 1 : 0),
    ...(deployment.pausedHosts === null
      ? []
      : [gauge("paused_hosts", "Receivers' hosts that are paused.", deployment.pausedHosts)]),
    ...counters(found),
    ...countsOfWindow(found),
    histogram("first_attempt", "From the result to the first attempt.", histograms.first_attempt),
    histogram("settled", "From the result to the end of the callback.", histograms.settled),
    histogram("index_lag", "From a change to its row in the index.", histograms.index),
    {
      type: "histogram",
      name: "task_relay_found_late",
      help: "From the end of the job to its result.",
      samples: foundLateOf(found.found).map(({ provider, foundBy, histogram: value }) => ({
        labels: { provider, found_by: foundBy },
        value,
      })),
    },
    gauge("index_lag_mean_seconds", "Mean of these.", indexed === 0 ? 0 : totalMs / 1000 / indexed),
    gauge("backlog_tasks", "Tasks in the index that are not settled.", backlog.tasks),
    gauge("overdue_tasks", "Of these, how many should have changed.", overdue.tasks),
    gauge("overdue_seconds", "Age of the oldest of these.", ageS(overdue.oldestAt, now)),
    gauge(
      "submit_unknown_tasks",
      "Open tasks of which it is not known whether their job was started.",
      submitUnknown.tasks,
    ),
    gauge(
      "submit_unknown_seconds",
      "Age of the oldest of these.",
      ageS(submitUnknown.oldestAt, now),
    ),
    gauge("open_copies", "Outputs that are being copied.", copies.outputs),
    gauge("late_copies", "Outputs that should have been copied by now.", copies.lateOutputs),
    gauge("open_copies_seconds", "Age of the oldest open copy.", ageS(copies.oldestAt, now)),
    gauge("expiry_lost_tasks", "Tasks found after their retention.", found.expiryLost),
    gauge("index_bytes", "Size of the largest database of the index.", found.sizeBytes),
  ];
}

function counters({ totals }: Statistics): readonly Family[] {
  const totalOf = (name: TotalName) =>
    sum(totals.map((row) => (row.name === name ? row.value : 0)));
  const ended = (status: "completed" | "failed") => ({
    labels: { status },
    value: totalOf(`ended.${status}`),
  });
  return [
    counter("accepted", "Tasks counted.", { labels: {}, value: totalOf("accepted") }),
    counter("ended", "Tasks that ended, by status.", ended("completed"), ended("failed")),
    counter(
      "callback_attempts",
      "Attempts of callbacks, by outcome.",
      ...OUTCOMES.map((outcome) => ({ labels: { outcome }, value: totalOf(`outcome.${outcome}`) })),
    ),
    counter("refunds", "Tasks whose credits were refunded.", {
      labels: {},
      value: totalOf("refunds"),
    }),
    counter(
      "output_copies",
      "Copies of outputs that were made, and those given up.",
      { labels: { outcome: "kept" }, value: totalOf("outputs.kept") },
      { labels: { outcome: "lost" }, value: totalOf("outputs.lost") },
    ),
    counter("output_bytes", "Bytes of copies that were made.", {
      labels: {},
      value: totalOf("outputs.bytes"),
    }),
  ];
}

function countsOfWindow(found: Statistics): readonly Family[] {
  const counts = bounded(found.counts, "model");
  const ended = counts.filter(({ status }) => status === "completed" || status === "failed");
  const settled = bounded(found.hosts, "host").filter(
    ({ callback }) => callback === "delivered" || callback === "failed",
  );
  return [
    gauges(
      "tasks",
      "Tasks that ended, by status and model.",
      ended.map(({ status, model, tasks: value }) => ({ labels: { status, model }, value })),
    ),
    gauges(
      "callbacks",
      "Callbacks that settled, by outcome and host.",
      settled.map(({ callback: outcome, host, tasks: value }) => ({
        labels: { outcome, host },
        value,
      })),
    ),
    gauges(
      "attempts",
      "Attempts of settled callbacks, by host.",
      settled.map(({ host, attempts: value }) => ({ labels: { host }, value })),
    ),
  ];
}

function counter(name: string, help: string, ...samples: readonly Sample<number>[]): Family {
  return { type: "counter", name: `task_relay_${name}`, help, samples };
}

/** Replaces the names of models or hosts by `*`, except those of the `MAX_VALUES` models or hosts with most tasks. */
function bounded<
  K extends string,
  T extends Readonly<Record<K, string>> & { readonly tasks: number },
>(counts: readonly T[], key: K): readonly T[] {
  const sums = new Map<string, number>();
  for (const count of counts) sums.set(count[key], (sums.get(count[key]) ?? 0) + count.tasks);
  const first = [...sums].toSorted(([, a], [, b]) => b - a).slice(0, MAX_VALUES);
  const named = new Set(first.map(([value]) => value));
  return counts.map((count) => (named.has(count[key]) ? count : { ...count, [key]: "*" }));
}

/** Returns a metric that can fall, with all its values. */
export function gauges(name: string, help: string, samples: readonly Sample<number>[]): Family {
  return { type: "gauge", name: `task_relay_${name}`, help, samples };
}

function gauge(name: string, help: string, value: number, labels: Sample["labels"] = {}): Family {
  return gauges(name, help, [{ labels, value }]);
}

function histogram(name: string, help: string, value: Histogram): Family {
  return { type: "histogram", name: `task_relay_${name}`, help, samples: [{ labels: {}, value }] };
}

function ageS(since: number | null, now: number): number {
  return since === null ? 0 : Math.max(0, now - since) / 1000;
}
