import { sum } from "../../core/sum.ts";
import * as z from "zod/mini";
import { addUp, quantiles } from "../../index-db/buckets.ts";
import { EnvCache } from "../../lib/isolate-cache.ts";
import { NoBody, operation } from "../operation.ts";
import { ratio } from "./count-views.ts";
import { queryIndex, requireIndex } from "./query-index.ts";
import { series } from "./read-series.ts";
import { recentCounts } from "./recent-counts.ts";

/**
 * Time ranges by name. Each has the length of its steps (an hour or a day), as the API's parameter `step` states it,
 * and the number of its steps. The last step is the present hour or day.
 */
const RANGES = {
  "24h": { step: "3600", steps: 25 },
  "7d": { step: "86400", steps: 7 },
  "30d": { step: "86400", steps: 30 },
} as const;

/** Name of a time range that ends with the present hour or day. */
export type RangeName = keyof typeof RANGES;

/** Number of time ranges whose counts are kept in memory. */
const MAX_RANGES = 3;

type Step = Awaited<ReturnType<typeof series>>["steps"][number];

/** Counts and latencies of the tasks created in each hour or day of a time range, with the totals of the range. */
export type RangeSeries = Awaited<ReturnType<typeof readRange>>;

/**
 * Counts of tasks and callbacks by hour or day, as last read for each time range. Only operators may see them, because
 * they include the tasks of all accounts.
 */
const kept = new EnvCache<RangeSeries>(() => Infinity, MAX_RANGES);

/**
 * Counts the tasks created in each hour or day of a time range, up to the end of the present one, with the totals. Only
 * the console uses this operation. The numbers are kept in memory, because pages of the console stay open and a long
 * range may have many rows in the index. They are read again after the cron trigger has counted, and when a new hour or
 * day begins.
 */
export const readRangeSeries = operation(
  "readRangeSeries",
  {
    access: "statistics",
    query: z.strictObject({ range: z.enum(["24h", "7d", "30d"]) }),
    body: NoBody,
  },
  async ({ env, runtime, query: { range } }) => {
    const shards = requireIndex(env, runtime);
    const now = Date.now();
    const { countedAt } = await queryIndex(() => recentCounts(env, shards, now));
    const { step, steps } = RANGES[range];
    const stepS = Number(step);
    const until = Math.ceil((Math.floor(now / 1000) + 1) / stepS) * stepS;
    const query = { step, since: until - steps * stepS, until };
    const read = () => readRange(series(env, shards, query));
    return await kept.get(env, read, `${step} ${query.since} ${until} ${countedAt}`);
  },
);

async function readRange(counting: ReturnType<typeof series>) {
  const counts = await counting;
  const steps = counts.steps.map((step) => ({
    ...step,
    first_attempt_ms: quantiles(step.latency.first_attempt),
  }));
  return { ...counts, steps, totals: totalsOf(steps) };
}

/**
 * Returns the totals and latencies over all hours or days of a time range. A share, mean or percentile is null when
 * nothing was counted from which it could be computed.
 */
export function totalsOf(steps: readonly Step[]) {
  const total = (of: (step: Step) => number) => sum(steps.map(of));
  const delivered = total(({ callbacks }) => callbacks.delivered);
  const failed = total(({ callbacks }) => callbacks.failed);
  const attempts = total(({ callbacks }) => callbacks.attempts);
  const ended = total(
    ({ callbacks }) => callbacks.delivered + callbacks.failed + callbacks.sending,
  );
  const { p50, p95, p99 } = quantiles(addUp(steps.map(({ latency }) => latency.first_attempt)));
  return {
    tasks: total(({ tasks }) => tasks.total),
    delivered,
    failed,
    success_rate: ratio(delivered, delivered + failed),
    attempts_per_callback: ended === 0 ? null : attempts / ended,
    outcomes: sumsOf(steps.map(({ callbacks }) => callbacks.outcomes)),
    failures: sumsOf(steps.map(({ tasks }) => tasks.failures)),
    credits: {
      held: total(({ credits }) => credits.held),
      earned: total(({ credits }) => credits.earned),
      refunded: total(({ credits }) => credits.refunded),
    },
    first_attempt_ms: p50 === null || p95 === null || p99 === null ? null : { p50, p95, p99 },
  };
}

/** Adds up the numbers of several records, name by name. */
function sumsOf(parts: readonly Readonly<Record<string, number>>[]): Record<string, number> {
  const groups = Map.groupBy(parts.flatMap(Object.entries<number>), ([name]) => name);
  const sums = [...groups].map(
    ([name, group]) => [name, sum(group.map(([, each]) => each))] as const,
  );
  return Object.fromEntries(sums);
}
