import type { BodiedAnswer } from "../../outbound/http.ts";

/** Largest total size, in bytes, of those bodies of a provider's answers about one job that stay in memory. */
const MAX_KEPT_BYTES = 262_144;

interface Kept {
  readonly answer: BodiedAnswer;
  /** Time at which the request for the answer was sent, in Unix milliseconds. */
  readonly askedAt: number;
}

/**
 * The last answers of a provider about the job of one task, by the path that was asked. They stay in memory, so that
 * many clients that read the job cause only one request in the time that the provider demands between two polls.
 */
export class JobAnswers {
  readonly #kept = new Map<string, Kept>();
  readonly #sent = new Map<string, Promise<BodiedAnswer | null>>();

  /**
   * Returns the last answer of the provider to a path. Null when there is none in memory, e.g. because it was too
   * large.
   */
  last(path: string): BodiedAnswer | null {
    return this.#kept.get(path)?.answer ?? null;
  }

  /**
   * Tells whether the last answer to a path is still fresh: it was asked for less than `gapMs` milliseconds before
   * `now`.
   */
  isFresh(path: string, gapMs: number, now: number): boolean {
    const askedAt = this.#kept.get(path)?.askedAt ?? -Infinity;
    return now < askedAt + gapMs;
  }

  /**
   * Sends a request about the job, and remembers the provider's answer. Callers that ask for the same path before the
   * answer has come get the same answer.
   * @param send sends the request; its result is null when there is no answer.
   */
  async ask(
    path: string,
    now: number,
    send: () => Promise<BodiedAnswer | null>,
  ): Promise<BodiedAnswer | null> {
    const sent = this.#sent.get(path);
    if (sent !== undefined) return await sent;
    const asked = send();
    this.#sent.set(path, asked);
    try {
      const answer = await asked;
      if (answer !== null) this.#keep(path, answer, now);
      return answer;
    } finally {
      this.#sent.delete(path);
    }
  }

  /** Forgets all answers, because the job has changed since. */
  forget(): void {
    this.#kept.clear();
  }

  /**
   * Remembers the last answer to a path in place of the answer before it. When all answers together become too large,
   * the oldest ones are forgotten.
   */
  #keep(path: string, answer: BodiedAnswer, askedAt: number): void {
    this.#kept.delete(path);
    this.#kept.set(path, { answer, askedAt });
    let size = 0;
    for (const [each, { answer: kept }] of [...this.#kept].toReversed()) {
      size += kept.bytes?.length ?? Infinity;
      if (size > MAX_KEPT_BYTES) this.#kept.delete(each);
    }
  }
}
