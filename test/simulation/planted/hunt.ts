import { parseArgs } from "node:util";
import { runnerOfQueues } from "../lives.ts";
import type { Hunted } from "./mutated-copy.ts";

// Every death of an instance throws an error, millions of times, so errors have no stack.
Error.stackTraceLimit = 0;

const { values } = parseArgs({
  options: { kind: { type: "string" }, seeds: { type: "string" }, lives: { type: "string" } },
});
const runSeed =
  values.kind === "queues" ? await runnerOfQueues() : (await import("../run.ts")).runSeed;

/** Simulates lives from this seed on until one breaks a promise. */
async function hunted(seed: number, lives: number): Promise<Hunted> {
  for (let lived = 1; lived <= lives; lived++) {
    const { violation } = await runSeed(seed + lived - 1);
    if (violation === null) continue;
    return { seed, lives: lived, rule: `${violation.promise}: ${violation.detail}` };
  }
  return { seed, lives, rule: null };
}

const results: Hunted[] = [];
for (const seed of (values.seeds ?? "").split(",")) {
  results.push(await hunted(Number(seed), Number(values.lives)));
}
console.log(JSON.stringify(results));
