import { setTimeout as sleep } from "node:timers/promises";
import { PERIODS } from "./plan.ts";
import type { Release } from "./releases.ts";
import type { Workerd } from "../harness/workerd.ts";

const PERIOD_MS = 3_500;
const LOOK_EVERY_MS = 50;

/** The times of a relay's releases: at the end of each the relay is killed, and another goes on. */
export class Periods {
  readonly #relay: Workerd;
  readonly #random: () => number;
  readonly #past: { readonly release: Release; readonly from: number }[] = [];
  readonly #begun = Array.from({ length: PERIODS }, () => Promise.withResolvers<void>());
  readonly #protected = new Set<Promise<unknown>>();
  #isCurrent = false;

  constructor(relay: Workerd, random: () => number) {
    this.#relay = relay;
    this.#random = random;
  }

  /** Begins the next period. The relay is up already in the first, and stays so after the last. */
  async pass(release: Release): Promise<void> {
    const nth = this.#past.length;
    this.#isCurrent = false;
    await Promise.allSettled(this.#protected);
    if (nth > 0) await this.#relay.restart("kept", release.script);
    this.#isCurrent = release.isCurrent;
    this.#past.push({ release, from: Date.now() });
    this.#begun[nth]?.resolve();
    await sleep(PERIOD_MS);
  }

  /** Some time in a period, or after it. */
  async moment(nth: number): Promise<void> {
    await this.#begun[nth]?.promise;
    await sleep(this.#random() * PERIOD_MS);
  }

  /** Does what only the current release can do; the relay is not killed meanwhile. */
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

  /** The release that ran at a time in Unix milliseconds. */
  releaseAt(time: number): Release {
    const period = this.#past.findLast(({ from }) => from <= time) ?? this.#past[0];
    if (period === undefined) throw new Error("no release has run yet");
    return period.release;
  }
}
