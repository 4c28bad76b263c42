const REFUSED_KEY = "refused_at";
const FAILURES_KEY = "failures";
const TOLD_KEY = "told_at";
/** Many tasks meet the same refusal at once; it is written down once a minute. */
const REFUSAL_PAUSE_MS = 60_000;
const FAILING_AFTER = 10;
const FAILING_WITHIN_MS = 600_000;
const TELL_PAUSE_MS = 3_600_000;

/** What goes wrong with one connection or one receiver's host, for all tasks together. */
export class FailureTracker {
  readonly #kv: SyncKvStorage;

  constructor(kv: SyncKvStorage) {
    this.#kv = kv;
  }

  /** A provider has refused the key. @returns whether to tell the operator: once an hour. */
  noteRefusedKey(now: number): boolean {
    const last = this.refusedAt();
    if (last === null || now - last > REFUSAL_PAUSE_MS) this.#kv.put(REFUSED_KEY, now);
    return this.claimAlertSlot(now);
  }

  /** When the key was last refused, in Unix milliseconds. */
  refusedAt(): number | null {
    return this.#kv.get<number>(REFUSED_KEY) ?? null;
  }

  /**
   * An attempt has failed. Within the hour after the operator was told nothing is written.
   * @returns whether to tell the operator: 10 in 10 minutes, once an hour.
   */
  noteFailure(now: number): boolean {
    if (now - this.#toldAt() < TELL_PAUSE_MS) return false;
    const known = this.#kv.get<number[]>(FAILURES_KEY) ?? [];
    const failures = [...known.filter((at) => now - at < FAILING_WITHIN_MS), now];
    this.#kv.put(FAILURES_KEY, failures.slice(-FAILING_AFTER));
    return failures.length >= FAILING_AFTER && this.claimAlertSlot(now);
  }

  /** When nothing here matters any longer, in Unix milliseconds. */
  staleAt(): number {
    const last = this.#kv.get<number[]>(FAILURES_KEY)?.at(-1) ?? 0;
    return Math.max(last + FAILING_WITHIN_MS, this.#toldAt() + TELL_PAUSE_MS);
  }

  /** Once an hour. */
  claimAlertSlot(now: number): boolean {
    if (now - this.#toldAt() < TELL_PAUSE_MS) return false;
    this.#kv.put(TOLD_KEY, now);
    return true;
  }

  #toldAt(): number {
    return this.#kv.get<number>(TOLD_KEY) ?? 0;
  }
}
