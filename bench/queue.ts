import { join } from "node:path";
import * as z from "zod";
import { LOCAL_VARS } from "../test/process/harness/client.ts";
import { Workerd } from "../test/process/harness/workerd.ts";
import { DISK_DIRECTORY, FASTEST_DIRECTORY } from "./figures.ts";
import { residentBytesOf } from "./memory.ts";
import { cpuMsOf } from "./throughput/cpu.ts";

// Measures the queue of one connection: `npm run bench:queue`, about two minutes. A grant is measured with everything
// that it causes: the row, the call to the object of the call, its answer, and the end of the job, which frees the place.

const GOAL_PER_S = 300;
const WAITING = 10_000;
const PLACES = 100;
const CONCURRENCY = 64;
const SINGLE = 500;

const State = z.object({ held: z.int(), waiting: z.int() });
type Query = Readonly<Record<string, string | number>>;

const entry = { provider: "ark", key: "bench-key", queue: 100_000 };
const CONNECTIONS = JSON.stringify({
  kept: { ...entry, in_flight: 1 },
  drained: { ...entry, in_flight: PLACES },
});

await measure("on disk", DISK_DIRECTORY, 1);
await measure("in memory", FASTEST_DIRECTORY, 1);
await measure("in memory", FASTEST_DIRECTORY, WAITING);

async function measure(storage: string, parent: string, accounts: number): Promise<void> {
  console.log(
    `${WAITING} waiting submissions of ${accounts} accounts, storage ${storage} (${parent})`,
  );
  await using relay = await Workerd.start({
    vars: { ...LOCAL_VARS, CONNECTIONS },
    entry: join(import.meta.dirname, "queue-worker.ts"),
    parent,
    hasIndex: false,
  });
  const before = rssMb(relay);
  await ask(relay, "/ask", { count: WAITING + 1, accounts, concurrency: CONCURRENCY });
  console.log(`  memory of the process: ${before.toFixed(0)} MB, then ${rssMb(relay).toFixed(0)}`);
  const single = { count: SINGLE, accounts };
  await timed("asks", relay, SINGLE, "/ask", { ...single, from: WAITING + 1 });
  await timed("ends with a grant", relay, SINGLE, "/leave", single);
  await timed("positions", relay, SINGLE, "/position", { ...single, from: WAITING - SINGLE });
  await relay.restart();
  await timed("first call after a restart", relay, 1, "/position", { from: WAITING, count: 1 });
  const drained = { connection: "drained", accounts, concurrency: CONCURRENCY };
  const count = PLACES + WAITING;
  await timed(`asks, ${CONCURRENCY} at a time`, relay, count, "/ask", { ...drained, count });
  await timed(`grants (goal ${GOAL_PER_S}/s)`, relay, WAITING, "/drain", {
    ...drained,
    count: PLACES,
  });
}

/** Prints how many times a second something is done, and how much CPU time of the process it takes. */
async function timed(
  name: string,
  relay: Workerd,
  count: number,
  path: string,
  query: Query,
): Promise<void> {
  const pids = [relay.pid ?? 0];
  const [startedAt, cpuBefore] = [performance.now(), cpuMsOf(pids)];
  await ask(relay, path, query);
  const [ms, cpuMs] = [performance.now() - startedAt, cpuMsOf(pids) - cpuBefore];
  const perS = ((count * 1_000) / ms).toFixed(0);
  console.log(`  ${name}: ${perS}/s, each ${(cpuMs / count).toFixed(3)} ms of CPU time`);
}

async function ask(relay: Workerd, path: string, query: Query) {
  const texts = Object.entries(query).map(([name, value]) => [name, String(value)]);
  const parameters = new URLSearchParams(Object.fromEntries(texts)).toString();
  const response = await fetch(`${relay.url}${path}?${parameters}`);
  const text = await response.text();
  if (!response.ok) throw new Error(`${text}\n${relay.output}`);
  return State.parse(JSON.parse(text));
}

function rssMb({ pid = 0 }: Workerd): number {
  return residentBytesOf(pid) / 1_024 ** 2;
}
