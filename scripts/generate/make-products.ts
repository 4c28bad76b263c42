import { createHash } from "node:crypto";
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import type { Product } from "./product.ts";

/** Folder with a note on each product: the digest of its sources, then the paths of its files, a line each. */
const NOTES = "dist/generated";
/** The programs that make products, which are sources of all of them. */
const PROGRAMS = ["scripts/generate.ts", "scripts/generate"];

/**
 * Makes each product whose sources have changed since it was made, or of which a file is missing. Files that a product
 * no longer has are deleted. A product whose tools are not installed is left as it is.
 * @param root root of the tree.
 * @returns a line that says what was made and what was not; empty when nothing was to be made.
 */
export async function makeProducts(products: readonly Product[], root: string): Promise<string> {
  const generated: string[] = [];
  const left: string[] = [];
  const lacking = new Set<string>();
  for (const { name, needs, sources, make } of products) {
    const digest = digestOf([...PROGRAMS, ...sources], root);
    const note = join(root, NOTES, name);
    const [before, ...files] = existsSync(note) ? readFileSync(note, "utf8").split("\n") : [];
    if (before === digest && files.every((file) => existsSync(join(root, file)))) continue;
    const missing = needs.filter((path) => !existsSync(join(root, path)));
    if (missing.length > 0) {
      left.push(name);
      for (const path of missing) lacking.add(path);
      continue;
    }
    const made = Object.entries(await make());
    for (const [file, content] of made) writeAtOnce(join(root, file), content);
    const paths = made.map(([file]) => file);
    for (const file of files) {
      if (!paths.includes(file)) rmSync(join(root, file), { force: true });
    }
    writeAtOnce(note, [digest, ...paths].join("\n"));
    generated.push(name);
  }
  return [
    ...(generated.length > 0 ? [`generated ${generated.join(", ")}`] : []),
    ...(left.length > 0
      ? [`not generated without ${[...lacking].join(", ")}: ${left.join(", ")}`]
      : []),
  ].join("; ");
}

/** Computes the digest of the paths and contents of files, those in folders included. */
function digestOf(paths: readonly string[], root: string): string {
  const hash = createHash("sha256");
  for (const path of paths.flatMap((each) => filesAt(each, root))) {
    const content = readFileSync(join(root, path));
    hash.update(`${path}\n${content.length}\n`).update(content);
  }
  return hash.digest("hex");
}

function filesAt(path: string, root: string): readonly string[] {
  if (!statSync(join(root, path)).isDirectory()) return [path];
  const names = readdirSync(join(root, path)).toSorted();
  return names.flatMap((name) => filesAt(`${path}/${name}`, root));
}

/** Writes a file so that another process sees either the whole content or the file as it was before. */
function writeAtOnce(path: string, content: string | Uint8Array): void {
  mkdirSync(dirname(path), { recursive: true });
  const unfinished = `${path}.${process.pid}`;
  writeFileSync(unfinished, content);
  renameSync(unfinished, path);
}
