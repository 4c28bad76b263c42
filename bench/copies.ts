import { once } from "node:events";
import { join } from "node:path";
import * as z from "zod";
import { LoopbackServer } from "../test/process/harness/loopback.ts";
import { Workerd } from "../test/process/harness/workerd.ts";
import { table } from "./page.ts";
import { cpuMsOf } from "./throughput/cpu.ts";

// Measures the CPU time that a copy of an output needs: `npm run bench:copies`, half a minute. It is that of the whole
// process of workerd, the platform's own part included, which a body that no JavaScript reads shows alone.

const MB = 1_000_000;
const BYTES = 200 * MB;
const PIECE = Buffer.alloc(65_536, "v");
const ROUNDS = 5;

const Result = z.looseObject({ kind: z.literal("kept"), bytes: z.literal(BYTES) });

await using source = await new LoopbackServer(async ({ url }, response) => {
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
  response.end(String(bytes));
}).listen();
await using relay = await Workerd.start({
  vars: {},
  entry: join(import.meta.dirname, "copies-worker.ts"),
});

const rows = [
  ["copy of stated length", await cpuMsPerMb("/stated", "copy")],
  ["copy of unknown length", await cpuMsPerMb("/unknown", "copy")],
  ["body that no JavaScript reads", await cpuMsPerMb("/stated", "pass")],
];
console.log(table(["200 MB", "CPU time, ms per MB"], rows));

/** Copies an output several times. Returns the CPU time of the copy that took the least. */
async function cpuMsPerMb(path: string, mode: "copy" | "pass"): Promise<string> {
  const query = new URLSearchParams({ mode, source: source.origin + path, sink: sink.origin });
  const times: number[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    const before = cpuMsOf([relay.pid ?? 0]);
    const answer = await fetch(`${relay.url}/?${query.toString()}`);
    Result.parse(await answer.json());
    times.push((cpuMsOf([relay.pid ?? 0]) - before) / (BYTES / MB));
  }
  return Math.min(...times).toFixed(1);
}
