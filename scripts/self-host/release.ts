import { chmodSync, copyFileSync, cpSync, existsSync, mkdirSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { join, relative } from "node:path";
import * as z from "zod";
import { Refusal } from "../deploy/refusal.ts";

const root = join(import.meta.dirname, "../..");
/** The bundle of the relay, which `npm run build` writes. */
export const BUNDLE = join(root, "dist/index.js");
const FILES = ["files.js", "new-connections.js", "workerd.capnp", "workerd-cluster.capnp"];

const require = createRequire(import.meta.url);
/** Path of workerd for this machine. */
export const workerdPath = z.object({ default: z.string() }).parse(require("workerd")).default;

/**
 * Fills a directory with what a machine of one's own has in `/opt/task-relay`: workerd, its configurations, the relay and
 * the files of `public`. An earlier content is removed.
 * @param bundle file with the code of the relay.
 * @throws Refusal when the relay is not built.
 */
export function writeRelease(directory: string, bundle = BUNDLE): void {
  if (!existsSync(bundle))
    throw new Refusal(`${relative(root, bundle)} is missing`, "npm run build");
  rmSync(directory, { recursive: true, force: true });
  mkdirSync(directory, { recursive: true });
  for (const file of FILES) copyFileSync(join(root, "ops", file), join(directory, file));
  copyFileSync(bundle, join(directory, "index.js"));
  cpSync(join(root, "public"), join(directory, "public"), { recursive: true });
  copyFileSync(workerdPath, join(directory, "workerd"));
  chmodSync(join(directory, "workerd"), 0o755);
}
