/**
 * Times up to which one instance of a task's object has tried its planned work, in Unix milliseconds. The planned
 * work is writes to the index and polls of the job.
 */
export interface TriedTimes {
  /** Time up to which this instance has tried all planned writes to the index. */
  readonly indexTriedAt: number;
  /** Time up to which this instance has made or begun all planned polls of the job. */
  readonly polledAt: number;
  /** Time at which this instance began its latest poll; 0 when it has begun none. */
  readonly askedAt: number;
  /** Time at which the latest poll of this instance ended; 0 when none has ended. */
  readonly pollEndedAt: number;
  /**
   * Time before which the job is not polled, because the limit of polls of its connection is reached; 0 when no
   * poll is deferred.
   */
  readonly pollDeferredTo: number;
  /** Time at which the latest poll was deferred; 0 when no poll is deferred. */
  readonly pollDeferredAt: number;
}

/**
 * Remembers up to which time one instance of a task's object has tried its planned work: writes to the index, and
 * polls. These times are only in memory, because a failed write or a poll without news stores nothing. A new
 * instance does not know what earlier instances have tried. It assumes:
 * - when a request or hook wakes it: all work that was planned for earlier times has been tried;
 * - when an alarm wakes it: index writes planned for times before that of the alarm have been tried, later ones
 *   not;
 * - when an alarm wakes it: no poll has been made. The alarm may have been set for a poll that an earlier instance
 *   has begun or deferred, even long after the planned time. At worst one poll is made more than planned.
 */
export class TriedUntil {
  #indexTriedAt: number | null = null;
  #polledAt: number | null = null;
  #askedAt = 0;
  #pollEndedAt = 0;
  #pollDeferredTo = 0;
  #pollDeferredAt = 0;
  /**
   * Values that `#polledAt` and `#askedAt` had before the newest poll began; they are restored when this poll
   * is deferred.
   */
  #beforePoll: readonly [polledAt: number | null, askedAt: number] = [null, 0];

  /**
   * Takes note that an alarm has fired. @param scheduledAt time for which the alarm was set, in Unix
   * milliseconds.
   */
  noteAlarm(scheduledAt: number): void {
    this.#indexTriedAt = scheduledAt - 1;
    if (this.#askedAt === 0) this.#polledAt = 0;
  }

  /**
   * Takes note that a write to the index begins at `now`. A `now` of 0 makes the next planned write due
   * again, although it may have been tried already.
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
    this.#pollDeferredAt = 0;
  }

  /** Takes note that the newest poll has ended at `now`. */
  endPoll(now: number): void {
    this.#pollEndedAt = now;
  }

  /**
   * Takes note that the newest poll, which began at `askedAt`, was deferred to the time `until`, to keep the
   * provider's limit of polls.
   */
  deferPoll(askedAt: number, until: number): void {
    [this.#polledAt, this.#askedAt] = this.#beforePoll;
    this.#pollDeferredTo = until;
    this.#pollDeferredAt = askedAt;
  }

  /**
   * Returns the times up to which this instance has tried its planned index writes and polls. If it has
   * handled no alarm yet, it assumes that everything that was planned for a time before `now` has been tried.
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
      pollEndedAt: this.#pollEndedAt,
      pollDeferredTo: this.#pollDeferredTo,
      pollDeferredAt: this.#pollDeferredAt,
    };
  }
}
