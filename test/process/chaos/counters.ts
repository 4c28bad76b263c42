/** Figures of a run, by name. */
export class Counters {
  readonly #counts = new Map<string, number>();

  add(name: string, count = 1): void {
    this.#counts.set(name, this.of(name) + count);
  }

  addAll(other: Counters): void {
    for (const [name, count] of other.#counts) this.add(name, count);
  }

  of(name: string): number {
    return this.#counts.get(name) ?? 0;
  }

  /** Lists the figures that are too low for the run to prove anything. */
  tooLow(least: Readonly<Record<string, number>>): string[] {
    return Object.entries(least).flatMap(([name, count]) => {
      return this.of(name) >= count ? [] : [`too few: ${name}: ${this.of(name)} of ${count}`];
    });
  }

  toString(): string {
    const entries = [...this.#counts].toSorted(([a], [b]) => a.localeCompare(b));
    return entries.map(([name, count]) => `${String(count).padStart(7)}  ${name}`).join("\n");
  }
}
