import { DurableObject } from "cloudflare:workers";
import { MINUTE_MS, SECOND_MS } from "../core/time.ts";
import { ALERT_PAUSE_MS, AlertSlots } from "./alert-slots.ts";

const FAILURES_KEY = "failures";
const ALERT = "failing";
const FAILING_COUNT = 10;
const FAILING_WITHIN_MS = 10 * MINUTE_MS;
const STALE_MARGIN_MS = SECOND_MS;

/**
 * Durable Object of a receiver's host, named after the host (binding `HOSTS`). It counts the failed callback attempts
 * of all tasks at this host, so that the operator is alerted once and not for every task.
 *
 * Stores the times of the last ten failed attempts (`failures`) and of the last alert (`alerted_at:failing`). Once
 * these times are too old to affect another alert, the alarm erases the object.
 *
 * Called by task objects after a failed attempt (`objects/task/alerts.ts`), only when the operator wants the event
 * `host.failing`. If attempts at a host fail rarely, an isolate reports each failure; if they fail often, it reports
 * several at once.
 */
export class HostObject extends DurableObject<object> {
  readonly #alerts = new AlertSlots(this.ctx.storage.kv);

  /**
   * Counts failed attempts. Within the hour after an alert it stores nothing.
   * @returns true when the caller must alert the operator: after 10 failures in 10 minutes, at most once an hour.
   */
  async noteFailure(count = 1): Promise<boolean> {
    const isAlertDue = this.#note(Date.now(), count);
    if ((await this.ctx.storage.getAlarm()) === null) this.#setAlarm();
    return isAlertDue;
  }

  /**
   * Erases the object when the stored times are too old to affect another alert. Otherwise sets the alarm again.
   * Clients choose the hosts, so objects that are never erased would fill the storage.
   */
  override async alarm(): Promise<void> {
    if (this.#staleAt() > Date.now()) this.#setAlarm();
    else await this.ctx.storage.deleteAll();
  }

  #note(now: number, count: number): boolean {
    if (now - this.#alerts.lastAt(ALERT) < ALERT_PAUSE_MS) return false;
    const recent = this.#failures().filter((at) => now - at < FAILING_WITHIN_MS);
    const failures = [...recent, ...Array.from({ length: count }, () => now)];
    this.ctx.storage.kv.put(FAILURES_KEY, failures.slice(-FAILING_COUNT));
    return failures.length >= FAILING_COUNT && this.#alerts.claim(now, ALERT);
  }

  #setAlarm(): void {
    void this.ctx.storage.setAlarm(this.#staleAt() + STALE_MARGIN_MS);
  }

  #staleAt(): number {
    const last = this.#failures().at(-1) ?? 0;
    return Math.max(last + FAILING_WITHIN_MS, this.#alerts.lastAt(ALERT) + ALERT_PAUSE_MS);
  }

  /** Returns the times of the stored failures, in Unix milliseconds, oldest first. */
  #failures(): readonly number[] {
    return this.ctx.storage.kv.get<number[]>(FAILURES_KEY) ?? [];
  }
}
