import { HOUR_MS } from "../core/time.ts";

const PREFIX = "alerted_at";

/** Pause in milliseconds after an alert. Until it is over, no further alert of the same kind is sent. */
export const ALERT_PAUSE_MS = HOUR_MS;

/**
 * Stores when the operator was last alerted of a fault of a connection, a receiver's host or the index. It is part of
 * the Durable Object of the connection, of the host or of the deployment. Many tasks meet the same fault at once, so
 * the object permits one alert of each kind per hour.
 */
export class AlertSlots {
  readonly #kv: SyncKvStorage;

  constructor(kv: SyncKvStorage) {
    this.#kv = kv;
  }

  /**
   * Asks for permission to send one alert now, and stores that it is sent.
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
