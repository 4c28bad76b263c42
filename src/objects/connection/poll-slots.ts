import { MINUTE_MS, SECOND_MS } from "../../core/time.ts";

/**
 * A task whose poll was deferred, because the limit was reached, and that will ask again for the permission
 * to poll.
 */
interface Waiting {
  readonly likelihood: number;
  /**
   * Number of the first request for this poll, counted up over all tasks; of polls with the same likelihood,
   * the one with the lowest number is permitted first.
   */
  readonly number: number;
  /** Time after which the poll is forgotten if the task has not asked again, in Unix milliseconds. */
  readonly until: number;
}

/**
 * Largest number of deferred polls that keep their place in the queue. The task of any further one has to
 * wait as well, but counts as a new one when it asks again.
 */
const MAX_WAITING = 2_000;
/** Largest part of the polls permitted per minute that may be made all at once. */
const BURST = 1 / 6;
/**
 * Part of the polls permitted per minute that is handed out evenly over each minute: together with a burst,
 * no minute then has more polls than the limit.
 */
const STEADY = 1 - BURST;
const LONGEST_WAIT_MS = MINUTE_MS;
/** Time in milliseconds that a task may be late in asking again before its deferred poll loses its turn. */
const GRACE_MS = 5 * SECOND_MS;

/**
 * Distributes the polls that a provider permits to one API key per minute among the tasks. A poll beyond the
 * limit is deferred: its task gets a time at which to ask again, which is the earlier, the likelier the poll
 * is to find a result. The counts are only in memory, because a restart loses no more than those of the last
 * minute.
 */
export class PollSlots {
  /**
   * Number of polls that were still permitted at the time `#countedAt`; negative after polls that were
   * permitted beyond the limit, because polls that surely find a result never wait.
   */
  #free = Infinity;
  #countedAt = 0;
  #lastNumber = 0;
  readonly #waiting = new Map<string, Waiting>();

  /**
   * Asks for the permission to poll now.
   * @param likelihood probability that the poll finds a result; a poll with 1 never waits.
   * @returns 0 when the poll may be made, else the wait before the next request in milliseconds.
   */
  take(taskId: string, likelihood: number, perMinute: number, now: number): number {
    this.#count(perMinute, now);
    const number = this.#waiting.get(taskId)?.number ?? ++this.#lastNumber;
    this.#waiting.delete(taskId);
    const ahead = this.#ahead(likelihood, number);
    if (likelihood >= 1 || this.#free >= ahead + 1) {
      this.#free = Math.max(this.#free - 1, -perMinute);
      return 0;
    }
    const turnMs = Math.ceil(((ahead + 1 - this.#free) * MINUTE_MS) / (perMinute * STEADY));
    const waitMs = Math.min(Math.max(turnMs, SECOND_MS), LONGEST_WAIT_MS);
    if (this.#waiting.size < MAX_WAITING) {
      this.#waiting.set(taskId, { likelihood, number, until: now + waitMs + GRACE_MS });
    }
    return waitMs;
  }

  /**
   * Adds the polls that have become permitted since the last call, and forgets deferred polls whose tasks
   * did not ask again in time.
   */
  #count(perMinute: number, now: number): void {
    // The clock may have been put back.
    const passedMs = Math.max(0, now - this.#countedAt);
    const most = Math.max(1, perMinute * BURST);
    this.#free = Math.min(most, this.#free + (passedMs * perMinute * STEADY) / MINUTE_MS);
    this.#countedAt = now;
    for (const [id, { until }] of this.#waiting) {
      if (until < now || until > now + LONGEST_WAIT_MS + GRACE_MS) this.#waiting.delete(id);
    }
  }

  /**
   * Counts the deferred polls that come before another one: those that are likelier to find a result, and
   * those that are equally likely and were asked for earlier.
   */
  #ahead(likelihood: number, number: number): number {
    const first = [...this.#waiting.values()].filter((each) =>
      each.likelihood === likelihood ? each.number < number : each.likelihood > likelihood,
    );
    return first.length;
  }
}
