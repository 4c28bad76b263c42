import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import pMap from "p-map";
import { completedEvent, SECRETS } from "../test/process/harness/client.ts";
import { WranglerDev } from "../test/process/harness/wrangler-dev.ts";
import { Receiver } from "../test/process/harness/receiver.ts";
import { FASTEST_DIRECTORY, quantile } from "./figures.ts";

/**
 * Loads that are compared. In the load with a pause, work that follows a callback does not delay the next
 * task.
 */
const LOADS = [
  { concurrency: 1, pauseMs: 150, tasks: 50 },
  { concurrency: 1, pauseMs: 0, tasks: 200 },
  { concurrency: 8, pauseMs: 0, tasks: 200 },
];
const VARS = { ...SECRETS, ALLOW_LOCAL_CALLBACKS: "true" };

type Load = (typeof LOADS)[number];

interface Measured {
  /** Times from the request to its answer 202, in milliseconds. */
  readonly accepted: number[];
  /** Times from the request to the arrival of the callback, in milliseconds. */
  readonly delivered: number[];
}

/**
 * Compares the latency of tasks with and without an index, in rounds that alternate between the two. The first round
 * is not counted.
 */
export async function compareLatencies(rounds: number): Promise<void> {
  await using receiver = await Receiver.start();
  const parent = FASTEST_DIRECTORY;
  await using indexed = await WranglerDev.start({ vars: VARS, parent });
  await using plain = await WranglerDev.start({ vars: VARS, parent, hasIndex: false });
  console.log(`tasks from the event to the callback, in ms; storage in ${parent}`);
  for (const load of LOADS) {
    const relays = [
      { what: "with INDEX_DB", relay: indexed, measured: { accepted: [], delivered: [] } },
      { what: "without", relay: plain, measured: { accepted: [], delivered: [] } },
    ];
    for (let i = 0; i < rounds; i++) {
      for (const { relay, measured } of relays) {
        // The first round only warms up, so its times are dropped.
        const kept = i === 0 ? { accepted: [], delivered: [] } : measured;
        await round(relay, receiver, load, kept);
      }
    }
    for (const { what, measured } of relays) print(`${describeLoad(load)}, ${what}`, measured);
  }
}

async function round(
  { client }: WranglerDev,
  receiver: Receiver,
  { concurrency, pauseMs, tasks }: Load,
  { accepted, delivered }: Measured,
): Promise<void> {
  receiver.posts.length = 0;
  const begun = new Map<string, number>();
  const report = async () => {
    const id = randomUUID();
    const callbackUrl = receiver.at(`/${id}`, { kind: "answer", status: 200 });
    begun.set(`/${id}`, performance.timeOrigin + performance.now());
    const startedAt = performance.now();
    const { status } = await client.ask("POST", "/v1/events", completedEvent(id, callbackUrl));
    if (status !== 202) throw new Error(`an event was answered with ${status}`);
    accepted.push(performance.now() - startedAt);
    await sleep(pauseMs);
  };
  await pMap(Array.from({ length: tasks }), report, { concurrency });
  while (receiver.posts.length < tasks) await sleep(20);
  for (const { path, arrivedAt } of receiver.posts) {
    delivered.push(Math.max(0, arrivedAt - (begun.get(path) ?? arrivedAt)));
  }
  // Rows are written after the callbacks; the pause keeps these writes out of the other relay's round.
  await sleep(1_000);
}

function describeLoad({ concurrency, pauseMs }: Load): string {
  return `${concurrency} at a time${pauseMs === 0 ? "" : " with pauses"}`;
}

function print(what: string, { accepted, delivered }: Measured): void {
  const columns = Object.entries({ accepted, delivered }).map(([name, values]) => {
    const at = (q: number) => quantile(values, q).toFixed(1).padStart(6);
    return `${name} p50 ${at(0.5)}  p99 ${at(0.99)}`;
  });
  console.log(`${what.padEnd(40)} ${columns.join("   ")}   ${accepted.length} tasks`);
}
