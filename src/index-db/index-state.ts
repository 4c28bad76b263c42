import { HOUR_MS } from "../core/time.ts";
import { latest, readEach } from "./each-shard.ts";
import { histogramOf } from "./found-late.ts";
import type { Shards } from "./shards.ts";

/** State of the index (last count, delays, size), read from a few of its rows. */
export interface IndexState {
  /**
   * Time at which a run of the cron trigger last found something new to count, in Unix milliseconds; null when no run
   * has found anything yet.
   */
  readonly countedAt: number | null;
  /**
   * Histogram of the delay with which the rows of tasks arrived in the index: the number of tasks in each latency
   * bucket (buckets.ts). It covers the counted settled tasks that were created in the present and the previous hour.
   */
  readonly lags: readonly number[];
  /** Size of the largest database of the index, in bytes. */
  readonly sizeBytes: number;
}

interface Row {
  readonly at: number | null;
  readonly bucket: number;
  readonly tasks: number;
  readonly totalMs: number;
}

const COUNTED_AT = "SELECT max(advanced_at) AS at FROM totals";
const LAGS = `
  SELECT key2 AS bucket, number AS tasks, sum AS totalMs FROM counts
  WHERE run = '' AND kind = 'latencies' AND hour IN (?1, ?2) AND key1 = 'index'`;

/**
 * Reads the state of the index from the stored counts. It reads no row of a task.
 * @param now current time, in Unix milliseconds.
 */
export async function readIndexState(shards: Shards, now: number): Promise<IndexState> {
  const hour = now - (now % HOUR_MS);
  const parts = await readEach(shards, async (database) => {
    const [counted, lags] = await database.batch<Row>([
      database.prepare(COUNTED_AT),
      database.prepare(LAGS).bind(hour - HOUR_MS, hour),
    ]);
    return {
      countedAt: counted?.results[0]?.at ?? null,
      lags: lags?.results ?? [],
      sizeBytes: counted?.meta.size_after ?? 0,
    };
  });
  return {
    countedAt: latest(parts.map((part) => part.countedAt)),
    lags: histogramOf(parts.flatMap(({ lags }) => lags)).counts,
    sizeBytes: Math.max(...parts.map(({ sizeBytes }) => sizeBytes)),
  };
}

/**
 * Returns when a run of the cron trigger last found something new to count, in Unix milliseconds; null when no run has
 * found anything yet.
 */
export async function countedAt(shards: Shards): Promise<number | null> {
  const found = await readEach(shards, (database) =>
    database.prepare(COUNTED_AT).first<{ at: number | null }>(),
  );
  return latest(found.map((row) => row?.at ?? null));
}
