import { setTimeout as sleep } from "node:timers/promises";
import type { Load } from "../chaos/kills.ts";

const PERIOD_MS = 3_500;
const LOOK_EVERY_MS = 50;

/** Gives the relay under load another form, e.g. another bundle, at the end of each period. */
export class Turns<T> {
  readonly #forms: readonly [T, ...T[]];
  readonly #take: (load: Load, form: T, nth: number) => Promise<void>;
  /** Form of the relay from a time on; null while it is changed. */
  readonly #log: { readonly form: T | null; readonly from: number }[] = [];
  readonly #protected = new Set<Promise<unknown>>();

  /**
   * @param forms forms of the relay, which take turns; the load begins and ends with the first.
   * @param take restarts the relay in a form, with the number of the change.
   */
  constructor(
    forms: readonly [T, ...T[]],
    take: (load: Load, form: T, nth: number) => Promise<void>,
  ) {
    this.#forms = forms;
    this.#take = take;
    this.#begin(forms[0]);
  }

  /** Changes the form at the end of each period until the load is over. */
  async disturb(load: Load): Promise<void> {
    const [first] = this.#forms;
    for (let nth = 1; !load.isOver() || this.#present !== first; nth++) {
      await sleep(PERIOD_MS);
      const form = load.isOver() ? first : (this.#forms[nth % this.#forms.length] ?? first);
      this.#begin(null);
      await Promise.allSettled(this.#protected);
      await this.#take(load, form, nth);
      this.#begin(form);
    }
  }

  /** Waits for a period of a form; the relay is not changed before the work has ended. */
  async during<R>(form: T, work: () => Promise<R>): Promise<R> {
    while (this.#present !== form) await sleep(LOOK_EVERY_MS);
    const done = work();
    this.#protected.add(done);
    try {
      return await done;
    } finally {
      this.#protected.delete(done);
    }
  }

  /** Returns the form at a time; null while it was changed. @param time in Unix milliseconds. */
  at(time: number): T | null {
    return this.#log.findLast(({ from }) => from <= time)?.form ?? null;
  }

  get #present(): T | null {
    return this.#log.at(-1)?.form ?? null;
  }

  #begin(form: T | null): void {
    this.#log.push({ form, from: Date.now() });
  }
}
