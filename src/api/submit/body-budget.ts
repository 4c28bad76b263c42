import { MINUTE_MS } from "../../core/time.ts";
import { type BudgetPart, SharedBudget } from "../../lib/shared-budget.ts";
import { unavailable } from "../http/object-call.ts";
import { tooManyAtOnce } from "../http/rate-limit.ts";

const MIB = 1024 * 1024;
/**
 * Bytes of large JSON bodies that an isolate, which has 128 MB, holds at the same time. A body needs its size until it
 * is sent on, and twice its size while its parts are joined. Its text takes up to two bytes for each byte of the body,
 * for an account twice, but only one body is checked at a time.
 */
const MAX_HELD_BYTES = 24 * MIB;
/** Bytes of large JSON bodies that one account may have in an isolate: a body as large as most relays take. */
const MAX_HELD_BYTES_OF_ACCOUNT = 16 * MIB;
/**
 * Size up to which a body needs no reservation, so that large bodies that are on their way keep out no body of usual
 * size.
 */
export const SMALL_BODY_BYTES = 64 * 1024;
/** Longest time in milliseconds for which a reservation is kept: more than a body and the call with it take. */
const LEASE_MS = 5 * MINUTE_MS;

const held = new SharedBudget(MAX_HELD_BYTES, MAX_HELD_BYTES_OF_ACCOUNT);

/**
 * Reserves memory of this isolate for the JSON body of one submission.
 */
export class BodyReservation {
  readonly #part: BudgetPart;
  #bytes = 0;

  /** @param account id of the account that submits; null for an operator, who may take all of the memory. */
  constructor(account: string | null) {
    this.#part = held.part(account, LEASE_MS);
  }

  /**
   * Reserves memory for a body of at least this many bytes, in all; none for a small one.
   * @throws Problem `unavailable` when the bodies of other submissions need the memory now; `rate_limited` when those of the
   * same account do.
   */
  growTo(bytes: number): void {
    if (bytes <= this.#bytes || bytes <= SMALL_BODY_BYTES) return;
    const lack = this.#part.resize(bytes);
    if (lack === "share") {
      throw tooManyAtOnce("The account sends as many large bodies at the same time as it may.");
    }
    if (lack === "total") {
      throw unavailable("The relay holds as many large bodies as it has memory for.", "memory");
    }
    this.#bytes = bytes;
  }

  /** Gives the memory back. */
  release(): void {
    this.#part.giveBack();
  }
}
