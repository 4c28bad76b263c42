import { HOUR_MS } from "../core/time.ts";

const PREFIX = "alerted_at";

/** Time in milliseconds after an alert within which no other alert of its kind is sent. */
export const ALERT_PAUSE_MS = HOUR_MS;

/**
 * Times at which the operator was last alerted of a fault of a connection, a receiver's host or the index. The
 * Durable Object of the connection, of the host or of the deployment stores them. Many tasks meet the same fault at
 * once, so the object permits one alert of each kind per hour.
 */
export class AlertSlots {
  readonly #kv: SyncKvStorage;

  constructor(kv: SyncKvStorage) {
    this.#kv = kv;
  }

  /**
   * Reserves the right to send one alert.
   * @param kind kind of the fault. An alert of one kind does not delay an alert of another kind.
   * @returns true when no alert of this kind was sent within the last hour.
   */
  claim(now: number, kind: string): boolean {
    if (now - this.lastAt(kind) < ALERT_PAUSE_MS) return false;
    this.#kv.put(keyOf(kind), now);
    return true;
  }

  /** Returns the time of the last alert of the given kind, in Unix milliseconds; 0 when there was none. */
  lastAt(kind: string): number {
    return this.#kv.get<number>(keyOf(kind)) ?? 0;
  }
}

function keyOf(kind: string): string {
  return `${PREFIX}:${kind}`;
}
