import { retryable } from "cloudflare:durable-objects";
import { DurableObject } from "cloudflare:workers";
import type { JobReport } from "../../core/events/job-report.ts";
import { HOUR_MS, MINUTE_MS } from "../../core/time.ts";
import { AlertSlots } from "../alert-slots.ts";
import { DurationBook, type KnownKind } from "./duration-book.ts";
import { PollSlots } from "./poll-slots.ts";

/** An answer that a provider gave when it was polled, and that the relay did not understand. */
export interface UnclearAnswer {
  readonly statusCode: number;
  /** The state that the answer named and that the relay does not know; null when the answer named no state. */
  readonly word: string | null;
}

/**
 * The last stored answer of a provider that the relay did not understand, with its time in Unix milliseconds.
 */
interface NotedAnswer extends UnclearAnswer {
  readonly at: number;
}

/** Faults of a connection (a set of credentials for a provider) that `/healthz` shows. */
export interface ConnectionState {
  /** Time at which the provider last refused the API key, in Unix milliseconds; null when it never did. */
  readonly keyRefusedAt: number | null;
  /**
   * True when each of the last 20 tasks of the connection that expected a hook, and reported on its job,
   * got none.
   */
  readonly areHooksMissing: boolean;
  /**
   * The last answer of the provider, when it was polled, that the relay did not understand; null when there
   * was none.
   */
  readonly unclear: NotedAnswer | null;
}

const REFUSED_KEY = "refused_at";
const UNCLEAR_KEY = "unclear";
/**
 * Time in milliseconds after a stored refusal of an API key in which no further one is stored, because many
 * tasks meet the same refusal at once.
 */
const REFUSAL_PAUSE_MS = MINUTE_MS;
/**
 * Time in milliseconds after a stored answer in which no further answer that the relay does not understand is
 * stored, because each write costs money.
 */
export const UNCLEAR_PAUSE_MS = HOUR_MS;

/**
 * Durable Object of a connection (a set of credentials for a provider), named after it (binding
 * `CONNECTION_OBJECTS`; `CONNECTIONS` is the secret with the credentials). It knows what the tasks of the
 * connection learn together, and keeps their polls below the provider's rate limit.
 *
 * Stores the last refusal of the API key (`refused_at`), the last alert about it (`alerted_at:refused`), the
 * last answer that was not understood (`unclear`), and how long jobs take and whether hooks come
 * (`durations`, duration-book.ts). The counts of polls are only in memory (poll-slots.ts).
 *
 * Called by task objects: for each poll where the connection has `polls_per_minute`; for the durations of a
 * kind of jobs once in ten minutes by each isolate; with a report for the first jobs of each kind and one in 24
 * later (`task-object/job-kinds.ts`); for a refused key or an unclear answer, in every isolate the first of
 * many (`task-object/alerts.ts`). `GET /healthz`, `GET /v1/problems` and the console read its state. Nobody
 * depends on its answer: without it tasks are polled as if nothing were known.
 */
export class ConnectionObject extends DurableObject<object> {
  static {
    // The platform may repeat these calls after a lost connection, because they change nothing.
    for (const name of ["connectionState", "knownKind"] as const) retryable(this.prototype[name]);
  }

  readonly #alerts = new AlertSlots(this.ctx.storage.kv);
  readonly #durations = new DurationBook(this.ctx.storage.kv);
  readonly #slots = new PollSlots();

  /**
   * Stores that the provider refused the API key of the connection.
   * @returns true when the caller is to alert the operator: at most once an hour.
   */
  noteRefusedKey(): boolean {
    const now = Date.now();
    const last = this.#refusedAt();
    if (last === null || now - last > REFUSAL_PAUSE_MS) this.ctx.storage.kv.put(REFUSED_KEY, now);
    return this.#alerts.claim(now, "refused");
  }

  /**
   * Stores an answer that the provider gave when it was polled and that the relay did not understand, at most
   * one an hour.
   */
  noteUnclear(answer: UnclearAnswer): void {
    const now = Date.now();
    const known = this.#unclear();
    if (known === null || Math.abs(now - known.at) >= UNCLEAR_PAUSE_MS) {
      this.ctx.storage.kv.put<NotedAnswer>(UNCLEAR_KEY, { ...answer, at: now });
    }
  }

  /**
   * Returns the faults of the connection for `/healthz`: the last refusal of the API key, whether hooks are
   * missing, and the last answer that the relay did not understand.
   */
  connectionState(): ConnectionState {
    const areHooksMissing = this.#durations.areHooksMissing();
    return { keyRefusedAt: this.#refusedAt(), areHooksMissing, unclear: this.#unclear() };
  }

  /** Returns how long jobs of one kind take at this connection, and whether its hooks come. */
  knownKind(kind: string): KnownKind {
    return this.#durations.known(kind);
  }

  /**
   * Stores a task's report about its job at this connection: how long the job took, and whether a hook came.
   * The polls of later jobs are planned from these reports.
   */
  noteJob(report: JobReport): void {
    this.#durations.add(report);
  }

  /**
   * Asks for the permission to poll a job of this connection now; see `PollSlots.take`.
   * @returns 0 when the poll may be made, else the wait before the next request in milliseconds.
   */
  takePollSlot(taskId: string, likelihood: number, perMinute: number): number {
    return this.#slots.take(taskId, likelihood, perMinute, Date.now());
  }

  #refusedAt(): number | null {
    return this.ctx.storage.kv.get<number>(REFUSED_KEY) ?? null;
  }

  #unclear(): NotedAnswer | null {
    return this.ctx.storage.kv.get<NotedAnswer>(UNCLEAR_KEY) ?? null;
  }
}
