import type { SubmitOutcome } from "../../core/events/event.ts";
import { MAX_READ_MS, readInTime } from "../../lib/stream.ts";
import { SecretCover } from "../../outbound/answer-secrets.ts";
import type { SubmitAnswer } from "../../outbound/http.ts";
import { statedBytes } from "../../outbound/open-source.ts";

/** A short answer of an upstream, or none, with the outcome of the call. */
export interface WholeAnswer {
  readonly kind: "whole";
  /** The answer. Null when there was none, or when it broke off. */
  readonly answer: Omit<SubmitAnswer, "json"> | null;
  readonly outcome: SubmitOutcome;
  /** True when the task has stored the outcome. */
  readonly isStored: boolean;
}

/** The upstream's answer to a call whose client waits, in the form in which the Worker gets it. */
export type PassedAnswer =
  | WholeAnswer
  /** A long answer, of which the rest still arrives. It is broken off when the upstream breaks it off. */
  | {
      readonly kind: "stream";
      readonly status: number;
      readonly headers: Headers;
      readonly body: ReadableStream<Uint8Array>;
    };

/**
 * The caller of a submission, who waits for the upstream's answer, as the object that makes the call sees it. When the
 * caller has gone, or reads too slowly, the object reads on alone.
 */
export class WaitingCaller {
  /** Id of the caller's account. Null when the caller is an operator. */
  readonly account: string | null;
  /** Resolves to the answer for the caller: as soon as a long one begins, or when a short one has ended. */
  readonly passed: Promise<PassedAnswer>;
  readonly #pass: (passed: PassedAnswer) => void;
  readonly #readsUntil: number;
  #whole: SubmitAnswer | null = null;
  #stream: PassedStream | null = null;
  #state: "waits" | "gets_answer" | "has_left" = "waits";

  /** @param readsUntil latest time until which the caller may read a long answer, in Unix milliseconds. */
  constructor(account: string | null, readsUntil: number) {
    this.account = account;
    const { promise, resolve } = Promise.withResolvers<PassedAnswer>();
    this.passed = promise;
    this.#pass = resolve;
    this.#readsUntil = readsUntil;
  }

  /**
   * Decides that the caller gets the whole answer, unless the caller is told of the task already: because a long answer
   * is passed on, or because the caller has stopped waiting.
   * @returns whether the caller gets the answer.
   */
  takeAnswer(): boolean {
    if (this.#stream !== null || this.#state === "has_left") return false;
    this.#state = "gets_answer";
    return true;
  }

  /**
   * Ends the wait of a caller, who is told of the task instead.
   * @returns the answer if the caller gets it nevertheless, because its outcome is being stored or is stored already.
   */
  async stopWaiting(): Promise<WholeAnswer | null> {
    const passed = this.#state === "gets_answer" ? await this.passed : null;
    if (passed?.kind === "whole") return passed;
    this.#state = "has_left";
    return null;
  }

  /** Keeps a whole answer, which the caller gets together with its outcome. */
  keep(answer: SubmitAnswer): void {
    this.#whole = answer;
  }

  /**
   * Begins to pass on a long answer, unless the caller has stopped waiting.
   * @param secrets texts that the caller must not see.
   */
  begin(response: Response, secrets: readonly string[]): void {
    if (this.#state === "has_left") return;
    const readsUntil = Math.min(Date.now() + MAX_READ_MS, this.#readsUntil);
    this.#stream = new PassedStream(statedBytes(response), secrets, readsUntil);
    const { status, headers } = response;
    this.#pass({ kind: "stream", status, headers, body: this.#stream.body });
  }

  /** Passes on a piece of a long answer, and waits until the caller has read it, or has gone. */
  async write(piece: Uint8Array): Promise<void> {
    await this.#stream?.write(piece);
  }

  /** Breaks a long answer off, because the upstream has done so. */
  async breakOff(): Promise<void> {
    await this.#stream?.abort(new Error("the upstream has broken off its answer"));
  }

  /** Ends the answer. The caller gets its last bytes only now, after the task has stored the outcome. */
  async end(outcome: SubmitOutcome, isStored: boolean): Promise<void> {
    if (this.#stream !== null) return this.#stream.end();
    this.#pass({ kind: "whole", answer: this.#whole, outcome, isStored });
  }
}

/** Body of a long answer, which is passed on to its caller while it arrives. */
class PassedStream {
  readonly body: ReadableStream<Uint8Array>;
  readonly #writer: WritableStreamDefaultWriter<Uint8Array>;
  readonly #cover: SecretCover;
  readonly #readsUntil: number;
  #isEnded = false;

  constructor(bytes: number | null, secrets: readonly string[], readsUntil: number) {
    const { readable, writable } =
      bytes === null ? new IdentityTransformStream() : new FixedLengthStream(bytes);
    this.body = readable;
    this.#writer = writable.getWriter();
    this.#cover = new SecretCover(secrets);
    this.#readsUntil = readsUntil;
  }

  async write(piece: Uint8Array): Promise<void> {
    if (this.#isEnded) return;
    const bytes = this.#cover.push(piece);
    await this.#orEnd(async () => {
      if (Date.now() > this.#readsUntil) throw new Error("the client reads the answer too slowly");
      await readInTime(this.#writer.write(bytes));
    });
  }

  async end(): Promise<void> {
    if (this.#isEnded) return;
    await this.#orEnd(async () => {
      await readInTime(this.#writer.write(this.#cover.end()));
      await readInTime(this.#writer.close());
    });
  }

  async abort(reason: unknown): Promise<void> {
    this.#isEnded = true;
    await this.#writer.abort(reason).catch(() => undefined);
  }

  async #orEnd(write: () => Promise<void>): Promise<void> {
    try {
      await write();
    } catch (error) {
      await this.abort(error);
    }
  }
}
