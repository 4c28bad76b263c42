/**
 * Value that is read at most once in a while for each `env` object of the Worker, and kept in the memory of the
 * isolate in between, because each reading costs rows of the index. All callers get the same value, so it must
 * not depend on the caller.
 */
export class RecentValue<V> {
  readonly #kept = new WeakMap<object, { readonly value: V; readonly until: number }>();
  readonly #keepMsOf: (value: V) => number;

  /** @param keepMsOf returns the time for which a value is kept from the beginning of its reading, in milliseconds. */
  constructor(keepMsOf: (value: V) => number) {
    this.#keepMsOf = keepMsOf;
  }

  /**
   * Returns the kept value, or else reads one. A reading that fails keeps nothing.
   * @param read gets the current time, in Unix milliseconds.
   */
  async get(env: object, read: (now: number) => Promise<V>): Promise<V> {
    const now = Date.now();
    const kept = this.#kept.get(env);
    if (kept !== undefined && now < kept.until) return kept.value;
    const value = await read(now);
    this.#kept.set(env, { value, until: now + this.#keepMsOf(value) });
    return value;
  }
}
