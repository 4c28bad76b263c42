import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { gunzip } from "node:zlib";

const KEPT = join(import.meta.dirname, "releases");
const ENDING = ".js.gz";

/** Returns the bundle of a kept release, e.g. `3-index`. */
export async function keptBundle(name: string): Promise<string> {
  return (await promisify(gunzip)(await readFile(join(KEPT, name + ENDING)))).toString("utf8");
}

/** Returns the bundles of all kept releases, oldest first. */
export async function keptBundles(): Promise<readonly string[]> {
  const files = (await readdir(KEPT)).filter((file) => file.endsWith(ENDING)).toSorted();
  return Promise.all(files.map((file) => keptBundle(file.slice(0, -ENDING.length))));
}
