import { SECOND_MS } from "../../core/time.ts";
import { SharedBudget, whenFree } from "../../lib/shared-budget.ts";
import { MAX_UNREAD_MS } from "../../lib/stream.ts";

/**
 * Largest number of files in answers that one isolate stores at the same time. All Durable Objects in an isolate have
 * 128 MB of memory together, and each file needs 8 MiB for a part.
 */
const SLOTS = 6;
/**
 * Largest number of such files in answers that are passed on to callers of one account. They arrive only as fast as the
 * callers read, who must not keep the files of others waiting.
 */
const SLOTS_OF_ACCOUNT = 3;
/**
 * Time in milliseconds after which a permission expires unless it is renewed: a Durable Object that was reset does not
 * give its permission back, and an upstream that stops in the middle of a file must not keep others waiting.
 */
const LEASE_MS = 15 * SECOND_MS;

/** Permission to store a file of an answer. The number of such permissions in an isolate is limited. */
export interface AnswerSlot {
  /** Renews the permission, which is done while the file arrives. */
  readonly renew: () => void;
  readonly giveBack: () => void;
}

/** The caller to whom an answer is passed on. */
export interface SlotCaller {
  /** Id of the caller's account. Null when the caller is an operator. */
  readonly account: string | null;
}

const slots = new SharedBudget(SLOTS, SLOTS_OF_ACCOUNT);

/**
 * Waits for the permission to store a file of an answer.
 * @param caller who reads the answer while it arrives. Null when nobody does.
 * @throws the reason of the abort, when `signal` aborts first.
 */
export async function takeAnswerSlot(
  caller: SlotCaller | null,
  signal: AbortSignal,
): Promise<AnswerSlot> {
  // A file makes no progress while its caller leaves a piece unread, and takes its memory all the same.
  const leaseMs = caller === null ? LEASE_MS : MAX_UNREAD_MS + LEASE_MS;
  const account = caller?.account ?? null;
  const slot = slots.part(account === null ? [] : [account], leaseMs);
  await whenFree(slot, 1, signal);
  return { renew: () => void slot.resize(1), giveBack: slot.giveBack };
}
