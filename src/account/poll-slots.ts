import { MINUTE_MS, SECOND_MS } from "../core/time.ts";

/** A poll that waits for its turn. */
interface Waiting {
  readonly likelihood: number;
  /** Number of the first request for this poll; of polls that are equally likely, the lowest goes first. */
  readonly number: number;
  /** Time until which the poll counts as waiting, in Unix milliseconds. */
  readonly until: number;
}

/** Largest number of waiting polls that are remembered; further ones wait as if they were last. */
const MAX_WAITING = 2_000;
/** Largest part of a minute's polls that may be made at once. */
const BURST = 1 / 6;
/** Part of a minute's polls that becomes free in each minute, so that with a burst there are no more. */
const STEADY = 1 - BURST;
const LONGEST_WAIT_MS = MINUTE_MS;
/** Time after the end of its wait for which a poll keeps its place, in milliseconds. */
const GRACE_MS = 5 * SECOND_MS;

/**
 * Shares out the polls that a provider permits to one API key per minute. A poll that must wait is told when
 * to ask again: the likelier it is to find a result, the sooner. All of it is in memory, because a restart
 * loses no more than the count of the last minute.
 */
export class PollSlots {
  /** Polls that may be made at `#countedAt`; negative after polls that could not wait. */
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

  /** Adds the polls that have become free since the last call, and forgets waiting polls that did not return. */
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

  /** Counts the waiting polls that go first: the likelier ones, and of equally likely ones the earlier. */
  #ahead(likelihood: number, number: number): number {
    const first = [...this.#waiting.values()].filter((each) =>
      each.likelihood === likelihood ? each.number < number : each.likelihood > likelihood,
    );
    return first.length;
  }
}
