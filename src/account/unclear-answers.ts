import { HOUR_MS } from "../core/time.ts";

/** An answer of a provider to a poll that was not understood. */
export interface UnclearAnswer {
  readonly statusCode: number;
  /** The unknown state that the answer named; null when it named none. */
  readonly word: string | null;
}

/** The last stored answer that was not understood, and its time in Unix milliseconds. */
export interface NotedAnswer extends UnclearAnswer {
  readonly at: number;
}

const UNCLEAR_KEY = "unclear";
/** Time in milliseconds after a stored answer in which no further one is stored, because a write costs. */
export const UNCLEAR_PAUSE_MS = HOUR_MS;

/** Keeps the last answer of a connection's provider that was not understood, at most one an hour. */
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
