import { cpuMsOf } from "./cpu.ts";
import { type Ask, cpuPer, type Load, poolOf, type Served, statusOf } from "./server.ts";

/** Measurements of one round of reads. */
export interface ReadRound {
  readonly readsPerS: number;
  readonly readMs: readonly number[];
  /** CPU time of the server per read, in milliseconds. */
  readonly cpuMs: number;
}

/** Sends the requests in turn, again and again; each connection sends the next one when it has an answer. */
export async function readRound(
  { url, pids }: Served,
  asks: readonly Ask[],
  { connections, forMs }: Load,
): Promise<ReadRound> {
  await using pool = poolOf(url, connections);
  const readMs: number[] = [];
  const cpu = cpuMsOf(pids);
  const startedAt = performance.now();
  let next = 0;
  const connection = async () => {
    while (performance.now() - startedAt < forMs) {
      const ask = asks[next++ % asks.length];
      if (ask === undefined) throw new Error("there is nothing to read");
      const askedAt = performance.now();
      const status = await statusOf(pool.value, ask);
      if (status !== 200) throw new Error(`GET ${ask.path} was answered with ${status}`);
      readMs.push(performance.now() - askedAt);
    }
  };
  await Promise.all(Array.from({ length: connections }, connection));
  const seconds = (performance.now() - startedAt) / 1000;
  return { readMs, readsPerS: readMs.length / seconds, cpuMs: cpuPer(readMs.length, pids, cpu) };
}
