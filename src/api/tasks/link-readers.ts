import { MINUTE_MS } from "../../core/time.ts";

/** Largest number of readers that wait at the same time, in one isolate, with the status link of one task. */
const MAX_READERS = 32;
/** Pause in milliseconds between two searches for places of readers whose requests are over, in all tasks. */
const SWEEP_MS = 15 * MINUTE_MS;

/**
 * The place of one reader who waits with a status link. `endsAt` is the time in Unix milliseconds at which the reader's
 * request is over at the latest.
 */
interface Place {
  readonly endsAt: number;
}

/**
 * Counts the readers who wait with status links in this isolate. The place of a reader is also freed when its time is
 * over, because the platform may end the request of a client that has gone away without running any further code.
 */
export class LinkReaders {
  readonly #placesOf = new Map<string, Set<Place>>();
  #sweepAt = 0;

  /**
   * Takes a place for a reader who waits with the status link of a task.
   * @returns the function that gives the place back; null when no place is free.
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
