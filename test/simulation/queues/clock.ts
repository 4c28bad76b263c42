interface Timer {
  readonly at: number;
  readonly order: number;
  readonly run: () => void;
}

/** Time of a simulated world, which passes from one event to the next. */
export class Clock {
  /** Time that has passed since the beginning, in milliseconds. */
  passed = 0;
  /** What the machines' clocks show at the beginning, in Unix milliseconds. Lower after a clock was put back. */
  base: number;
  readonly #heap: Timer[] = [];
  #order = 0;
  steps = 0;

  constructor(base: number) {
    this.base = base;
  }

  /** Time that the machines' clocks show, in Unix milliseconds. */
  get now(): number {
    return this.base + this.passed;
  }

  /** Time of the next event in milliseconds since the beginning; Infinity when there is none. */
  get nextAt(): number {
    return this.#heap[0]?.at ?? Infinity;
  }

  /** Plans an event in `ms` milliseconds. */
  after(ms: number, run: () => void): void {
    const timer = { at: this.passed + Math.max(ms, 0), order: this.#order++, run };
    const heap = this.#heap;
    let place = heap.length;
    heap.push(timer);
    while (place > 0) {
      const parent = (place - 1) >> 1;
      const other = heap[parent];
      if (other === undefined || !isBefore(timer, other)) break;
      heap[place] = other;
      place = parent;
    }
    heap[place] = timer;
  }

  /** Lets time pass until the next event, and begins it. */
  step(): void {
    const first = this.#take();
    this.steps++;
    this.passed = Math.max(this.passed, first.at);
    first.run();
  }

  #take(): Timer {
    const heap = this.#heap;
    const [first] = heap;
    const last = heap.pop();
    if (first === undefined || last === undefined) throw new Error("nothing is planned");
    if (heap.length === 0) return first;
    let place = 0;
    for (;;) {
      const left = 2 * place + 1;
      const right = heap[left + 1];
      let child = heap[left];
      if (child === undefined) break;
      const isRight = right !== undefined && isBefore(right, child);
      if (isRight) child = right;
      if (!isBefore(child, last)) break;
      heap[place] = child;
      place = isRight ? left + 1 : left;
    }
    heap[place] = last;
    return first;
  }
}

function isBefore(a: Timer, b: Timer): boolean {
  return a.at === b.at ? a.order < b.order : a.at < b.at;
}
