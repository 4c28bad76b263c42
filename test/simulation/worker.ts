import { parentPort, workerData } from "node:worker_threads";
import * as z from "zod";
import { keptText } from "./kept-lives.ts";
import { runSeed } from "./run.ts";
import { shrink } from "./shrink.ts";
import { type Part, REPORTED_LIVES } from "./simulate.ts";

// Every death of an instance throws an error, millions of times, so errors have no stack.
Error.stackTraceLimit = 0;

const { seed: first, lives } = z.object({ seed: z.number(), lives: z.number() }).parse(workerData);
const observed: Record<string, number> = {};
let broken: Part["broken"] = null;
let lived = 0;
// oxlint-disable-next-line unicorn/require-post-message-target-origin -- a port of a thread has none
const send = (message: number | Part) => parentPort?.postMessage(message);
for (; lived < lives && broken === null; lived++) {
  const seed = first + lived;
  const life = await runSeed(seed);
  for (const what of life.world.checker.observed) observed[what] = (observed[what] ?? 0) + 1;
  if (life.violation === null) {
    if ((lived + 1) % REPORTED_LIVES === 0) send(REPORTED_LIVES);
    continue;
  }
  const { moves, beginning, violation, world } = await shrink(life);
  const trace = world.checker.trace?.join("\n") ?? "";
  const summary = `${violation?.promise}: ${violation?.detail}`;
  const report = `${summary}\n${moves.length} of ${life.moves.length} moves, from ${JSON.stringify(beginning)}\n${trace}`;
  broken = { seed, report, life: keptText(violation ?? life.violation, beginning, moves) };
}
send({ lives: lived, observed, broken });
