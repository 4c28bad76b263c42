import pMap from "p-map";
import type { Measure } from "./buckets.ts";
import type { Histogram } from "./found-late.ts";
import type { Shards } from "./shards.ts";
import {
  type Backlog,
  type CopyCount,
  type Statistics,
  sumOfCredits,
  type Window,
} from "./statistics.ts";
import { statistics } from "./stats.ts";

const CONCURRENCY = 6;

/**
 * Combines the statistics of all databases of the index. The lists `counts`, `hosts`, `found` and `totals` of the
 * databases are only joined, so several entries may have the same key (e.g. model and status);
 * histograms (bucket by bucket) and numbers of tasks are summed; each `oldestAt` is the earliest, and
 * `sizeBytes` is that of the largest database.
 */
export async function shardStatistics(
  { databases }: Shards,
  window: Window,
  now: number,
): Promise<Statistics> {
  const parts = await pMap(databases, (db) => statistics(db, window, now), {
    concurrency: CONCURRENCY,
  });
  return {
    counts: parts.flatMap(({ counts }) => counts),
    credits: sumOfCredits(parts.map(({ credits }) => credits)),
    hosts: parts.flatMap(({ hosts }) => hosts),
    outputs: copies(parts.map(({ outputs }) => outputs)),
    histograms: {
      first_attempt: histogram(parts, "first_attempt"),
      settled: histogram(parts, "settled"),
      index: histogram(parts, "index"),
    },
    found: parts.flatMap(({ found }) => found),
    backlog: backlog(parts.map((part) => part.backlog)),
    overdue: backlog(parts.map((part) => part.overdue)),
    submitUnknown: backlog(parts.map((part) => part.submitUnknown)),
    expiryLost: sum(parts.map(({ expiryLost }) => expiryLost)),
    totals: parts.flatMap(({ totals }) => totals),
    sizeBytes: Math.max(...parts.map(({ sizeBytes }) => sizeBytes)),
  };
}

function histogram(parts: readonly Statistics[], measure: Measure): Histogram {
  const all = parts.map(({ histograms }) => histograms[measure]);
  const longest = all[0]?.counts ?? [];
  return {
    counts: longest.map((_, bucket) => sum(all.map(({ counts }) => counts[bucket] ?? 0))),
    totalMs: sum(all.map(({ totalMs }) => totalMs)),
  };
}

function copies(parts: readonly CopyCount[]): CopyCount {
  return {
    keptOutputs: sum(parts.map(({ keptOutputs }) => keptOutputs)),
    keptBytes: sum(parts.map(({ keptBytes }) => keptBytes)),
    lostOutputs: sum(parts.map(({ lostOutputs }) => lostOutputs)),
  };
}

function backlog(parts: readonly Backlog[]): Backlog {
  const times = parts.flatMap(({ oldestAt }) => oldestAt ?? []);
  const oldestAt = times.length === 0 ? null : Math.min(...times);
  return { tasks: sum(parts.map(({ tasks }) => tasks)), oldestAt };
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}
