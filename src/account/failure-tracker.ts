import { HOUR_MS, MINUTE_MS } from "../core/time.ts";

const REFUSED_KEY = "refused_at";
const FAILURES_KEY = "failures";
/** Time of the last alert; the name is older than the code. */
const ALERTED_KEY = "told_at";
/** Many tasks meet the same refusal at once, so it is stored at most once a minute. */
const REFUSAL_PAUSE_MS = MINUTE_MS;
const FAILING_COUNT = 10;
const FAILING_WITHIN_MS = 10 * MINUTE_MS;
const ALERT_PAUSE_MS = HOUR_MS;

/**
 * Failures of one connection, one receiver's host or the index, over all tasks, and when the operator was
 * last alerted. All times are Unix milliseconds.
 */
export class FailureTracker {
  readonly #kv: SyncKvStorage;

  constructor(kv: SyncKvStorage) {
    this.#kv = kv;
  }

  /** Notes that a provider refused the connection's key. @returns true when the operator is to be alerted. */
  noteRefusedKey(now: number): boolean {
    const last = this.refusedAt();
    if (last === null || now - last > REFUSAL_PAUSE_MS) this.#kv.put(REFUSED_KEY, now);
    return this.claimAlertSlot(now);
  }

  /** Returns when the key was last refused; null when it never was. */
  refusedAt(): number | null {
    return this.#kv.get<number>(REFUSED_KEY) ?? null;
  }

  /**
   * Notes a failed attempt; stores nothing within the hour after an alert.
   * @returns true when the operator is to be alerted: after 10 failures in 10 minutes.
   */
  noteFailure(now: number): boolean {
    if (now - this.#alertedAt() < ALERT_PAUSE_MS) return false;
    const known = this.#kv.get<number[]>(FAILURES_KEY) ?? [];
    const failures = [...known.filter((at) => now - at < FAILING_WITHIN_MS), now];
    this.#kv.put(FAILURES_KEY, failures.slice(-FAILING_COUNT));
    return failures.length >= FAILING_COUNT && this.claimAlertSlot(now);
  }

  /** Returns when everything stored here will be too old to matter. */
  staleAt(): number {
    const last = this.#kv.get<number[]>(FAILURES_KEY)?.at(-1) ?? 0;
    return Math.max(last + FAILING_WITHIN_MS, this.#alertedAt() + ALERT_PAUSE_MS);
  }

  /** Notes an alert, unless there was one within the last hour. @returns true when the caller may send it. */
  claimAlertSlot(now: number): boolean {
    if (now - this.#alertedAt() < ALERT_PAUSE_MS) return false;
    this.#kv.put(ALERTED_KEY, now);
    return true;
  }

  #alertedAt(): number {
    return this.#kv.get<number>(ALERTED_KEY) ?? 0;
  }
}
