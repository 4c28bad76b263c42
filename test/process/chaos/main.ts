import { parseArgs } from "node:util";
import { allChaos, KINDS } from "./all-chaos.ts";
import { queueScenario } from "./queue/scenario.ts";
import { type ChaosReport, runScenario } from "./scenario.ts";

// Loads and kills the relay: `npm run chaos -- --minutes 30 [--kind endpoints] [--seed 7]`, or its queues alone with so
// many kills: `npm run chaos -- --queue-kills 1000 [--seed 7]`.

const FAULTS_SHOWN = 50;

const { values } = parseArgs({
  options: {
    minutes: { type: "string", default: "2" },
    kind: { type: "string" },
    "queue-kills": { type: "string" },
    seed: { type: "string" },
  },
});
const minutes = Number(values.minutes);
const kills = values["queue-kills"] === undefined ? null : Number(values["queue-kills"]);
const seed = Number(values.seed ?? Math.floor(Math.random() * 1e9));
const isCount = (count: number) => Number.isInteger(count) && count >= 0;
const kind = KINDS.find((each) => each === values.kind) ?? null;
const isKind = values.kind === undefined || kind !== null;
if (!(minutes > 0) || !isKind || !isCount(kills ?? 0) || !isCount(seed)) {
  const kinds = KINDS.join("|");
  console.error(
    `usage: npm run chaos -- [--minutes N [--kind ${kinds}] | --queue-kills N] [--seed S]`,
  );
  process.exit(2);
}
const faults =
  kills === null
    ? await allChaos({ minutes, seed, print: console.log }, kind)
    : await ofQueues(kills);
for (const fault of faults.slice(0, FAULTS_SHOWN)) console.error(fault);
for (const [fault, alike] of Map.groupBy(faults, withoutTask)) {
  console.error(`${alike.length} × ${fault}`);
}
console.log(`${faults.length} faults`);
process.exitCode = faults.length > 0 ? 1 : 0;

/** Returns what a fault says without the task that it is about. */
function withoutTask(fault: string): string {
  return fault.split(": ").at(-1) ?? fault;
}

async function ofQueues(count: number): Promise<ChaosReport["faults"]> {
  console.log(`${count} kills, seed ${seed}`);
  const report = await runScenario(queueScenario(count), seed);
  console.log(report.counters.toString());
  return report.faults;
}
