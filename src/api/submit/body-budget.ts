import type { Config } from "../../config/config.ts";
import { HELD_BODIES_MB } from "../../config/held-bodies.ts";
import { MINUTE_MS } from "../../core/time.ts";
import { type BudgetPart, SharedBudget } from "../../lib/shared-budget.ts";
import type { BodyLimit } from "../http/body.ts";
import { unavailable } from "../http/object-call.ts";
import { tooManyAtOnce } from "../http/rate-limit.ts";

const MIB = 1024 * 1024;
const MAX_HELD_BYTES = HELD_BODIES_MB.all * MIB;
const MAX_HELD_BYTES_OF_ACCOUNT = HELD_BODIES_MB.ofAccount * MIB;
/**
 * Largest size in bytes of a submission's body for which no memory has to be reserved, so that large bodies that are
 * still arriving do not keep out usual ones.
 */
export const SMALL_BODY_BYTES = 64 * 1024;
/**
 * Longest time in milliseconds for which memory for a submission's body stays reserved. It is longer than the arrival
 * of the body and the call to the upstream take together.
 */
const LEASE_MS = 5 * MINUTE_MS;

const held = new SharedBudget(MAX_HELD_BYTES, MAX_HELD_BYTES_OF_ACCOUNT);

/**
 * Returns the limit on the JSON body of a submission. It never exceeds the memory that this caller's bodies may take,
 * because a larger body would be refused however often the call is repeated.
 * @param account id of the account that submits; null for an operator.
 */
export function bodyLimitOf(account: string | null, { maxSubmitBytes }: Config): BodyLimit {
  return account !== null && maxSubmitBytes > MAX_HELD_BYTES_OF_ACCOUNT
    ? limitedBy(MAX_HELD_BYTES_OF_ACCOUNT, "what one account may have in memory")
    : limitedBy(maxSubmitBytes, "MAX_SUBMIT_MB");
}

function limitedBy(bytes: number, name: string): BodyLimit {
  return { bytes, detail: `The body of a submission may have at most ${bytes} bytes (${name}).` };
}

/** Memory of this isolate that is reserved for the JSON body of one submission. */
export class BodyReservation {
  readonly #part: BudgetPart;
  #bytes = 0;

  /**
   * Creates a reservation that takes no memory yet.
   * @param account id of the account that submits; null for an operator, who may use all of the memory for bodies.
   */
  constructor(account: string | null) {
    this.#part = held.part(account === null ? [] : [account], LEASE_MS);
  }

  /**
   * Enlarges the reservation so that it is enough for a body of this many bytes. A small body needs no reserved memory.
   * @throws Problem `unavailable` when bodies of other accounts take the memory at present; `rate_limited` when bodies
   * of the same account do.
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

  /** Gives back the memory that was reserved for the body. */
  release(): void {
    this.#part.giveBack();
  }
}
