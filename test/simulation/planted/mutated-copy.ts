import { execFile } from "node:child_process";
import { cp, mkdtemp, rm, symlink } from "node:fs/promises";
import { availableParallelism, tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import pMap from "p-map";
import * as z from "zod";
import { type Bug, plant, ROOT } from "../../planted/bug-list.ts";
import type { LifeKind } from "../lives.ts";

/** The first life from a seed on that breaks a promise. */
const Hunted = z.object({
  seed: z.number(),
  /** Number of lives up to this one; all of them when none breaks a promise. */
  lives: z.number(),
  /** Rule that the life breaks; null when all lives hold. */
  rule: z.string().nullable(),
});
export type Hunted = z.infer<typeof Hunted>;

/** Lives to simulate: from each of the seeds on, up to a number of lives. */
export interface Hunt {
  /** What lives: tasks, or relays with queues (test/simulation/queues). */
  readonly kind: LifeKind;
  readonly seeds: readonly number[];
  readonly lives: number;
}

/** The relay as it is, as a bug without changes: the control of all others. */
const UNCHANGED: Bug = { what: "the unchanged program", tests: [], changes: [] };

/** A copy of the relay in which bugs are planted, one at a time. */
class MutatedCopy implements AsyncDisposable {
  readonly #home: string;

  private constructor(home: string) {
    this.#home = home;
  }

  static async open(): Promise<MutatedCopy> {
    const home = await mkdtemp(join(tmpdir(), "task-relay-planted-"));
    for (const part of ["src", "test/core", "test/simulation", "package.json"]) {
      await cp(join(ROOT, part), join(home, part), { recursive: true });
    }
    await symlink(join(ROOT, "node_modules"), join(home, "node_modules"));
    return new MutatedCopy(home);
  }

  async hunt(bug: Bug, { kind, seeds, lives }: Hunt): Promise<readonly Hunted[]> {
    const remove = await plant(bug, this.#home);
    try {
      const script = join(this.#home, "test/simulation/planted/hunt.ts");
      const args = [script, `--kind=${kind}`, `--seeds=${seeds.join(",")}`, `--lives=${lives}`];
      // Most of the time of a hunt would go into stripping types; only the changed file is new to the cache.
      const env = { ...process.env, NODE_COMPILE_CACHE: join(this.#home, "compiled") };
      const { stdout } = await promisify(execFile)(process.execPath, args, { env });
      return z.array(Hunted).parse(JSON.parse(stdout));
    } catch (error) {
      throw new Error(`${bug.what}: the simulation itself fails`, { cause: error });
    } finally {
      await remove();
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await rm(this.#home, { recursive: true, force: true });
  }
}

/**
 * Runs the control over exactly the lives in which the bugs are hunted then. A life that breaks a promise
 * without a bug would count as found for every bug.
 * @param program relay without a bug. @throws when a life of it breaks a promise.
 */
export async function requireControl(hunt: Hunt, program = UNCHANGED): Promise<void> {
  const perSeed = hunt.seeds.map((seed) => ({ ...hunt, seeds: [seed] }));
  const results = await pMap(
    perSeed,
    async (part) => {
      await using copy = await MutatedCopy.open();
      return await copy.hunt(program, part);
    },
    { concurrency: availableParallelism() },
  );
  for (const { seed, lives, rule } of results.flat()) {
    if (rule === null) continue;
    const life = seed + lives - 1;
    throw new Error(`${program.what} breaks a promise in life ${life}: ${rule}`);
  }
}

/** Hunts each bug from each seed on. @param told is called with the results of a bug. */
export async function findBugs(
  bugs: readonly Bug[],
  hunt: Hunt,
  told: (bug: Bug, results: readonly Hunted[]) => void,
): Promise<ReadonlyMap<Bug, readonly Hunted[]>> {
  const found = new Map<Bug, readonly Hunted[]>();
  const left = [...bugs];
  const work = async () => {
    await using copy = await MutatedCopy.open();
    for (let bug = left.shift(); bug !== undefined; bug = left.shift()) {
      const results = await copy.hunt(bug, hunt);
      found.set(bug, results);
      told(bug, results);
    }
  };
  await Promise.all(Array.from({ length: availableParallelism() }, work));
  return found;
}

/** Tells whether a bug is found from every seed on. */
export function isFound(results: readonly Hunted[]): boolean {
  return results.length > 0 && results.every(({ rule }) => rule !== null);
}
