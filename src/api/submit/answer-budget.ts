import { type BudgetPart, SharedBudget, whenFree } from "../../lib/shared-budget.ts";
import { MAX_SENT_MS } from "../http/client-stream.ts";

const MIB = 1024 * 1024;
/**
 * Largest number of bytes that an isolate, which has 128 MB of memory, uses for long upstream responses to submissions
 * until their callers have read them.
 */
const MAX_HELD_BYTES = 32 * MIB;
/**
 * Largest number of bytes that the long upstream responses to one account's submissions may take in an isolate. It is
 * enough for two of the largest.
 */
const MAX_HELD_BYTES_OF_ACCOUNT = 16 * MIB;

const held = new SharedBudget(MAX_HELD_BYTES, MAX_HELD_BYTES_OF_ACCOUNT);

/**
 * Memory of this isolate that is reserved for the long upstream response to one submission until its caller has read
 * it.
 */
export class AnswerReservation {
  readonly #part: BudgetPart;
  #isTaken = false;

  /**
   * Creates a reservation that takes no memory yet.
   * @param account id of the account that submits; null for an operator, who may use all of the memory for such
   * responses.
   */
  constructor(account: string | null) {
    // Its time starts anew when the answer is there and begins to be sent.
    this.#part = held.part(account === null ? [] : [account], MAX_SENT_MS);
  }

  /** True when memory was reserved for the response. This is done only for a long response. */
  get isTaken(): boolean {
    return this.#isTaken;
  }

  /**
   * Waits until there is memory for a response of at most this many bytes. Until then the response is not read from the
   * upstream.
   * @throws the reason of the abort when `signal` aborts first.
   */
  async take(maxBytes: number, signal: AbortSignal): Promise<void> {
    await whenFree(this.#part, maxBytes, signal);
    this.#isTaken = true;
  }

  /** Reduces the reserved memory to what a response of this many bytes needs. */
  keep(bytes: number): void {
    if (this.#isTaken) this.#part.resize(bytes);
  }

  giveBack(): void {
    this.#part.giveBack();
  }
}
