import { randomInt } from "node:crypto";
import { parseArgs } from "node:util";

export const USAGE =
  "usage: npm run proof [-- --minutes N]\nN is about how long all parts take together on two cores, 10 by default and at least 1.";

/** One proof, and the line that runs it. */
export interface Part {
  readonly name: string;
  readonly command: string;
}

/** Minutes for which `SIMULATED_LIVES` and `FUZZ_SCALE` are chosen; other numbers scale them. */
const DEFAULT_MINUTES = 10;
const SIMULATED_LIVES = 600_000;
const SIMULATED_QUEUES = 10_000;
const FUZZ_SCALE = 1;
const MAX_SEED = 1_000_000_000;

/** Reads the options of the command. @returns the minutes; null when an option is wrong. */
export function minutesOf(args: readonly string[]): number | null {
  try {
    const options = { minutes: { type: "string", default: String(DEFAULT_MINUTES) } } as const;
    const { values } = parseArgs({ args: [...args], options });
    const minutes = Number(values.minutes);
    return Number.isFinite(minutes) && minutes >= 1 ? minutes : null;
  } catch {
    return null;
  }
}

/**
 * Returns the parts of a proof: first all bodies of the corpora, and then those with a random seed, each with a seed of its
 * own. The planted bugs need the same time whatever `minutes` is, and chaos at least one minute.
 */
export function partsOf(minutes: number, seedOf = () => randomInt(MAX_SEED)): readonly Part[] {
  const share = minutes / DEFAULT_MINUTES;
  const lives = Math.ceil(SIMULATED_LIVES * share);
  const scale = Number((FUZZ_SCALE * share).toFixed(3));
  return [
    { name: "corpus", command: "npx vitest run --project core test/providers/corpus" },
    { name: "simulation", command: `npm run sim -- --seed ${seedOf()} --lives ${lives}` },
    {
      name: "simulated queues",
      command: `npm run sim -- --queues --seed ${seedOf()} --lives ${Math.ceil(SIMULATED_QUEUES * share)}`,
    },
    { name: "planted bugs", command: `npm run sim:planted -- --seed ${seedOf()}` },
    { name: "fuzz", command: `FUZZ_SEED=${seedOf()} FUZZ_SCALE=${scale} npm run fuzz` },
    {
      name: "chaos",
      command: `npm run chaos -- --minutes ${Math.max(1, share)} --seed ${seedOf()}`,
    },
  ];
}
