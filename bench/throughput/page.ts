import { quantile } from "../figures.ts";
import { table, textOf } from "../page.ts";
import { type Check, checkLine, checksOf } from "./checks.ts";
import type { Machine } from "./machine.ts";
import { CONTENDERS, contendersOf } from "./plan.ts";
import {
  figuresOf,
  median,
  type PlaceResult,
  quantileOf,
  roundsOf,
  roundByRound,
} from "./results.ts";

const HEAD = [
  "server",
  "connections",
  "accepted/s",
  "delivered/s",
  "× base",
  "accept p50",
  "accept p99",
  "callback p50",
  "callback p99",
  "CPU per task",
  "− base",
  "lost",
  "doubled",
  "refused",
];

const ABOUT = `Each server takes the same tasks over HTTP, stores them and sends one callback for each. The **floor with promises** is a Worker with one object per task, written by hand in the most direct way, that keeps for a task which a \`completed\` event creates what the relay promises: the key checked by its digest, the body checked field by field, the first result wins, one record with its attempt, HMAC and Ed25519, a time limit, an excerpt of the answer, three attempts that survive a crash, erasure, one log line (\`bench/throughput/promises-worker.ts\`; \`test/process/bench\` tests both alike). The **bare floor** is the least that a Worker with an object does for a callback: a record and a watchdog alarm, one POST, and a record of its outcome. All servers of a section ran on one machine with the driver and the receiver, one after the other in each round, another one first in each. Figures are medians of the rounds, quantiles those of all rounds. Absolute figures belong to this machine; the ratios are the result.`;

const METHOD = `- A connection sends its next task after the answer to the one before, as long as fewer tasks than four times the number of connections wait for their callbacks. A single connection waits for each callback: that is the calm latency.
- Accept is the time from the request with the result to the end of its answer, callback the time from that request to the arrival of the callback.
- Each server first gets tasks for 6 seconds, so that its code is compiled.
- The floor with promises and the two processes of the relay are measured in every round. The other servers need less precision: they are measured in each second to twentieth round of a load, and compared with the base in these.
- CPU time is that of all threads of the server and the processes it has started, Redis included, as the scheduler counts it. It is steadier than the rates.
- "× base" and "− base" compare delivered/s and CPU time with the first server of the section, as medians of the comparisons within each round. Under \`wrangler dev\`, which adds a proxy and an inspector to every server, the base is the relay.
- Reads of finished tasks: of the floor with promises they need the key and answer with the JSON of the stored record; of the bare floor they need none.
- Submitted: the relay passes the request on to a stand-in for Ark in the driver's process, which accepts it at once. The accept time is that of the event that follows.
- All servers use the connections that workerd keeps, as on Cloudflare. On a machine of its own the relay opens [a connection for each callback](../docs/self-host.md#connections-to-other-hosts).
- Plain workerd offers no D1, so the index is measured under \`wrangler dev\`.
- Workflows: one step with two retries. Queues: batches of at most 100 without waiting. Both are the local simulators of \`wrangler dev\`, not Cloudflare's services.
- BullMQ, where Redis is installed: concurrency 64, three attempts, Redis with every write synced (\`appendfsync always\`).`;

/** Returns the page with all results of a run. @param chartFile name of the chart's file. */
export function page(places: readonly PlaceResult[], machine: Machine, chartFile: string): string {
  const ratios = `The relay, event only, as the median of the comparisons of its two processes with the other server within each round, with the range in which half of the comparisons lie. "${CONTENDERS.twin}" compares the second process with the first one in the same way: what it differs from 1 is noise.`;
  const driver = `- The driver and the receiver, one process, used ${milliseconds(driverCpuMs(places))} of CPU time per task (median of all rounds).`;
  return textOf({
    title: "The relay beside other servers",
    command: "bench",
    machine,
    about: ABOUT,
    parts: [
      "## Ratios",
      ratios,
      checkLines(checksOf(places)),
      `![Callbacks per second and CPU time per task](${chartFile})`,
      ...places.flatMap((place) => [`## ${place.place.title}`, tablesOf(place)]),
      "## Method",
      `${METHOD}\n${driver}`,
    ],
  });
}

/** Returns one Markdown item for each check. */
export function checkLines(checks: readonly Check[]): string {
  return checks.map(checkLine).join("\n");
}

/** Returns Markdown tables of what was measured at one place. */
export function tablesOf(result: PlaceResult): string {
  const tasks = table(HEAD, taskRows(result));
  if (result.reads.length === 0) return tasks;
  const reads = result.reads.map(({ contender, rounds }) => [
    CONTENDERS[contender],
    median(rounds, ({ readsPerS }) => readsPerS).toFixed(0),
    ...[0.5, 0.99].map((q) => milliseconds(quantileOf(rounds, ({ readMs }) => readMs, q))),
    milliseconds(median(rounds, ({ cpuMs }) => cpuMs)),
  ]);
  const head = ["reads of finished tasks, 32 connections", "reads/s", "p50", "p99", "CPU per read"];
  return `${tasks}\n\n${table(head, reads)}`;
}

function driverCpuMs(places: readonly PlaceResult[]): number {
  const rounds = places.flatMap(({ series }) => series.flatMap((each) => each.rounds));
  return median(rounds, (round) => round.driverCpuMs);
}

function taskRows({ place, series }: PlaceResult): readonly (readonly string[])[] {
  const [first = "event"] = contendersOf(place);
  return series.map(({ contender, connections, rounds }) => {
    const base = roundsOf(series, first, connections);
    const figures = figuresOf(rounds);
    const isBase = contender === first;
    const perS = roundByRound(
      rounds,
      base,
      (own, other) => own.deliveredPerS / other.deliveredPerS,
    );
    const cpu = roundByRound(rounds, base, (own, other) => own.cpuMs - other.cpuMs);
    return [
      CONTENDERS[contender],
      String(connections),
      figures.acceptedPerS.toFixed(0),
      figures.deliveredPerS.toFixed(0),
      isBase ? "" : quantile(perS, 0.5).toFixed(2),
      ...[figures.acceptP50Ms, figures.acceptP99Ms].map(milliseconds),
      ...[figures.callbackP50Ms, figures.callbackP99Ms].map(milliseconds),
      milliseconds(figures.cpuMs),
      isBase ? "" : milliseconds(quantile(cpu, 0.5)),
      String(figures.lost),
      String(figures.doubled),
      String(figures.refused),
    ];
  });
}

function milliseconds(ms: number): string {
  return `${ms.toFixed(Math.abs(ms) < 10 ? 2 : 0)} ms`;
}
