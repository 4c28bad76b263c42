/** The times up to which an instance of a task's object has tried planned work, in Unix milliseconds. */
export interface TriedTimes {
  /** See `indexTriedAt` of `Policy` (core/policy.ts). */
  readonly indexTriedAt: number;
  /** See `polledAt` of `Policy` (core/policy.ts). */
  readonly polledAt: number;
  /** See `askedAt` of `Policy` (core/policy.ts). */
  readonly askedAt: number;
  /** See `pollDeferredTo` of `Policy` (core/policy.ts). */
  readonly pollDeferredTo: number;
}

/**
 * What one instance of a task's object remembers about tries that leave nothing in the storage: writes to the
 * index that failed, and polls without news. A new instance knows nothing and derives both times from its
 * first alarm or event.
 */
export class TriedUntil {
  #indexTriedAt: number | null = null;
  #polledAt: number | null = null;
  #askedAt = 0;
  #pollDeferredTo = 0;
  /** `#polledAt` and `#askedAt` before the last poll. */
  #beforePoll: readonly [polledAt: number | null, askedAt: number] = [null, 0];

  /**
   * Takes note of an alarm.
   * @param scheduledAt time for which the alarm was set, in Unix milliseconds: that of the next planned work,
   * or, when work was due already, up to `watchdogMs` later.
   */
  noteAlarm(scheduledAt: number, watchdogMs: number): void {
    this.#indexTriedAt = scheduledAt - 1;
    if (this.#askedAt > 0) return;
    // The alarm may be that of a poll which an instance that crashed has begun.
    const watchedSince = Math.max(0, scheduledAt - watchdogMs - 1);
    this.#polledAt = Math.min(this.#polledAt ?? Infinity, watchedSince);
  }

  /** Takes note of a write to the index that begins at `now`; 0 makes the next planned write due again. */
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

  /** Takes note that the last poll was not sent, and is to be sent at `until`. */
  deferPoll(until: number): void {
    [this.#polledAt, this.#askedAt] = this.#beforePoll;
    this.#pollDeferredTo = until;
  }

  /**
   * Returns the times at `now`. An instance that has handled no alarm yet assumes that everything that was
   * planned for an earlier time has been tried.
   */
  at(now: number): TriedTimes {
    // An alarm that found no task has not moved the clock of the loop, which may have been put back since.
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
