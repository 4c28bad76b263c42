import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { bundleOf } from "../harness/workerd.ts";

/** A release as it is deployed. */
export interface Release {
  readonly name: string;
  readonly script: string;
  /** Of this tree, rather than one from before. */
  readonly isCurrent: boolean;
}

const KEPT = join(import.meta.dirname, "releases");

/** The bundles that are kept of earlier releases, oldest first. */
export async function earlierReleases(): Promise<Release[]> {
  const files = (await readdir(KEPT)).filter((file) => file.endsWith(".js.gz")).toSorted();
  return Promise.all(
    files.map(async (file) => {
      const script = gunzipSync(await readFile(join(KEPT, file))).toString("utf8");
      return { name: file.replace(".js.gz", ""), script, isCurrent: false };
    }),
  );
}

export async function currentRelease(): Promise<Release> {
  const { script } = await bundleOf();
  return { name: "current", script, isCurrent: true };
}
