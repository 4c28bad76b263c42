import { setTimeout as sleep } from "node:timers/promises";

/** Largest number of calls in flight, which is reached when calls take longer than the rate allows. */
const MAX_AT_ONCE = 256;

/** Starts `count` calls of `work` at the given rate per second, and waits until all have ended. */
export async function paced(
  count: number,
  ratePerS: number,
  work: (index: number) => Promise<void>,
): Promise<void> {
  const startedAt = performance.now();
  const running = new Set<Promise<void>>();
  for (let i = 0; i < count; i++) {
    const inMs = startedAt + (i * 1000) / ratePerS - performance.now();
    if (inMs > 1) await sleep(inMs);
    if (running.size >= MAX_AT_ONCE) await Promise.race(running);
    const call = work(i).finally(() => running.delete(call));
    running.add(call);
  }
  await Promise.all(running);
  await sleep(Math.max(0, startedAt + (count * 1000) / ratePerS - performance.now()));
}
