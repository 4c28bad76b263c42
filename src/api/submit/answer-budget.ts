import { type BudgetPart, SharedBudget } from "../../lib/shared-budget.ts";
import { MAX_SENT_MS } from "../http/client-stream.ts";

const MIB = 1024 * 1024;
/**
 * Largest number of bytes of long answers to submissions that an isolate, which has 128 MB of memory, holds until their
 * callers have read them.
 */
const MAX_HELD_BYTES = 32 * MIB;
/**
 * Largest number of bytes that the long answers to the submissions of one account may take in an isolate. Two of the
 * largest answers fit in.
 */
const MAX_HELD_BYTES_OF_ACCOUNT = 16 * MIB;
const LOOK_AGAIN_MS = 20;

const held = new SharedBudget(MAX_HELD_BYTES, MAX_HELD_BYTES_OF_ACCOUNT);

/** Reserves memory of this isolate for the long answer to one submission, until its caller has read it. */
export class AnswerReservation {
  readonly #part: BudgetPart;
  #isTaken = false;

  /**
   * Creates a reservation that takes no memory yet.
   * @param account id of the account that submits; null for an operator, who may take all of the memory.
   */
  constructor(account: string | null) {
    // Its time starts anew when the answer is there and begins to be sent.
    this.#part = held.part(account, MAX_SENT_MS);
  }

  /** True when memory was taken for the answer, which is only done for a long one. */
  get isTaken(): boolean {
    return this.#isTaken;
  }

  /**
   * Waits until there is memory for an answer of at most this many bytes. Until then the answer is not read from the
   * upstream.
   * @throws the reason of the abort, when `signal` aborts first.
   */
  async take(maxBytes: number, signal: AbortSignal): Promise<void> {
    while (this.#part.resize(maxBytes) !== null) {
      signal.throwIfAborted();
      await scheduler.wait(LOOK_AGAIN_MS);
    }
    this.#isTaken = true;
  }

  /** Reduces the reserved memory to what an answer of this many bytes needs. */
  keep(bytes: number): void {
    if (this.#isTaken) this.#part.resize(bytes);
  }

  giveBack(): void {
    this.#part.giveBack();
  }
}
