import { HOUR_MS, MINUTE_MS, SECOND_MS } from "../core/time.ts";

const REFUSED_KEY = "refused_at";
const FAILURES_KEY = "failures";
/**
 * Storage keys of the times of the last alerts. They cannot be renamed, because objects already store data
 * under them.
 */
const ALERTED_KEYS = { default: "told_at", full: "full_told_at", silent: "silent_told_at" };
/**
 * Time in milliseconds after a stored refusal of an API key in which no further one is stored, because many
 * tasks meet the same refusal at once.
 */
const REFUSAL_PAUSE_MS = MINUTE_MS;
const FAILING_COUNT = 10;
const FAILING_WITHIN_MS = 10 * MINUTE_MS;
const ALERT_PAUSE_MS = HOUR_MS;
const STALE_MARGIN_MS = SECOND_MS;

/**
 * Kind of an alert to the operator about one connection, host or index. `full`: the index is almost full.
 * `silent`: no task ends. `default`: any other fault. An alert of one kind does not delay one of another kind.
 */
export type AlertKind = keyof typeof ALERTED_KEYS;

/**
 * Tracks the failures of one subject (a connection, a receiver's host or the index), counted over all tasks,
 * and the time of the last alert to the operator. All times are Unix milliseconds.
 */
export class FailureTracker {
  readonly #storage: DurableObjectStorage;
  readonly #kv: SyncKvStorage;

  constructor(storage: DurableObjectStorage) {
    this.#storage = storage;
    this.#kv = storage.kv;
  }

  /**
   * Stores that a provider refused the API key of the connection.
   * @returns true when the caller is to alert the operator: at most once an hour.
   */
  noteRefusedKey(now: number): boolean {
    const last = this.refusedAt();
    if (last === null || now - last > REFUSAL_PAUSE_MS) this.#kv.put(REFUSED_KEY, now);
    return this.claimAlertSlot(now);
  }

  /**
   * Returns the time at which the provider last refused the API key, in Unix milliseconds; null when it never
   * did.
   */
  refusedAt(): number | null {
    return this.#kv.get<number>(REFUSED_KEY) ?? null;
  }

  /**
   * Counts failed attempts at a receiver's host; within the hour after an alert it stores nothing.
   * @returns true when the caller is to alert the operator: after 10 failures in 10 minutes.
   */
  noteFailure(now: number, count: number): boolean {
    if (now - this.#alertedAt() < ALERT_PAUSE_MS) return false;
    const known = this.#kv.get<number[]>(FAILURES_KEY) ?? [];
    const recent = known.filter((at) => now - at < FAILING_WITHIN_MS);
    const failures = [...recent, ...Array.from({ length: count }, () => now)];
    this.#kv.put(FAILURES_KEY, failures.slice(-FAILING_COUNT));
    return failures.length >= FAILING_COUNT && this.claimAlertSlot(now);
  }

  /** Sets the alarm to the time at which the object may erase itself, unless an alarm is set. */
  async scheduleErasure(): Promise<void> {
    if ((await this.#storage.getAlarm()) === null) this.#setAlarm();
  }

  /**
   * Erases the whole object of a receiver's host when neither the stored failures nor the last alert affect
   * the next alert; otherwise sets the alarm again. Clients choose the hosts, and objects that were never
   * erased would fill the storage.
   */
  async eraseIfStale(): Promise<void> {
    if (this.#staleAt() > Date.now()) this.#setAlarm();
    else await this.#storage.deleteAll();
  }

  /**
   * Reserves the right to send one alert.
   * @returns true unless an alert of the same kind was sent within the last hour.
   */
  claimAlertSlot(now: number, kind: AlertKind = "default"): boolean {
    if (now - this.#alertedAt(kind) < ALERT_PAUSE_MS) return false;
    this.#kv.put(ALERTED_KEYS[kind], now);
    return true;
  }

  #setAlarm(): void {
    void this.#storage.setAlarm(this.#staleAt() + STALE_MARGIN_MS);
  }

  #staleAt(): number {
    const last = this.#kv.get<number[]>(FAILURES_KEY)?.at(-1) ?? 0;
    return Math.max(last + FAILING_WITHIN_MS, this.#alertedAt() + ALERT_PAUSE_MS);
  }

  #alertedAt(kind: AlertKind = "default"): number {
    return this.#kv.get<number>(ALERTED_KEYS[kind]) ?? 0;
  }
}
