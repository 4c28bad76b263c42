import { MINUTE_MS, SECOND_MS } from "../../core/time.ts";

/**
 * Part of the permitted polls per minute that is reserved for urgent polls. The number of reserved polls is rounded up.
 */
const KEPT_PART = 1 / 10;
/**
 * Part of the permitted polls per minute that may be sent all at once: as many polls as fall on one second on average.
 */
const BURST_PART = 1 / 60;
/**
 * Longest wait in milliseconds after which a task must ask again, even if its turn to poll comes later. A task whose
 * job has ended by then does not ask again and so loses its turn. Without this, tasks that have ended would make other
 * tasks wait.
 */
const LONGEST_WAIT_MS = MINUTE_MS;
/** Largest delay in milliseconds with which a task may ask again for its poll without losing its turn. */
const GRACE_MS = 3 * SECOND_MS;
/** Largest rounding error in milliseconds of a time that was computed by adding many intervals. */
const ROUNDING_MS = 0.01;
/**
 * Largest number of waiting tasks whose order is remembered for one limit (`Lane`). A task beyond this number must ask
 * again later, and gets its position in the order then.
 */
const MAX_WAITING = 10_000;

/**
 * Distributes the polls that a provider permits per minute among the tasks of a connection. When the limit is reached,
 * a task waits for its turn, and the answer says when to ask again. Turns come in the order in which tasks first asked.
 * A tenth of the polls is reserved for urgent polls, which may use the other polls too. The order is only in memory,
 * because a restart loses only the turns of the waiting tasks and the count of the last minute.
 */
export class PollSlots {
  readonly #kept = new Lane();
  readonly #common = new Lane();
  #latest = 0;

  /**
   * Asks for permission to poll now.
   * @param isUrgent true when the poll may use the polls that are reserved for urgent ones.
   * @param now time in Unix milliseconds.
   * @returns 0 when the poll may be sent; otherwise the wait in milliseconds before the task may ask again.
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

  /**
   * Forgets the turns of all tasks when the clock was put back, because these turns would then be far in the future.
   */
  #watchClock(now: number): void {
    if (now < this.#latest - SECOND_MS) {
      this.#kept.clear();
      this.#common.clear();
    }
    this.#latest = now;
  }
}

/**
 * Plans the times at which polls may be sent under one limit, and the order of the tasks that wait for such a time. One
 * such time is called a place. Each minute has as many places as the limit permits, at even intervals. A few places
 * that nobody has used may be used later, all at once. All times are in Unix milliseconds.
 */
class Lane {
  /** Time of the next place (permitted time of a poll), not counting unused places of the past. */
  #evenAt = 0;
  #distanceMs = Infinity;
  /**
   * Largest time in milliseconds by which a poll may be sent before its evenly spaced time. It makes up for permitted
   * times in the past at which no poll was sent.
   */
  #burstMs = 0;
  /**
   * Waiting tasks in the order in which they first asked. The value is the time at which the task loses its turn.
   */
  readonly #waiting = new Map<string, number>();

  /** Sets the number of polls that may be sent per minute. */
  limitTo(perMinute: number): void {
    const burst = Math.max(1, Math.floor(perMinute * BURST_PART));
    // In a minute that begins with polls sent all at once, this rate leaves one place fewer after them.
    this.#distanceMs = MINUTE_MS / (perMinute + 1 - burst);
    this.#burstMs = (burst - 1) * this.#distanceMs;
  }

  /** Returns the time until the task may poll, in whole milliseconds; 0 or less when it may poll now. */
  waitMs(taskId: string, now: number): number {
    const evenAt = Math.max(this.#evenAt, now) + this.#countBefore(taskId, now) * this.#distanceMs;
    return Math.ceil(evenAt - this.#burstMs - now - ROUNDING_MS);
  }

  /**
   * Remembers that a task waits for its turn, unless too many tasks are waiting already.
   * @returns `forMs`, unchanged.
   */
  wait(taskId: string, forMs: number, now: number): number {
    const isKnown = this.#waiting.has(taskId);
    // A task that waits already keeps its position in the order.
    if (isKnown || this.#waiting.size < MAX_WAITING) {
      this.#waiting.set(taskId, now + forMs + GRACE_MS);
    }
    return forMs;
  }

  /** Records that a poll is sent. It uses up the next permitted time. */
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

  /**
   * Returns how many waiting tasks asked before this one. Tasks that have not asked again in time are removed and not
   * counted.
   */
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
