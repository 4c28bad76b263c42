import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { gunzip } from "node:zlib";

/** Returns the bundle of the kept release. */
export async function keptBundle(): Promise<string> {
  const zipped = await readFile(join(import.meta.dirname, "worker.js.gz"));
  return (await promisify(gunzip)(zipped)).toString("utf8");
}
