type Row = Readonly<Record<string, unknown>>;

/**
 * The storage of one object: values under keys, the rows of one table, and the alarm. What was written in one turn becomes
 * durable together, or is lost with the instance.
 */
export class Storage {
  readonly #values = new Map<string, unknown>();
  readonly #rows = new Map<unknown, Row>();
  #columns: readonly string[] = [];
  #alarm: number | null = null;
  #undo: (() => void)[] = [];

  get alarm(): number | null {
    return this.#alarm;
  }

  get isDirty(): boolean {
    return this.#undo.length > 0;
  }

  /** The rows of the table. */
  get rows(): readonly Row[] {
    return [...this.#rows.values()];
  }

  flush(): void {
    this.#undo = [];
  }

  /** Drops what is not durable, because the instance has died. */
  lose(): void {
    for (const undo of this.#undo.toReversed()) undo();
    this.#undo = [];
  }

  get(key: string): unknown {
    return this.#values.get(key);
  }

  put(key: string, value: unknown): void {
    this.#note(this.#values, key);
    this.#values.set(key, value);
  }

  delete(key: string): void {
    this.#note(this.#values, key);
    this.#values.delete(key);
  }

  setAlarm(at: number | null): void {
    const before = this.#alarm;
    this.#undo.push(() => (this.#alarm = before));
    this.#alarm = at;
  }

  /** Deletes all values. An alarm stays. */
  clear(): void {
    for (const key of this.#values.keys()) this.#note(this.#values, key);
    this.#values.clear();
  }

  /** Runs a statement in the few forms that objects use. @throws for any other. */
  execute(text: string, given: readonly unknown[]): readonly Row[] {
    const [verb = ""] = text.trim().split(/\s/);
    const [id] = given;
    switch (verb) {
      case "CREATE":
        this.#columns = [...text.matchAll(/^ +(\w+) (?:TEXT|INTEGER)/gm)].map(
          ([, name = ""]) => name,
        );
        return [];
      case "INSERT":
        this.#note(this.#rows, id);
        this.#rows.set(id, Object.fromEntries(this.#columns.map((name, i) => [name, given[i]])));
        return [];
      case "DELETE":
        this.#note(this.#rows, id);
        this.#rows.delete(id);
        return [];
      case "SELECT":
        return this.rows;
      default:
        throw new Error(`an unknown statement: ${text}`);
    }
  }

  #note<Key, Value>(map: Map<Key, Value>, key: Key): void {
    const before = map.get(key);
    this.#undo.push(() => {
      if (before === undefined) map.delete(key);
      else map.set(key, before);
    });
  }
}
