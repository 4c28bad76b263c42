import { MINUTE_MS } from "../../core/time.ts";

/** Largest number of readers in one isolate that wait at a time with a status link of one task. */
const MAX_READERS = 32;
/** Pause in milliseconds between two searches for the places of readers who have not given theirs back. */
const SWEEP_MS = 15 * MINUTE_MS;

/** A place of a reader: the time in Unix milliseconds at which the reader's request is over at the latest. */
interface Place {
  readonly endsAt: number;
}

/**
 * Counts the readers in this isolate that wait with a status link. A place also ends by its time: where a client goes
 * away, the platform may end the request without running another line of it.
 */
export class LinkReaders {
  readonly #placesOf = new Map<string, Set<Place>>();
  #sweepAt = 0;

  /**
   * Takes a place among the readers of a task.
   * @returns gives the place back; null when there is none left.
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
