import { parseArgs } from "node:util";
import { allChaos } from "./all-chaos.ts";

// Loads and kills the relay: `npm run chaos -- --minutes 30 [--seed 7]`.

const FAULTS_SHOWN = 50;

const { values } = parseArgs({
  options: { minutes: { type: "string", default: "2" }, seed: { type: "string" } },
});
const minutes = Number(values.minutes);
const seed = Number(values.seed ?? Math.floor(Math.random() * 1e9));
if (!(minutes > 0) || !Number.isInteger(seed) || seed < 0) {
  console.error("usage: npm run chaos -- --minutes N [--seed S]");
  process.exit(2);
}
const faults = await allChaos({ minutes, seed, print: console.log });
for (const fault of faults.slice(0, FAULTS_SHOWN)) console.error(fault);
console.log(`${faults.length} faults`);
process.exitCode = faults.length > 0 ? 1 : 0;
