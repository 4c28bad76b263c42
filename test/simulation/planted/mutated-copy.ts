import { execFile } from "node:child_process";
import { cp, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Simulation } from "../simulate.ts";
import type { Bug } from "./bugs.ts";

const ROOT = join(import.meta.dirname, "../../..");

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

  /** Returns the broken promise and the number of lives until then; null when none is broken. */
  async simulate(bug: Bug, seed: number, lives: number): Promise<string | null> {
    await this.#plant(bug);
    try {
      const args = [`--seed=${seed}`, `--lives=${lives}`, "--threads=1"];
      const { code, output } = await run(join(this.#home, "test/simulation/main.ts"), args);
      if (code === 0) return null;
      const [, life, promise] = /^BROKEN: .* --seed (\d+) .*\n(.*)$/m.exec(output) ?? [];
      if (life === undefined)
        throw new Error(`${bug.what}: the simulation itself fails\n${output}`);
      return `${promise} (life ${life})`;
    } finally {
      await this.#restore(bug);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await rm(this.#home, { recursive: true, force: true });
  }

  async #plant({ what, changes }: Bug): Promise<void> {
    for (const { file, text, instead } of changes) {
      const path = join(this.#home, "src", file);
      const source = await readFile(path, "utf8");
      if (source.split(text).length !== 2) {
        throw new Error(`${what}: the text to change is not once in ${file}: ${text}`);
      }
      await writeFile(
        path,
        source.replace(text, () => instead),
      );
    }
  }

  async #restore({ changes }: Bug): Promise<void> {
    for (const { file } of changes) {
      await cp(join(ROOT, "src", file), join(this.#home, "src", file));
    }
  }
}

/** Returns the broken promise for each bug; null for a bug that was not found. */
export async function findBugs(
  bugs: readonly Bug[],
  { seed, lives, threads }: Simulation,
  told: (bug: Bug, found: string | null) => void,
): Promise<ReadonlyMap<Bug, string | null>> {
  const found = new Map<Bug, string | null>();
  const left = [...bugs];
  const work = async () => {
    await using copy = await MutatedCopy.open();
    for (let bug = left.shift(); bug !== undefined; bug = left.shift()) {
      const promise = await copy.simulate(bug, seed, lives);
      found.set(bug, promise);
      told(bug, promise);
    }
  };
  await Promise.all(Array.from({ length: threads }, work));
  return found;
}

interface Ended {
  readonly code: number;
  readonly output: string;
}

function run(script: string, args: readonly string[]): Promise<Ended> {
  const { promise, resolve } = Promise.withResolvers<Ended>();
  execFile(process.execPath, [script, ...args], (error, stdout, stderr) => {
    const code = typeof error?.code === "number" ? error.code : 0;
    resolve({ code: error === null ? 0 : Math.max(1, code), output: stdout + stderr });
  });
  return promise;
}
