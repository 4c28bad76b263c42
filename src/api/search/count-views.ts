import { sum } from "../../core/sum.ts";
import { JOB_BOUNDS_MS } from "../../index-db/buckets.ts";
import type { Count, Summed } from "../../index-db/count-kinds.ts";
import type { StepJobFailure, StepJobTime, StepSum } from "../../index-db/step-counts.ts";

type Counted = Omit<Count, "model">;

/** Number of failed tasks with the same failure category. An empty category means that the category is not known. */
interface FailureCount {
  readonly category: string;
  readonly tasks: number;
}

/**
 * Returns the number of all tasks, the number for each status, and the number of failed tasks for each failure
 * category.
 */
export function tasksView(rows: readonly Counted[], failures: readonly FailureCount[]) {
  const failed = sumOf(rows, "status", "failed");
  return {
    total: sum(rows.map(({ tasks }) => tasks)),
    pending: sumOf(rows, "status", "pending"),
    processing: sumOf(rows, "status", "processing"),
    completed: sumOf(rows, "status", "completed"),
    failed,
    failures: failuresView(failed, failures),
  };
}

/**
 * Returns the number of failed tasks for each failure category. Tasks whose category is not known count as `unknown`.
 */
function failuresView(failed: number, counts: readonly FailureCount[]) {
  const known = counts.filter(({ category }) => category !== "");
  const sums = [...Map.groupBy(known, ({ category }) => category)].map(
    ([category, group]) => [category, sum(group.map(({ tasks }) => tasks))] as const,
  );
  const unknown = failed - sum(sums.map(([, tasks]) => tasks));
  return Object.fromEntries(unknown > 0 ? [...sums, ["unknown", unknown] as const] : sums);
}

/** Returns the number of callbacks for each status, and the total number of their attempts. */
export function callbacksView(rows: readonly Counted[]) {
  return {
    waiting: sumOf(rows, "callback", "waiting"),
    sending: sumOf(rows, "callback", "sending"),
    retrying: sumOf(rows, "callback", "retrying"),
    paused: sumOf(rows, "callback", "paused"),
    delivered: sumOf(rows, "callback", "delivered"),
    failed: sumOf(rows, "callback", "failed"),
    attempts: sum(rows.map(({ attempts }) => attempts)),
  };
}

/** Returns the credits that were charged for tasks, by what has become of them. */
export function creditsView(sums: readonly Omit<StepSum, "hour">[]) {
  const of = (column: Summed) =>
    sum(sums.filter((row) => row.column === column).map(({ value }) => value));
  return {
    held: of("credits_held"),
    earned: of("credits_earned"),
    released: of("credits_released"),
    refunded: of("credits_refunded"),
  };
}

/**
 * Returns the ended jobs of each connection that has any, by the name of the connection: the completed ones with a
 * histogram of their times, and the failed ones by category.
 */
export function jobsView(
  times: readonly Omit<StepJobTime, "hour">[],
  failures: readonly Omit<StepJobFailure, "hour">[],
) {
  const names = new Set([...times, ...failures].map(({ provider }) => provider));
  return [...names].toSorted().map((provider) => {
    const buckets = Array.from({ length: JOB_BOUNDS_MS.length + 1 }, () => 0);
    for (const { bucket, tasks } of times.filter((row) => row.provider === provider)) {
      buckets[bucket] = (buckets[bucket] ?? 0) + tasks;
    }
    const ofProvider = failures.filter((row) => row.provider === provider);
    const failed: Record<string, number> = {};
    for (const { category, tasks } of ofProvider)
      failed[category] = (failed[category] ?? 0) + tasks;
    return {
      provider,
      completed: sum(buckets),
      failures: failed,
      times: buckets,
    };
  });
}

function sumOf(rows: readonly Counted[], key: "status" | "callback", value: string): number {
  return rows.reduce((total, row) => total + (row[key] === value ? row.tasks : 0), 0);
}

/** Returns a part divided by the whole, rounded to four decimal places; null when the whole is 0. */
export function ratio(part: number, whole: number): number | null {
  return whole === 0 ? null : Math.round((part / whole) * 10_000) / 10_000;
}
