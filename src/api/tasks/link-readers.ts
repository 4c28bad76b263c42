import { MINUTE_MS } from "../../core/time.ts";

/** Largest number of readers that may wait at the same time in one isolate with the status link of one task. */
const MAX_READERS = 32;
/**
 * Time in milliseconds between two searches, in all tasks, for readers that still count as waiting although their
 * requests are over.
 */
const SWEEP_MS = 15 * MINUTE_MS;

/**
 * One reader that waits with a status link. `endsAt` is the latest time, in Unix milliseconds, at which the reader's
 * request is over.
 */
interface Place {
  readonly endsAt: number;
}

/**
 * Counts the readers that wait with status links in this isolate. A reader is counted no longer than until its time is
 * over, because the platform may end the request of a client that has gone away without running any more code.
 */
export class LinkReaders {
  readonly #placesOf = new Map<string, Set<Place>>();
  #sweepAt = 0;

  /**
   * Counts one more reader that waits with the status link of a task.
   * @returns the function that ends the counting of this reader; null when too many readers wait already.
   */
  enter(taskId: string, now: number, endsAt: number): (() => void) | null {
    if (now >= this.#sweepAt) {
      for (const id of this.#placesOf.keys()) this.#drop(id, (place) => place.endsAt <= now);
      this.#sweepAt = now + SWEEP_MS;
    }
    this.#drop(taskId, (place) => place.endsAt <= now);
    const places = this.#placesOf.get(taskId) ?? new Set();
    if (places.size >= MAX_READERS) return null;
    const own = { endsAt };
    this.#placesOf.set(taskId, places.add(own));
    return () => this.#drop(taskId, (place) => place === own);
  }

  #drop(taskId: string, isOver: (place: Place) => boolean): void {
    const places = this.#placesOf.get(taskId);
    for (const place of places ?? []) if (isOver(place)) places?.delete(place);
    if (places?.size === 0) this.#placesOf.delete(taskId);
  }
}
