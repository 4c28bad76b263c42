import { availableParallelism } from "node:os";
import { parseArgs } from "node:util";
import { BUGS } from "./bugs.ts";
import { findBugs } from "./mutated-copy.ts";

const { values } = parseArgs({
  options: {
    seed: { type: "string", default: "43000" },
    lives: { type: "string", default: "40000" },
    only: { type: "string", default: "" },
  },
});
const bugs = BUGS.filter(({ what }) => what.includes(values.only));
const simulation = {
  seed: Number(values.seed),
  lives: Number(values.lives),
  threads: availableParallelism(),
};
const found = await findBugs(bugs, simulation, ({ what }, promise) => {
  console.log(promise === null ? `SURVIVES  ${what}` : `caught    ${what}\n          ${promise}`);
});
const survivors = [...found.values()].filter((promise) => promise === null).length;
console.log(`${bugs.length} bugs, ${survivors} not caught`);
process.exitCode = survivors === 0 ? 0 : 1;
