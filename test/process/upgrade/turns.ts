import { setTimeout as sleep } from "node:timers/promises";
import type { Load } from "../chaos/callbacks/kills.ts";

interface TurnsOptions<T> {
  /** Forms of the relay, which take turns; the load begins with the first. */
  readonly forms: readonly [T, ...T[]];
  /** Form with which the load ends; by default the one whose turn it is then. */
  readonly last?: T;
  /** Time in milliseconds from one change to the next, without the restart. */
  readonly periodMs: number;
  /** Restarts the relay in a form, with the number of the change. */
  readonly take: (load: Load, form: T, nth: number) => Promise<void>;
}

/** Gives the relay under load another form, e.g. another bundle, at the end of each period. */
export class Turns<T> {
  readonly #options: TurnsOptions<T>;
  /** Form of the relay from a time on; null while it is changed. */
  readonly #log: { readonly form: T | null; readonly from: number }[] = [];

  constructor(options: TurnsOptions<T>) {
    this.#options = options;
    this.#begin(options.forms[0]);
  }

  /** Changes the form at the end of each period until the load is over. */
  async disturb(load: Load): Promise<void> {
    const { forms, periodMs } = this.#options;
    for (let nth = 1; !load.isOver(); nth++) {
      await sleep(periodMs);
      await this.#change(load, forms[nth % forms.length] ?? forms[0], nth);
    }
    const { last = this.#present } = this.#options;
    if (last === null || last === this.#present) return;
    await sleep(periodMs);
    await this.#change(load, last, 0);
  }

  /** Returns the form at a time; null while it was changed. @param time in Unix milliseconds. */
  at(time: number): T | null {
    return this.#log.findLast(({ from }) => from <= time)?.form ?? null;
  }

  async #change(load: Load, form: T, nth: number): Promise<void> {
    this.#begin(null);
    await this.#options.take(load, form, nth);
    this.#begin(form);
  }

  get #present(): T | null {
    return this.#log.at(-1)?.form ?? null;
  }

  #begin(form: T | null): void {
    this.#log.push({ form, from: Date.now() });
  }
}
