import { once } from "node:events";
import type { ServerResponse } from "node:http";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import * as z from "zod";
import { LoopbackServer } from "../test/process/harness/loopback.ts";
import { LOCAL_VARS } from "../test/process/harness/client.ts";
import { Workerd } from "../test/process/harness/workerd.ts";
import { quantile } from "./figures.ts";
import { residentBytesOf } from "./memory.ts";
import { table } from "./page.ts";
import { cpuMsOf } from "./throughput/cpu.ts";

// Measures copies of outputs in one isolate: `npm run bench:copies`, one minute. First how soon outputs are kept whose
// tasks complete at a steady rate, by the objects of the relay, which need the permission to copy:
// `-- --rate 10 --mb 50 --mb-per-s 10 --seconds 30`. Upstream and bucket are in one other process on the same cores. Then
// the CPU time that a copy needs, which is that of the whole process of workerd, the platform's own part included; a body
// that no JavaScript reads shows that part alone.

const { values } = parseArgs({
  options: {
    /** Tasks with one output that complete in a second. */
    rate: { type: "string", default: "10" },
    /** Size of an output. */
    mb: { type: "string", default: "5" },
    /** Speed of the upstream for each output. */
    "mb-per-s": { type: "string", default: "1" },
    seconds: { type: "string", default: "30" },
  },
});

const MB = 1_000_000;
const BYTES = 200 * MB;
const PIECE = Buffer.alloc(65_536, "v");
const ROUNDS = 5;
const TICK_MS = 50;

const Kept = z.looseObject({ kind: z.literal("kept"), bytes: z.literal(BYTES) });

/** Times in milliseconds at which outputs were stored, by the ids of their tasks. */
const keptAt = new Map<string, number>();
let [open, mostOpen] = [0, 0];

await using source = await new LoopbackServer(async ({ url = "" }, response) => {
  if (url.startsWith("/paced")) return sendPaced(response);
  if (url === "/stated") response.setHeader("Content-Length", BYTES);
  for (let left = BYTES; left > 0; left -= PIECE.length) {
    if (!response.write(PIECE.subarray(0, left))) await once(response, "drain");
  }
  response.end();
}).listen();
await using sink = await new LoopbackServer(async (request, response) => {
  let bytes = 0;
  request.on("data", (chunk: Buffer) => (bytes += chunk.length));
  await once(request, "end");
  const [, , id = ""] = (request.url ?? "").split("/");
  keptAt.set(id, performance.now());
  response.end(String(bytes));
}).listen();
await using relay = await Workerd.start({
  vars: { ...LOCAL_VARS, SINK: sink.origin },
  entry: join(import.meta.dirname, "copies-worker.ts"),
  hasIndex: false,
});

console.log(await keptAtRate());
const rows = [
  ["copy of stated length", await cpuMsPerMb("/stated", "copy")],
  ["copy of unknown length", await cpuMsPerMb("/unknown", "copy")],
  ["body that no JavaScript reads", await cpuMsPerMb("/stated", "pass")],
];
console.log(table(["200 MB", "CPU time, ms per MB"], rows));

/** Copies an output several times. Returns the CPU time of the copy that took the least. */
async function cpuMsPerMb(path: string, mode: "copy" | "pass"): Promise<string> {
  const times: number[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    const before = cpuMsOf([relay.pid ?? 0]);
    Kept.parse(await ask({ mode, source: source.origin + path }));
    times.push((cpuMsOf([relay.pid ?? 0]) - before) / (BYTES / MB));
  }
  return Math.min(...times).toFixed(1);
}

async function ask(query: Record<string, string>): Promise<unknown> {
  const answer = await fetch(`${relay.url}/?${new URLSearchParams(query).toString()}`);
  return answer.json();
}

/** Sends an output of stated length at the speed of the upstream. */
async function sendPaced(response: ServerResponse): Promise<void> {
  const bytes = Number(values.mb) * MB;
  const perTick = (Number(values["mb-per-s"]) * MB * TICK_MS) / 1000;
  open += 1;
  mostOpen = Math.max(mostOpen, open);
  response.once("close", () => (open -= 1));
  response.setHeader("Content-Length", bytes);
  const startedAt = performance.now();
  for (let sent = 0; sent < bytes && !response.destroyed;) {
    const due = Math.min(bytes, ((performance.now() - startedAt) / TICK_MS + 1) * perTick);
    for (; sent < due; sent += PIECE.length) {
      if (!response.write(PIECE.subarray(0, bytes - sent))) await once(response, "drain");
    }
    await sleep(TICK_MS);
  }
  response.end();
}

/** Orders copies at a steady rate, waits until all are kept, and returns a table with how long that took. */
async function keptAtRate(): Promise<string> {
  const [rate, seconds] = [Number(values.rate), Number(values.seconds)];
  const count = rate * seconds;
  const mbBefore = memoryMb();
  const cpuBefore = cpuMsOf([relay.pid ?? 0]);
  const startedAt = performance.now();
  const orderedAt = new Map<string, number>();
  let mostMb = 0;
  keptAt.clear();
  for (let nth = 0; nth < count; nth++) {
    await sleep(Math.max(0, startedAt + (nth * 1000) / rate - performance.now()));
    const id = `task-${nth}`;
    orderedAt.set(id, performance.now());
    await ask({ mode: "order", id, source: `${source.origin}/paced/${id}` });
    mostMb = Math.max(mostMb, memoryMb() - mbBefore);
  }
  while (keptAt.size < count) await sleep(TICK_MS);
  const lengthMs = Math.max(...keptAt.values()) - startedAt;
  const latenciesS = [...orderedAt].map(([id, at]) => ((keptAt.get(id) ?? Infinity) - at) / 1000);
  const cpuMs = cpuMsOf([relay.pid ?? 0]) - cpuBefore;
  const about = `${rate} tasks per second, ${values.mb} MB at ${values["mb-per-s"]} MB per second`;
  return table(
    ["rate", "kept", "median, s", "p99, s", "most at once", "CPU", "more memory, MiB"],
    [
      [
        about,
        String(count),
        quantile(latenciesS, 0.5).toFixed(1),
        quantile(latenciesS, 0.99).toFixed(1),
        String(mostOpen),
        `${Math.round((cpuMs / lengthMs) * 100)} %`,
        mostMb.toFixed(0),
      ],
    ],
  );
}

/** Returns the memory of the process of workerd, in MiB. */
function memoryMb(): number {
  return residentBytesOf(relay.pid ?? 0) / 1024 ** 2;
}
