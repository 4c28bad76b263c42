import { availableParallelism } from "node:os";
import { parseArgs } from "node:util";
import { keepLife } from "./kept-lives.ts";
import { simulate } from "./simulate.ts";

/** Time in seconds between two lines that say how many lives have held. */
const PROGRESS_S = 60;

const { values } = parseArgs({
  options: {
    seed: { type: "string", default: String(Math.floor(Math.random() * 1e9)) },
    lives: { type: "string", default: "100000" },
    queues: { type: "boolean", default: false },
    keep: { type: "boolean", default: false },
    threads: { type: "string", default: String(availableParallelism()) },
  },
});
const seed = Number(values.seed);
const startedAt = performance.now();
console.log(`seed ${seed}`);
const secondsSoFar = () => (performance.now() - startedAt) / 1000;
let shownAt = 0;
const kind = values.queues ? "queues" : "task";
const { lives, observed, broken } = await simulate(
  { kind, seed, lives: Number(values.lives), threads: Number(values.threads) },
  (held) => {
    const now = secondsSoFar();
    if (now < shownAt + PROGRESS_S) return;
    shownAt = now;
    console.log(`${held} lives have held in ${now.toFixed(0)} s`);
  },
);
const seconds = secondsSoFar();
for (const [what, count] of Object.entries(observed).toSorted(([, a], [, b]) => b - a)) {
  console.log(`${String(count).padStart(10)} lives in which ${what}`);
}
console.log(`${lives} lives in ${seconds.toFixed(1)} s`);
if (broken !== null) {
  const queues = values.queues ? "--queues " : "";
  console.error(
    `\nBROKEN: npm run sim -- ${queues}--seed ${broken.seed} --lives 1\n${broken.report}`,
  );
  if (broken.life !== null) {
    if (values.keep) keepLife(broken.life);
    console.error("\nWith --keep this life is added to test/simulation/kept-lives.json.");
  }
  process.exitCode = 1;
}
