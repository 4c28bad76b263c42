import type { TriedTimes } from "../../core/policy.ts";

/**
 * Remembers what one instance of a task's object has tried of its planned work: the times up to which it has tried
 * writes to the index and polls, and the version of the index row that it has written. All this is only in memory,
 * because a write to the index and a poll without news store nothing. A new instance does not know what earlier
 * instances have tried. It assumes:
 * - when a request or hook wakes it: all work that was planned for earlier times has been tried;
 * - when an alarm wakes it: index writes that were planned for times before that of the alarm have been tried, and
 *   later ones have not;
 * - when an alarm wakes it: no poll has been made. The alarm may have been set for a poll that an earlier instance has
 *   begun or deferred, even long after the planned time. At worst one poll is made more than planned;
 * - in every case: the index has the version of the row that the record states, and no later one. An instance that
 *   knows that the row is written sets the alarm for the next other work, so the alarm of a settled task is set for the
 *   end of its retention. If that alarm fires sooner, at worst one write of each version is made more than needed.
 */
export class TriedUntil {
  #indexTriedAt: number | null = null;
  #indexOrderedAt = 0;
  #indexedVersion = 0;
  /**
   * True when the index row must be written again although a write is in progress, because that write began before the
   * latest change.
   */
  #isWriteTooOld = false;
  #polledAt: number | null = null;
  #askedAt = 0;
  /** Time at which the newest client's read that has been answered was sent; 0 for none. */
  #readAt = 0;
  #pollEndedAt = 0;
  #pollDeferredTo = 0;
  #pollDeferredAt = 0;
  #readyAt: number | null = null;
  /**
   * Values that `#polledAt` and `#askedAt` had before the newest poll began. They are restored when this poll is
   * deferred.
   */
  #beforePoll: readonly [polledAt: number | null, askedAt: number] = [null, 0];

  /**
   * Records that an alarm has fired.
   * @param scheduledAt time for which the alarm was set, in Unix milliseconds.
   */
  noteAlarm(scheduledAt: number): void {
    this.#indexTriedAt = scheduledAt - 1;
    this.#readyAt = Math.max(this.#readyAt ?? 0, scheduledAt);
    if (this.#askedAt === 0) this.#polledAt = 0;
  }

  /** Records that a call of any kind, e.g. an attempt of the callback, has ended at `now`. */
  endCall(now: number): void {
    this.#readyAt = now;
  }

  /** Records that a write to the index begins at `now`. */
  noteIndexWrite(now: number): void {
    this.#indexTriedAt = now;
    this.#isWriteTooOld = false;
  }

  /** Makes the planned write to the index due again at `now`, although it may have been tried already. */
  orderIndexWrite(now: number): void {
    this.#indexTriedAt = 0;
    this.#indexOrderedAt = now;
    this.#isWriteTooOld = false;
  }

  /** Records that the index has the task's row in the given version. */
  noteIndexRow(version: number): void {
    if (!this.#isWriteTooOld) this.#indexedVersion = version;
  }

  /**
   * Forgets which version of the task's row the index has. This is needed when the row must be written again, and when
   * the task is erased.
   */
  forgetIndexRow(): void {
    this.#indexedVersion = 0;
    this.#isWriteTooOld = true;
  }

  /** Records that a poll begins at `now`. */
  notePoll(now: number): void {
    this.#beforePoll = [this.#polledAt, this.#askedAt];
    this.#polledAt = now;
    this.#askedAt = now;
    this.#pollDeferredTo = 0;
    this.#pollDeferredAt = 0;
  }

  /**
   * Records that a client's read of the job, which was sent at `askedAt`, was answered. It counts as a poll, also while
   * a poll is in progress or deferred.
   */
  noteRead(askedAt: number): void {
    this.#readAt = Math.max(this.#readAt, askedAt);
  }

  /** Records that the newest poll has ended at `now`. */
  endPoll(now: number): void {
    this.#pollEndedAt = now;
  }

  /**
   * Records that the newest poll, for which permission was asked at `askedAt`, was postponed to the time `until`
   * because of the provider's limit of polls.
   */
  deferPoll(askedAt: number, until: number): void {
    [this.#polledAt, this.#askedAt] = this.#beforePoll;
    this.#pollDeferredTo = until;
    this.#pollDeferredAt = askedAt;
  }

  /**
   * Returns the times up to which this instance has tried its planned index writes and polls. If it has handled no
   * alarm yet, everything that was planned for a time before `now` counts as tried.
   */
  at(now: number): TriedTimes {
    // An alarm of an object without a task has not moved the clock of the work loop, and the machine's clock
    // may have been put back since then.
    this.#indexTriedAt = Math.min(this.#indexTriedAt ?? now - 1, now);
    this.#indexOrderedAt = Math.min(this.#indexOrderedAt, now);
    this.#polledAt = Math.min(this.#polledAt ?? now - 1, now);
    this.#readyAt = Math.min(this.#readyAt ?? now, now);
    return {
      indexTriedAt: this.#indexTriedAt,
      indexOrderedAt: this.#indexOrderedAt,
      indexedVersion: this.#indexedVersion,
      polledAt: Math.max(this.#polledAt, Math.min(this.#readAt, now)),
      askedAt: Math.max(this.#askedAt, this.#readAt),
      pollEndedAt: this.#pollEndedAt,
      pollDeferredTo: this.#pollDeferredTo,
      pollDeferredAt: this.#pollDeferredAt,
      readyAt: this.#readyAt,
    };
  }
}
