import { createHash } from "node:crypto";
import { existsSync, globSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { transformSync } from "esbuild";

/** The core, and the two programs of the simulation: the command and its threads. */
const ROOTS = ["src/core/**/*.ts", "test/simulation/main.ts", "test/simulation/worker.ts"];

/**
 * Returns the files that decide a simulated life, by their paths: the core, the simulation, and everything that
 * these import, such as the work loop. Tests and planted bugs are not among them.
 */
export function lifeFiles(root: string): readonly string[] {
  const found = new Set(globSync(ROOTS, { cwd: root }));
  for (const path of found) for (const imported of importsOf(root, path)) found.add(imported);
  return [...found].toSorted();
}

function importsOf(root: string, path: string): readonly string[] {
  if (!path.endsWith(".ts")) return [];
  const imports = readFileSync(join(root, path), "utf8").matchAll(/(?:from|import) "(\.[^"?]+)/g);
  const paths = Array.from(imports, ([, to = ""]) => join(dirname(path), to));
  return paths.filter((to) => existsSync(join(root, to)));
}

/** Figures of simulated lives. All others depend on the core and the work loop alone. */
const SIMULATED = ["simulation", "simulation of queues", "planted bugs"];

/** Tells whether a figure depends on the code of the simulation too. */
export function isSimulated(figure: string): boolean {
  return SIMULATED.includes(figure);
}

/**
 * Returns a function that returns the hash of the present code on which a figure depends: the core and the work loop, and
 * for a figure of simulated lives also the simulation.
 */
export function presentHashes(root: string): (figure: string) => string {
  const files = lifeFiles(root);
  const life = hashOf(root, files);
  const core = hashOf(
    root,
    files.filter((path) => path.startsWith("src/")),
  );
  return (figure) => (isSimulated(figure) ? life : core);
}

/** Returns a hash of the names and the code of files. Comments, types and the format of the code do not count. */
function hashOf(root: string, paths: readonly string[]): string {
  const hash = createHash("sha256");
  for (const path of paths) {
    const text = readFileSync(join(root, path), "utf8");
    // Without `minifyWhitespace` the comments before members of classes stay.
    const code = path.endsWith(".ts")
      ? transformSync(text, { loader: "ts", minifyWhitespace: true }).code
      : text;
    hash.update(`${path}\0${code}\0`);
  }
  return hash.digest("hex").slice(0, 16);
}
