/** Counts of things by a name. */
export class Tally<Name> {
  readonly #counts = new Map<Name, number>();

  of(name: Name): number {
    return this.#counts.get(name) ?? 0;
  }

  add(name: Name, change: 1 | -1): void {
    const count = this.of(name) + change;
    if (count === 0) this.#counts.delete(name);
    else this.#counts.set(name, count);
  }
}
