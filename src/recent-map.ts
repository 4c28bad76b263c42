/**
 * Map of a limited size and age, for the memory of an isolate. A new entry beyond the size removes the one that
 * was used longest ago.
 */
export class RecentMap<V> {
  readonly #entries = new Map<string, { readonly value: V; readonly setAt: number }>();
  readonly #maxSize: number;
  readonly #maxAgeMs: number;

  constructor(maxSize: number, maxAgeMs = Infinity) {
    this.#maxSize = maxSize;
    this.#maxAgeMs = maxAgeMs;
  }

  get(key: string): V | undefined {
    const entry = this.#entries.get(key);
    if (entry === undefined) return undefined;
    this.#entries.delete(key);
    if (Date.now() - entry.setAt >= this.#maxAgeMs) return undefined;
    this.#entries.set(key, entry);
    return entry.value;
  }

  has(key: string): boolean {
    return this.get(key) !== undefined;
  }

  set(key: string, value: V): void {
    this.#entries.delete(key);
    this.#entries.set(key, { value, setAt: Date.now() });
    const [oldest] = this.#entries.keys();
    if (this.#entries.size > this.#maxSize && oldest !== undefined) this.#entries.delete(oldest);
  }

  delete(key: string): void {
    this.#entries.delete(key);
  }
}
