import { parentPort, workerData } from "node:worker_threads";
import * as z from "zod";
import { keptText } from "./kept-lives.ts";
import { runnerOfQueues } from "./lives.ts";
import { runSeed, type RunResult } from "./run.ts";
import { shrink } from "./shrink.ts";
import { type Part, REPORTED_LIVES } from "./simulate.ts";

// Every death of an instance throws an error, millions of times, so errors have no stack.
Error.stackTraceLimit = 0;

const Share = z.object({ kind: z.enum(["task", "queues"]), seed: z.number(), lives: z.number() });
const { kind, seed: first, lives } = Share.parse(workerData);
const observed: Record<string, number> = {};
let broken: Part["broken"] = null;
let lived = 0;
// oxlint-disable-next-line unicorn/require-post-message-target-origin -- a port of a thread has none
const send = (message: number | Part) => parentPort?.postMessage(message);
const run = kind === "queues" ? await runsOfQueues() : runOfTask;
for (; lived < lives && broken === null; lived++) {
  broken = await run(first + lived);
  if (broken === null && (lived + 1) % REPORTED_LIVES === 0) send(REPORTED_LIVES);
}
send({ lives: lived, observed, broken });

function note(what: ReadonlySet<string>): void {
  for (const each of what) observed[each] = (observed[each] ?? 0) + 1;
}

async function runOfTask(seed: number): Promise<Part["broken"]> {
  const life = await runSeed(seed);
  note(life.world.checker.observed);
  return life.violation === null ? null : await shortest(seed, life);
}

async function shortest(seed: number, life: RunResult): Promise<Part["broken"]> {
  const { moves, beginning, violation, world } = await shrink(life);
  const trace = world.checker.trace?.join("\n") ?? "";
  const summary = `${violation?.promise}: ${violation?.detail}`;
  const report = `${summary}\n${moves.length} of ${life.moves.length} moves, from ${JSON.stringify(beginning)}\n${trace}`;
  const known = violation ?? life.violation;
  const kept = known && keptText(known, beginning, moves);
  return { seed, report, life: kept };
}

async function runsOfQueues() {
  const runQueues = await runnerOfQueues();
  return async (seed: number): Promise<Part["broken"]> => {
    const { violation, observed: seen } = await runQueues(seed);
    note(seen);
    if (violation === null) return null;
    const trace: string[] = [];
    await runQueues(seed, (text) => trace.push(text));
    const summary = `${violation.promise}: ${violation.detail}`;
    return { seed, report: `${summary}\n${trace.join("\n")}`, life: null };
  };
}
