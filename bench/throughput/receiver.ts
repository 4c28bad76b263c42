import { LoopbackServer } from "../../test/process/harness/loopback.ts";

interface Waiting {
  readonly count: number;
  readonly resume: () => void;
}

/** Receiver of the callbacks of all servers under test; it answers 200 at once. */
export class Receiver extends LoopbackServer {
  readonly #arrivals = new Map<string, number[]>();
  readonly #expected = new Set<string>();
  #waiting: Waiting[] = [];

  private constructor() {
    super((request, response) => {
      this.#note((request.url ?? "").slice(1));
      request.resume();
      response.on("error", () => {});
      response.writeHead(200).end();
    });
  }

  static start(): Promise<Receiver> {
    return new Receiver().listen();
  }

  /** Forgets all callbacks that have arrived or are expected. */
  reset(): void {
    this.#arrivals.clear();
    this.#expected.clear();
  }

  /** Expects the callback of a task. @returns its URL. */
  expect(taskId: string): string {
    this.#expected.add(taskId);
    return `${this.origin}/${taskId}`;
  }

  /** Stops expecting the callback of this task. */
  forget(taskId: string): void {
    this.#expected.delete(taskId);
    this.#resume();
  }

  /** Returns the times of the callbacks of a task, by `performance.now()`. */
  arrivalsOf(taskId: string): readonly number[] {
    return this.#arrivals.get(taskId) ?? [];
  }

  /** Waits until fewer than `count` callbacks are expected, at most until `until` (by `performance.now()`). */
  async fewerThan(count: number, until: number): Promise<void> {
    if (this.#expected.size < count) return;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, Math.max(0, until - performance.now()));
      const resume = () => {
        clearTimeout(timer);
        resolve();
      };
      this.#waiting.push({ count, resume });
    });
  }

  #note(taskId: string): void {
    const times = this.#arrivals.get(taskId) ?? [];
    times.push(performance.now());
    this.#arrivals.set(taskId, times);
    this.#expected.delete(taskId);
    this.#resume();
  }

  #resume(): void {
    if (this.#waiting.length === 0) return;
    const ready = this.#waiting.filter(({ count }) => this.#expected.size < count);
    if (ready.length === 0) return;
    this.#waiting = this.#waiting.filter(({ count }) => this.#expected.size >= count);
    for (const { resume } of ready) resume();
  }
}
