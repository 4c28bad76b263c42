import { MINUTE_MS, SECOND_MS } from "../../core/time.ts";

/** Part of the polls permitted per minute that is kept for urgent polls; rounded up. */
const KEPT_PART = 1 / 10;
/** Part of the polls permitted per minute that may be made all at once: those of one second. */
const BURST_PART = 1 / 60;
/**
 * Longest wait in milliseconds after which a task must ask again, even when its turn comes later. A task whose job has
 * ended meanwhile does not ask again and so loses its turn; otherwise many ended tasks would hold up the others.
 */
const LONGEST_WAIT_MS = MINUTE_MS;
/** Time in milliseconds that a task may be late in asking again before it loses its turn. */
const GRACE_MS = 3 * SECOND_MS;
/** Largest rounding error in milliseconds of a time to which many intervals have been added. */
const ROUNDING_MS = 0.01;
/**
 * Largest number of tasks whose order of asking a lane remembers. A further task is told to ask again later, and gets
 * its place in the order then.
 */
const MAX_WAITING = 10_000;

/**
 * Distributes the polls that a provider permits to one API key per minute among the tasks. A task whose poll is
 * beyond the limit waits for its turn, in the order of asking, and is told when to ask again. A tenth of the polls
 * is kept for urgent ones, which take the others too. The order is only in memory, because a restart loses no
 * more than the turns of the waiting tasks and the count of the last minute.
 */
export class PollSlots {
  readonly #kept = new Lane();
  readonly #common = new Lane();
  #latest = 0;

  /**
   * Asks for the permission to poll now.
   * @param isUrgent true when the poll must not wait behind the many others.
   * @param now time in Unix milliseconds.
   * @returns 0 when the poll may be made, else the wait before the next request in milliseconds.
   */
  take(taskId: string, isUrgent: boolean, perMinute: number, now: number): number {
    this.#watchClock(now);
    const kept = perMinute > 1 ? Math.ceil(perMinute * KEPT_PART) : 0;
    this.#kept.limitTo(kept);
    this.#common.limitTo(perMinute - kept);
    const commonMs = this.#common.waitMs(taskId, now);
    const keptMs = isUrgent && kept > 0 ? this.#kept.waitMs(taskId, now) : Infinity;
    const [lane, waitMs] =
      keptMs <= commonMs ? [this.#kept, keptMs] : ([this.#common, commonMs] as const);
    if (waitMs > 0) return lane.wait(taskId, Math.min(waitMs, LONGEST_WAIT_MS), now);
    lane.use(now);
    this.#kept.leave(taskId);
    this.#common.leave(taskId);
    return 0;
  }

  /** Forgets all turns when the clock was put back, because they would be far in the future. */
  #watchClock(now: number): void {
    if (now < this.#latest - SECOND_MS) {
      this.#kept.clear();
      this.#common.clear();
    }
    this.#latest = now;
  }
}

/**
 * Times at which polls may be sent (places), as many in each minute as a limit permits, and the tasks that wait for
 * one. Places follow each other at even intervals. A few places that nobody has used may be used later, all at once.
 * All times are in Unix milliseconds.
 */
class Lane {
  /** Time of the next place if no place is free from the past. */
  #evenAt = 0;
  #distanceMs = Infinity;
  /** Time by which a place that is free from the past lies before its even time. */
  #burstMs = 0;
  /** Waiting tasks in the order in which they first asked, each with the time at which it loses its turn. */
  readonly #waiting = new Map<string, number>();

  /** Sets the number of polls that a minute may have. */
  limitTo(perMinute: number): void {
    const burst = Math.max(1, Math.floor(perMinute * BURST_PART));
    // In a minute that begins with a burst, one place fewer than this rate gives is after the burst.
    this.#distanceMs = MINUTE_MS / (perMinute + 1 - burst);
    this.#burstMs = (burst - 1) * this.#distanceMs;
  }

  /** Returns the time until the task's turn, in whole milliseconds; 0 or less when a place is free for it now. */
  waitMs(taskId: string, now: number): number {
    const evenAt = Math.max(this.#evenAt, now) + this.#countBefore(taskId, now) * this.#distanceMs;
    return Math.ceil(evenAt - this.#burstMs - now - ROUNDING_MS);
  }

  /** Takes note that a task waits, as long as not too many do. @returns the given time. */
  wait(taskId: string, forMs: number, now: number): number {
    const isKnown = this.#waiting.has(taskId);
    // A known task keeps its place in the order.
    if (isKnown || this.#waiting.size < MAX_WAITING) {
      this.#waiting.set(taskId, now + forMs + GRACE_MS);
    }
    return forMs;
  }

  /** Uses the next place. */
  use(now: number): void {
    this.#evenAt = Math.max(this.#evenAt, now) + this.#distanceMs;
  }

  leave(taskId: string): void {
    this.#waiting.delete(taskId);
  }

  clear(): void {
    this.#evenAt = 0;
    this.#waiting.clear();
  }

  /** Counts the tasks that wait longer than this one, and forgets those of them that did not ask again in time. */
  #countBefore(taskId: string, now: number): number {
    let count = 0;
    for (const [other, lostAt] of this.#waiting) {
      if (other === taskId) return count;
      if (lostAt < now) this.#waiting.delete(other);
      else count++;
    }
    return count;
  }
}
