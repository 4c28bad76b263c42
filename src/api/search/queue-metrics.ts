import type { ConnectionQueue } from "../health/queue-health.ts";
import { gauges } from "./metrics.ts";
import type { Family, Sample } from "./metrics-text.ts";

/**
 * Returns the metrics of the queues of connections. Without a queue there are none.
 * @param now time at which the queues were read, in Unix milliseconds.
 */
export function queueMetrics(queues: readonly ConnectionQueue[], now: number): readonly Family[] {
  if (queues.length === 0) return [];
  const each = (valueOf: (queue: ConnectionQueue) => number | null) =>
    queues.flatMap((queue) => {
      const value = valueOf(queue);
      return value === null ? [] : [{ labels: { connection: queue.connection.name }, value }];
    });
  return [
    gauges(
      "places_permitted",
      "Jobs that a connection may have in flight.",
      each(({ connection }) => connection.inFlight),
    ),
    gauges(
      "places_held",
      "Jobs that a connection has in flight.",
      each(({ state }) => state.held),
    ),
    gauges(
      "queue_waiting",
      "Submissions that wait for a place.",
      each(({ state }) => state.waiting),
    ),
    gauges(
      "queue_oldest_seconds",
      "Wait of the submission that has waited longest for a place.",
      each(({ state }) => Math.max(now - (state.oldestSince ?? now), 0) / 1000),
    ),
    gauges(
      "queue_wait_seconds",
      "Waits of the submissions that got the latest places.",
      queues.flatMap(waitsOf),
    ),
  ];
}

function waitsOf({ connection, state: { waitMs } }: ConnectionQueue): readonly Sample<number>[] {
  if (waitMs === null) return [];
  const { p50, p99 } = waitMs;
  return Object.entries({ "0.5": p50, "0.99": p99 }).map(([quantile, ms]) => ({
    labels: { connection: connection.name, quantile },
    value: ms / 1000,
  }));
}
