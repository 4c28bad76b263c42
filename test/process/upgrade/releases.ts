import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { gunzipSync } from "node:zlib";
import { bundleOf } from "../harness/workerd.ts";
import type { Load } from "../chaos/kills.ts";

const KEPT = join(import.meta.dirname, "releases");
const PERIOD_MS = 3_500;
const LOOK_EVERY_MS = 50;

/** Returns the kept bundles of earlier builds, oldest first. */
export async function earlierBundles(): Promise<readonly string[]> {
  const files = (await readdir(KEPT)).filter((file) => file.endsWith(".js.gz")).toSorted();
  return Promise.all(
    files.map(async (file) => gunzipSync(await readFile(join(KEPT, file))).toString("utf8")),
  );
}

/** Replaces the running bundle by an earlier one, by the current one again, and so on. */
export class AlternatingReleases {
  readonly #periods: { readonly isCurrent: boolean; readonly from: number }[] = [];
  readonly #protected = new Set<Promise<unknown>>();

  constructor() {
    this.#begin(true);
  }

  /** Kills the relay at the end of each period; ends with the current bundle when the load is over. */
  async disturb({ relay, counters, isOver }: Load): Promise<void> {
    const [earlier, { script }] = [await earlierBundles(), await bundleOf()];
    for (let nth = 0; !isOver() || !this.#isCurrent; nth++) {
      await sleep(PERIOD_MS);
      const isCurrent = !this.#isCurrent;
      this.#begin(false);
      await Promise.allSettled(this.#protected);
      const bundle = isCurrent ? script : (earlier[(nth / 2) % earlier.length] ?? script);
      await relay.restart("kept", bundle);
      counters.add("kills");
      this.#begin(isCurrent);
    }
  }

  /**
   * Waits for a period in which the current bundle runs; the relay is not killed before the work has ended.
   */
  async underCurrent<T>(work: () => Promise<T>): Promise<T> {
    while (!this.#isCurrent) await sleep(LOOK_EVERY_MS);
    const done = work();
    this.#protected.add(done);
    try {
      return await done;
    } finally {
      this.#protected.delete(done);
    }
  }

  /** Tells whether the current bundle ran at this time. @param time in Unix milliseconds. */
  wasCurrentAt(time: number): boolean {
    return this.#periods.findLast(({ from }) => from <= time)?.isCurrent === true;
  }

  get #isCurrent(): boolean {
    return this.#periods.at(-1)?.isCurrent === true;
  }

  #begin(isCurrent: boolean): void {
    this.#periods.push({ isCurrent, from: Date.now() });
  }
}
