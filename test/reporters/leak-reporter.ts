import type { UserConsoleLog } from "vitest";
import type { Reporter, Vitest } from "vitest/node";
import { leaksIn } from "../process/harness/leaks.ts";

/** Fails the run when anything that a test or a worker under test prints holds a secret. */
export class LeakReporter implements Reporter {
  #vitest: Vitest | null = null;
  /** Unfinished line of each stream, because a secret may be split between two writes. */
  readonly #tails = new Map<string, string>();

  onInit(vitest: Vitest): void {
    this.#vitest = vitest;
  }

  onUserConsoleLog({ content, type, taskId }: UserConsoleLog): void {
    const stream = `${taskId} ${type}`;
    const text = (this.#tails.get(stream) ?? "") + content;
    this.#tails.set(stream, content.endsWith("\n") ? "" : text);
    const leaks = leaksIn(text);
    if (leaks.length === 0) return;
    const error = new Error(`a secret was printed:\n${leaks.join("\n")}`);
    this.#vitest?.state.catchError(error, "Planted Secret");
  }
}
