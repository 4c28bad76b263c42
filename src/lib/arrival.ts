/** How fast a body must arrive. */
export interface ArrivalRule {
  /** Time in milliseconds within which at least `leastBytes` more bytes must arrive. */
  readonly windowMs: number;
  readonly leastBytes: number;
  /** Number of bytes from which the rule holds. */
  readonly fromBytes: number;
}

/** Watches how fast a body arrives, and ends the reading when it arrives too slowly. */
export class Arrival {
  readonly #rule: ArrivalRule;
  readonly #stop = new AbortController();
  #bytes = 0;
  #timer: ReturnType<typeof setTimeout> | null = null;

  /** Begins to watch a body of which nothing has arrived yet. `end` must be called at its end. */
  constructor(rule: ArrivalRule) {
    this.#rule = rule;
    this.note(0);
  }

  /** Signal that aborts when too few bytes of the body have arrived in the last window of time. */
  get stopped(): AbortSignal {
    return this.#stop.signal;
  }

  /** Records how many bytes of the body have arrived so far. */
  note(bytes: number): void {
    this.#bytes = bytes;
    if (this.#timer === null && bytes >= this.#rule.fromBytes) this.#look();
  }

  end(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
  }

  #look(): void {
    const before = this.#bytes;
    this.#timer = setTimeout(() => {
      if (this.#bytes - before < this.#rule.leastBytes) this.#stop.abort();
      else this.#look();
    }, this.#rule.windowMs);
  }
}
