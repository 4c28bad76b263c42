import type { TaskEvent } from "../../core/events/event.ts";
import {
  isStillRunning,
  type LatestProgress,
  type ProgressCallback,
  progressCallbackOf,
} from "../../core/events/progress-callback.ts";
import type { Policy } from "../../core/policy.ts";
import type { TaskRecord } from "../../core/record/task.ts";
import { progressLine } from "./calls.ts";
import type { Platform } from "./platform.ts";

/** State of the work loop of the task, on which progress callbacks depend. */
interface LoopState {
  /** Returns the time of the loop, in Unix milliseconds. */
  readonly now: () => number;
  /** Tells whether the host of this URL is paused, as the isolate has read it last. */
  readonly isPaused: (url: string) => boolean;
}

/**
 * Sends the progress callbacks of one task, beside its work loop, which does not wait for them. What was sent is
 * remembered in memory only, so that they cost no row: a new instance of the task's object may send one earlier than 10 s
 * after the latest, or with the same percentage.
 */
export class ProgressCallbacks {
  readonly #platform: Platform;
  readonly #loop: LoopState;
  #latest: LatestProgress | null = null;

  constructor(platform: Platform, loop: LoopState) {
    this.#platform = platform;
    this.#loop = loop;
  }

  /** Starts the progress callback that follows from an event, if one does. */
  follow(
    before: TaskRecord | null,
    event: TaskEvent,
    after: TaskRecord | null,
    policy: Policy,
    now: number,
  ): void {
    const callback = progressCallbackOf(before, event, after, this.#latest, policy, now);
    if (callback === null) return;
    const { percent, startedAt } = callback;
    const told = this.#latest;
    this.#latest = { percent, startedAt, isRunning: true };
    this.#platform.background(this.#send(callback, told));
  }

  /** @param told the latest callback before this one; null when there was none. */
  async #send(callback: ProgressCallback, told: LatestProgress | null): Promise<void> {
    try {
      const reading = this.#platform.readPauses();
      if (reading !== null) await reading;
      const mayStart = () =>
        isStillRunning(this.#platform.load(), callback) && !this.#loop.isPaused(callback.url);
      const result = await this.#platform.sendProgress(callback, mayStart);
      if (result === null) {
        this.#latest = told;
        return;
      }
      const durationMs = Math.max(0, this.#loop.now() - callback.startedAt);
      const { line, level } = progressLine(callback, result, durationMs);
      this.#platform.log(() => line, level);
    } finally {
      this.#latest = this.#latest && { ...this.#latest, isRunning: false };
    }
  }
}
