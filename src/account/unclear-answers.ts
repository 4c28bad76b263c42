import { HOUR_MS } from "../core/time.ts";

/** An answer that a provider gave when it was polled, and that the relay did not understand. */
export interface UnclearAnswer {
  readonly statusCode: number;
  /** The state that the answer named and that the relay does not know; null when the answer named no state. */
  readonly word: string | null;
}

/**
 * The last stored answer of a provider that the relay did not understand, with its time in Unix milliseconds.
 */
export interface NotedAnswer extends UnclearAnswer {
  readonly at: number;
}

const UNCLEAR_KEY = "unclear";
/**
 * Time in milliseconds after a stored answer in which no further answer that the relay does not understand is
 * stored, because each write costs money.
 */
export const UNCLEAR_PAUSE_MS = HOUR_MS;

/**
 * Stores the last answer that the provider of a connection gave to a poll and that the relay did not
 * understand, at most one an hour.
 */
export class UnclearAnswers {
  readonly #kv: SyncKvStorage;

  constructor(kv: SyncKvStorage) {
    this.#kv = kv;
  }

  note(answer: UnclearAnswer, now: number): void {
    const known = this.last();
    if (known === null || Math.abs(now - known.at) >= UNCLEAR_PAUSE_MS) {
      this.#kv.put<NotedAnswer>(UNCLEAR_KEY, { ...answer, at: now });
    }
  }

  last(): NotedAnswer | null {
    return this.#kv.get<NotedAnswer>(UNCLEAR_KEY) ?? null;
  }
}
