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

/**
 * Returns a hash of the names and the code of the files that decide a simulated life. Comments, types and the
 * format of the code do not count.
 */
export function coreHash(root: string): string {
  const hash = createHash("sha256");
  for (const path of lifeFiles(root)) {
    const text = readFileSync(join(root, path), "utf8");
    const code = path.endsWith(".ts") ? transformSync(text, { loader: "ts" }).code : text;
    hash.update(`${path}\0${code}\0`);
  }
  return hash.digest("hex").slice(0, 16);
}
