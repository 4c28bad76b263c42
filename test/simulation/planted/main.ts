import { parseArgs } from "node:util";
import { BUGS, QUEUE_BUGS } from "./bugs.ts";
import { FIXED, FIXED_QUEUES } from "./fixed-seeds.ts";
import { findBugs, type Hunted, isFound, requireControl } from "./mutated-copy.ts";

const { values } = parseArgs({
  options: {
    queues: { type: "boolean", default: false },
    seed: { type: "string", multiple: true },
    random: { type: "string", default: "0" },
    lives: { type: "string" },
    only: { type: "string", default: "" },
  },
});
const drawn = Array.from({ length: Number(values.random) }, () => Math.floor(Math.random() * 1e9));
const fixed = values.queues ? FIXED_QUEUES : FIXED;
const seeds = drawn.length > 0 ? drawn : (values.seed?.map(Number) ?? fixed.seeds);
const hunt = { ...fixed, seeds, lives: Number(values.lives ?? fixed.lives) };
const all = values.queues ? QUEUE_BUGS : BUGS;
const bugs = all.filter(({ what }) => what.includes(values.only));
const kind = values.queues ? "--queues " : "";
const command = `npm run sim:planted -- ${kind}${seeds.map((seed) => `--seed ${seed}`).join(" ")}`;
console.log(command);
try {
  await requireControl(hunt);
} catch (error) {
  console.error(`BROKEN: ${command}`);
  throw error;
}
console.log(`the unchanged program holds: ${hunt.lives} lives from each of ${seeds.length} seeds`);
console.log("median and largest number of lives until a bug is found");
const found = await findBugs(bugs, hunt, ({ what }, results) => {
  const counts = results.map(({ lives }) => lives).toSorted((a, b) => a - b);
  const median = counts[counts.length >> 1] ?? NaN;
  const figures = `${String(median).padStart(6)} ${String(counts.at(-1)).padStart(6)}`;
  console.log(`${figures}  ${isFound(results) ? "" : "SURVIVES  "}${what}: ${ruleOf(results)}`);
});
const survivors = [...found.values()].filter((results) => !isFound(results)).length;
console.log(`${bugs.length} bugs, ${survivors} not found from every seed`);
if (survivors > 0) {
  console.error(`BROKEN: ${command}`);
  process.exitCode = 1;
}

function ruleOf(results: readonly Hunted[]): string {
  return results.find(({ rule }) => rule !== null)?.rule ?? "no promise broken";
}
