import { retryable } from "cloudflare:durable-objects";
import { DurableObject } from "cloudflare:workers";
import { HOUR_MS, MINUTE_MS } from "../../core/time.ts";
import { AlertSlots } from "../alert-slots.ts";
import { PollSlots } from "./poll-slots.ts";

/** A provider's answer (to a poll) that the relay has not understood. */
export interface UnclearAnswer {
  readonly statusCode: number;
  /** Name of a job state that the relay does not know. Null when the answer names no state. */
  readonly word: string | null;
}

/** The last stored answer (to a poll) that the relay did not understand, with its time in Unix milliseconds. */
interface NotedAnswer extends UnclearAnswer {
  readonly at: number;
}

/** Faults of a connection (a set of credentials for a provider) that `/healthz` shows. */
export interface ConnectionState {
  /** Time at which the provider last refused the API key, in Unix milliseconds. Null when it never did. */
  readonly keyRefusedAt: number | null;
  /**
   * Time at which the provider last refused a submission because the account there has no money left, in Unix
   * milliseconds. Null when it never did.
   */
  readonly fundsRefusedAt: number | null;
  /** True when hooks are missing: none of the last 20 tasks of the connection that expected a hook got it. */
  readonly areHooksMissing: boolean;
  /** The last answer (to a poll) that the relay did not understand. Null when there was none. */
  readonly unclear: NotedAnswer | null;
}

/** Storage keys of the times of the last refusals, by their class (because of the API key, because of the balance). */
const REFUSED_AT = { key: "refused_at", funds: "funds_refused_at" } as const;
/** Kinds of the alerts about refusals, by the class of the refusal (because of the API key, because of the balance). */
const ALERTS = { key: "refused", funds: "funds" } as const;
const UNCLEAR_KEY = "unclear";
const HOOKLESS_KEY = "hookless";
/** When this many tasks in a row did not get their expected hook, the hooks of the connection count as missing. */
export const HOOKLESS_TASKS = 20;
/**
 * Pause in milliseconds after a refusal was stored. Until it is over, no further refusal of the same class is stored,
 * because many tasks meet the same refusal at once.
 */
const REFUSAL_PAUSE_MS = MINUTE_MS;
/**
 * Pause in milliseconds after an answer that was not understood was stored. Until it is over, no further such answer is
 * stored, because each write costs money.
 */
export const UNCLEAR_PAUSE_MS = HOUR_MS;

/**
 * Durable Object of a connection (a set of credentials for a provider), named after it (binding `CONNECTION_OBJECTS`;
 * `CONNECTIONS` is the secret with the credentials). It stores what the tasks of the connection have learned of the
 * provider, and keeps their polls below the provider's rate limit.
 *
 * Stores the last refusals because of the API key and of the balance (`refused_at`, `funds_refused_at`), the last
 * alerts about them (`alerted_at:refused`, `alerted_at:funds`), the last answer that was not understood (`unclear`),
 * and how many tasks in a row did not get their expected hook (`hookless`). The counts of polls are only in memory
 * (poll-slots.ts).
 *
 * Called by task objects:
 * - for each poll, if the connection has `polls_per_minute` (`objects/task/connection-calls.ts`);
 * - for the number of missing hooks, once in ten minutes by each isolate that attaches jobs;
 * - with each expected hook that did not come, and with hooks that came after a missing one;
 * - for the first of many refusals of one class or answers not understood, by each isolate (`objects/task/alerts.ts`).
 *
 * An object with the name `customer:…` belongs to one key of a customer at the provider. It only counts the polls with
 * this key, and stores nothing: what the tasks of customers learn says nothing about the connection.
 *
 * `GET /healthz`, `GET /v1/problems` and the console read its state. No task depends on its answers: without them tasks
 * are polled as if hooks came and polls had no limit.
 */
export class ConnectionObject extends DurableObject<object> {
  static {
    // The platform may repeat these calls after a lost connection, because they change nothing.
    for (const name of ["connectionState", "hooklessTasks"] as const)
      retryable(this.prototype[name]);
  }

  readonly #alerts = new AlertSlots(this.ctx.storage.kv);
  readonly #slots = new PollSlots();

  /**
   * Stores that the provider has refused a call because of the API key of the connection, or a submission because of
   * the balance there.
   * @returns true when the caller must alert the operator, at most once an hour for each class.
   */
  noteRefusal(refusal: "key" | "funds"): boolean {
    const now = Date.now();
    const last = this.#refusedAt(refusal);
    if (last === null || now - last > REFUSAL_PAUSE_MS) {
      this.ctx.storage.kv.put(REFUSED_AT[refusal], now);
    }
    return this.#alerts.claim(now, ALERTS[refusal]);
  }

  /** Stores an answer (to a poll) that the relay has not understood. At most one such answer is stored per hour. */
  noteUnclear(answer: UnclearAnswer): void {
    const now = Date.now();
    const known = this.#unclear();
    if (known === null || Math.abs(now - known.at) >= UNCLEAR_PAUSE_MS) {
      this.ctx.storage.kv.put(UNCLEAR_KEY, { ...answer, at: now });
    }
  }

  /**
   * Returns the faults of the connection for `/healthz`: the last refusals because of the API key and of the balance,
   * whether hooks are missing, and the last answer that was not understood.
   */
  connectionState(): ConnectionState {
    const areHooksMissing = this.hooklessTasks() >= HOOKLESS_TASKS;
    const [keyRefusedAt, fundsRefusedAt] = [this.#refusedAt("key"), this.#refusedAt("funds")];
    return { keyRefusedAt, fundsRefusedAt, areHooksMissing, unclear: this.#unclear() };
  }

  /** Returns how many tasks in a row did not get their expected hook, at most 20. */
  hooklessTasks(): number {
    return this.ctx.storage.kv.get<number>(HOOKLESS_KEY) ?? 0;
  }

  /**
   * Counts the tasks in a row that did not get their expected hook: a hook that has come sets the count to 0, a missing
   * one raises it by one. The count is written only when it changes.
   * @returns the new count, at most 20.
   */
  noteHook(hasCome: boolean): number {
    const known = this.hooklessTasks();
    const hookless = hasCome ? 0 : Math.min(known + 1, HOOKLESS_TASKS);
    if (hookless !== known) this.ctx.storage.kv.put(HOOKLESS_KEY, hookless);
    return hookless;
  }

  /**
   * Asks for permission to poll a job of this connection now; see `PollSlots.take`.
   * @returns 0 when the poll may be sent; otherwise the wait in milliseconds before the task may ask again.
   */
  takePollSlot(taskId: string, isUrgent: boolean, perMinute: number): number {
    return this.#slots.take(taskId, isUrgent, perMinute, Date.now());
  }

  #refusedAt(refusal: "key" | "funds"): number | null {
    return this.ctx.storage.kv.get<number>(REFUSED_AT[refusal]) ?? null;
  }

  #unclear(): NotedAnswer | null {
    return this.ctx.storage.kv.get<NotedAnswer>(UNCLEAR_KEY) ?? null;
  }
}
