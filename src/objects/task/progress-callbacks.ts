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

/**
 * Sends the progress callbacks of one task, beside its work loop, which does not wait for them. What was sent is
 * remembered in memory only, so that they cost no row: a new instance of the task's object may send one earlier than 10 s
 * after the latest, or with the same percentage.
 */
export class ProgressCallbacks {
  readonly #platform: Platform;
  readonly #isPaused: (url: string) => boolean;
  #latest: LatestProgress | null = null;

  /** @param isPaused tells whether the host of this URL is paused, as the isolate has read it last. */
  constructor(platform: Platform, isPaused: (url: string) => boolean) {
    this.#platform = platform;
    this.#isPaused = isPaused;
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
    this.#latest = { percent, startedAt, isRunning: true };
    this.#platform.background(this.#send(callback));
  }

  async #send(callback: ProgressCallback): Promise<void> {
    try {
      const reading = this.#platform.readPauses();
      if (reading !== null) await reading;
      const mayStart = () =>
        isStillRunning(this.#platform.load(), callback) && !this.#isPaused(callback.url);
      const result = await this.#platform.sendProgress(callback, mayStart);
      if (result === null) return;
      const durationMs = Math.max(0, this.#platform.now() - callback.startedAt);
      const { line, level } = progressLine(callback, result, durationMs);
      this.#platform.log(() => line, level);
    } finally {
      this.#latest = this.#latest && { ...this.#latest, isRunning: false };
    }
  }
}
