/** Glob that matches every model, and also a request that names none. */
export const ANY_MODEL = "*";

/**
 * Tells whether a glob matches the whole name of a model. `*` stands for any number of any characters, every other
 * character for itself. The time is linear in the length of the name.
 */
export function isModelOf(glob: string, model: string): boolean {
  const [head = "", ...parts] = glob.split("*");
  const tail = parts.pop();
  if (tail === undefined) return model === head;
  if (!model.startsWith(head)) return false;
  let end = head.length;
  for (const part of parts) {
    // The first occurrence leaves the most characters to the parts that follow.
    const start = model.indexOf(part, end);
    if (start < 0) return false;
    end = start + part.length;
  }
  return end + tail.length <= model.length && model.endsWith(tail);
}

/**
 * The names and globs of a list of offers, by which the first offer for a model is found without comparing the model
 * with each of them. There can be thousands.
 */
export class ModelIndex {
  /** Lowest position of each name without `*`. */
  readonly #names = new Map<string, number>();
  /** Globs with `*` and their positions, by their beginnings before it. */
  readonly #globs = new Map<string, (readonly [glob: string, position: number])[]>();
  /** Lengths of these beginnings. */
  readonly #lengths = new Set<number>();

  /** Adds a name or glob. @param position of its offer in the list, not below that of the glob added before. */
  add(glob: string, position: number): void {
    const star = glob.indexOf("*");
    if (star < 0) {
      if (!this.#names.has(glob)) this.#names.set(glob, position);
      return;
    }
    const start = glob.slice(0, star);
    this.#lengths.add(star);
    const globs = this.#globs.get(start) ?? [];
    globs.push([glob, position]);
    this.#globs.set(start, globs);
  }

  /**
   * Returns the position of the first offer for a model; Infinity when there is none. For a glob taken as a name, it is
   * the first offer for all models of the glob, because no letter of a glob matches a `*`.
   */
  first(model: string): number {
    let first = this.#names.get(model) ?? Infinity;
    for (const length of this.#lengths) {
      const globs = this.#globs.get(model.slice(0, length)) ?? [];
      const found = globs.find(([glob, position]) => position >= first || isModelOf(glob, model));
      first = Math.min(first, found?.[1] ?? Infinity);
    }
    return first;
  }

  /** Returns the position of the first offer that is also for requests without a model; Infinity when there is none. */
  firstForAny(): number {
    const found = this.#globs.get("")?.find(([glob]) => glob === ANY_MODEL);
    return found?.[1] ?? Infinity;
  }
}
