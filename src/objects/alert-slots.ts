import { HOUR_MS } from "../core/time.ts";

const PREFIX = "alerted_at";

/** Time after an alert in which no further one of its kind is sent, in milliseconds. */
export const ALERT_PAUSE_MS = HOUR_MS;

/**
 * Times at which the operator was last alerted of the subject of an object (a connection, a receiver's host,
 * the index). Many tasks meet the same fault at once, so the object permits one alert of a kind in an hour.
 */
export class AlertSlots {
  readonly #kv: SyncKvStorage;

  constructor(kv: SyncKvStorage) {
    this.#kv = kv;
  }

  /**
   * Reserves the right to send one alert.
   * @param kind of the fault. An alert of one kind does not delay one of another kind.
   * @returns true unless an alert of this kind was sent within the last hour.
   */
  claim(now: number, kind: string): boolean {
    if (now - this.lastAt(kind) < ALERT_PAUSE_MS) return false;
    this.#kv.put(keyOf(kind), now);
    return true;
  }

  /** Returns the time of the last alert of this kind, in Unix milliseconds; 0 when there was none. */
  lastAt(kind: string): number {
    return this.#kv.get<number>(keyOf(kind)) ?? 0;
  }
}

function keyOf(kind: string): string {
  return `${PREFIX}:${kind}`;
}
