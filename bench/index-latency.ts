import { randomUUID } from "node:crypto";
import { existsSync } from "node:fs";
import { tmpdir } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";
import { completedEvent, SECRETS } from "../test/process/harness/client.ts";
import { WranglerDev } from "../test/process/harness/wrangler-dev.ts";
import { inParallel } from "../test/process/harness/parallel.ts";
import { Receiver } from "../test/process/harness/receiver.ts";

const ROUNDS = 6;
/** Each sender waits before its next task: the work after the callback then meets no other task. */
const LOADS = [
  { concurrency: 1, pauseMs: 150, tasks: 50 },
  { concurrency: 1, pauseMs: 0, tasks: 200 },
  { concurrency: 8, pauseMs: 0, tasks: 200 },
];
const TMPFS = "/dev/shm";
const VARS = { ...SECRETS, ALLOW_LOCAL_CALLBACKS: "true" };

type Load = (typeof LOADS)[number];

interface Measured {
  /** From the request to its 202, in milliseconds. */
  readonly accepted: number[];
  /** From the request to the arrival of the callback. */
  readonly delivered: number[];
}

/** What a task waits for with an index and without one: the same relay, round by round in turn. */
export async function latencies(): Promise<void> {
  await using receiver = await Receiver.start();
  const parent = existsSync(TMPFS) ? TMPFS : tmpdir();
  await using indexed = await WranglerDev.start({ vars: VARS, parent });
  await using plain = await WranglerDev.start({ vars: VARS, parent, hasIndex: false });
  console.log(`tasks from the event to the callback, in ms; storage in ${parent}`);
  for (const load of LOADS) {
    const relays = [
      { what: "with INDEX_DB", relay: indexed, measured: { accepted: [], delivered: [] } },
      { what: "without", relay: plain, measured: { accepted: [], delivered: [] } },
    ];
    for (let i = 0; i < ROUNDS; i++) {
      for (const { relay, measured } of relays) {
        // The first round warms up.
        const kept = i === 0 ? { accepted: [], delivered: [] } : measured;
        await round(relay, receiver, load, kept);
      }
    }
    for (const { what, measured } of relays) print(`${said(load)}, ${what}`, measured);
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
  await inParallel(concurrency, Array.from({ length: tasks }), async () => {
    const id = randomUUID();
    const callbackUrl = receiver.at(`/${id}`, { kind: "answer", status: 200 });
    begun.set(`/${id}`, performance.timeOrigin + performance.now());
    const startedAt = performance.now();
    const { status } = await client.ask("POST", "/v1/events", completedEvent(id, callbackUrl));
    if (status !== 202) throw new Error(`an event was answered with ${status}`);
    accepted.push(performance.now() - startedAt);
    await sleep(pauseMs);
  });
  while (receiver.posts.length < tasks) await sleep(20);
  for (const { path, arrivedAt } of receiver.posts) {
    delivered.push(Math.max(0, arrivedAt - (begun.get(path) ?? arrivedAt)));
  }
  // Rows are written after the callbacks; the other relay's round shall not pay for them.
  await sleep(1_000);
}

function said({ concurrency, pauseMs }: Load): string {
  return `${concurrency} at a time${pauseMs === 0 ? "" : " with pauses"}`;
}

function print(what: string, { accepted, delivered }: Measured): void {
  const told = Object.entries({ accepted, delivered }).map(([name, values]) => {
    const sorted = values.toSorted((a, b) => a - b);
    const at = (q: number) =>
      (sorted[Math.ceil(q * sorted.length) - 1] ?? 0).toFixed(1).padStart(6);
    return `${name} p50 ${at(0.5)}  p99 ${at(0.99)}`;
  });
  console.log(`${what.padEnd(40)} ${told.join("   ")}   ${accepted.length} tasks`);
}
