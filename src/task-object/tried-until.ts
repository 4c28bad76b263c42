import { MINUTE_MS } from "../core/time.ts";

/**
 * Time before the first alarm of an instance, in milliseconds, within which a planned poll counts as not made:
 * an earlier instance may have deferred it. Longer than every regular wait between two polls, so that a poll
 * is due at the alarm however often it was deferred.
 */
const DEFERRED_MS = 6 * MINUTE_MS;

/** The times up to which an instance of a task's object has tried planned work, in Unix milliseconds. */
export interface TriedTimes {
  /** Time up to which all planned writes to the index have been tried. */
  readonly indexTriedAt: number;
  /** Time up to which all planned polls of the job have been made or begun. */
  readonly polledAt: number;
  /** Time at which this instance began its newest poll; 0 when it has begun none. */
  readonly askedAt: number;
  /** Time before which the job is not polled, to keep the provider's limit of polls; 0 for no such time. */
  readonly pollDeferredTo: number;
}

/**
 * The times up to which one instance of a task's object has tried its planned work: writes to the index, and
 * polls. They are kept in memory only, because a failed write or a poll without news stores nothing. A new
 * instance that an event wakes counts everything that was planned before now as tried. One that an alarm wakes
 * counts as not tried what was planned from the time of the alarm on, and the polls of the minutes before it.
 */
export class TriedUntil {
  #indexTriedAt: number | null = null;
  #polledAt: number | null = null;
  #askedAt = 0;
  #pollDeferredTo = 0;
  /**
   * Values of `#polledAt` and `#askedAt` before the newest poll began; they return when this poll is
   * deferred.
   */
  #beforePoll: readonly [polledAt: number | null, askedAt: number] = [null, 0];

  /**
   * Takes note of an alarm.
   * @param scheduledAt time for which the alarm was set, in Unix milliseconds: that of the next planned work,
   * or, when work was due already, up to `watchdogMs` later.
   */
  noteAlarm(scheduledAt: number, watchdogMs: number): void {
    this.#indexTriedAt = scheduledAt - 1;
    if (this.#askedAt > 0) return;
    // The alarm may belong to a poll that an earlier instance of the object has begun or deferred.
    const untriedSince = Math.max(0, scheduledAt - Math.max(watchdogMs, DEFERRED_MS) - 1);
    this.#polledAt = Math.min(this.#polledAt ?? Infinity, untriedSince);
  }

  /**
   * Takes note of a write to the index that begins at `now`; `now` is 0 to make the next planned write due
   * again.
   */
  noteIndexWrite(now: number): void {
    this.#indexTriedAt = now;
  }

  /** Takes note of a poll that begins at `now`. */
  notePoll(now: number): void {
    this.#beforePoll = [this.#polledAt, this.#askedAt];
    this.#polledAt = now;
    this.#askedAt = now;
    this.#pollDeferredTo = 0;
  }

  /**
   * Takes note that the newest poll was deferred to the time `until`, to keep the provider's limit of polls.
   */
  deferPoll(until: number): void {
    [this.#polledAt, this.#askedAt] = this.#beforePoll;
    this.#pollDeferredTo = until;
  }

  /**
   * Returns the times up to which planned work has been tried. An instance that has handled no alarm yet
   * assumes that everything that was planned for a time before `now` has been tried.
   */
  at(now: number): TriedTimes {
    // An alarm of an object without a task has not moved the clock of the work loop, and the machine's clock
    // may have been put back since then.
    this.#indexTriedAt = Math.min(this.#indexTriedAt ?? now - 1, now);
    this.#polledAt = Math.min(this.#polledAt ?? now - 1, now);
    return {
      indexTriedAt: this.#indexTriedAt,
      polledAt: this.#polledAt,
      askedAt: this.#askedAt,
      pollDeferredTo: this.#pollDeferredTo,
    };
  }
}
