import { retryAfterMs } from "../../outbound/ask-upstream.ts";
import type { BodiedAnswer } from "../../outbound/http.ts";

/** Largest total size, in bytes, of the bodies of a provider's answers about one job, while they stay in memory. */
const MAX_KEPT_BYTES = 262_144;

/** The last request to a path: when it was sent, and how long the provider has then forbidden further ones. */
interface Asked {
  /** Time at which the request was sent, in Unix milliseconds. */
  readonly askedAt: number;
  /** Time before which the provider permits no further request, in Unix milliseconds; 0 when it has named none. */
  readonly notBefore: number;
}

const NEVER_ASKED: Asked = { askedAt: -Infinity, notBefore: 0 };

/**
 * The last answers of a provider about the job of one task, by the path that was asked. They stay in memory, so that
 * many clients that read the job cause only one request in the time that the provider demands between two polls.
 */
export class JobAnswers {
  readonly #kept = new Map<string, BodiedAnswer>();
  readonly #asked = new Map<string, Asked>();
  readonly #sent = new Map<string, Promise<BodiedAnswer | null>>();

  /**
   * Returns the last answer of the provider to a path. Null when no answer is in memory, e.g. because the last one was
   * too large.
   */
  last(path: string): BodiedAnswer | null {
    return this.#kept.get(path) ?? null;
  }

  /**
   * Returns how long in milliseconds a path must not be asked again: `gapMs` from the last request on, whether it was
   * answered or not, and as long as the provider has demanded by `Retry-After`. 0 when it may be asked.
   */
  waitMs(path: string, gapMs: number, now: number): number {
    const { askedAt, notBefore } = this.#asked.get(path) ?? NEVER_ASKED;
    return Math.max(0, askedAt + gapMs - now, notBefore - now);
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
    this.#asked.set(path, { askedAt: now, notBefore: 0 });
    try {
      const answer = await asked;
      const waitMs = answer === null ? null : retryAfterMs(answer.headers);
      if (waitMs !== null) this.#asked.set(path, { askedAt: now, notBefore: now + waitMs });
      if (answer !== null) this.#keep(path, answer);
      return answer;
    } finally {
      this.#sent.delete(path);
    }
  }

  /** Forgets all answers, because the job has changed since. */
  forget(): void {
    this.#kept.clear();
    this.#asked.clear();
  }

  /**
   * Remembers the last answer to a path in place of the answer before it. When all answers together become too large,
   * the oldest ones are forgotten.
   */
  #keep(path: string, answer: BodiedAnswer): void {
    this.#kept.delete(path);
    this.#kept.set(path, answer);
    let size = 0;
    for (const [each, kept] of [...this.#kept].toReversed()) {
      size += kept.bytes?.length ?? Infinity;
      if (size > MAX_KEPT_BYTES) this.#kept.delete(each);
    }
  }
}
