import { MINUTE_MS, SECOND_MS } from "../../core/time.ts";
import { type BudgetPart, SharedBudget } from "../../lib/shared-budget.ts";
import { PART_BYTES, READ_BYTES } from "./store-copy.ts";

/** Memory that one unit of a permission to copy stands for, in bytes. */
const UNIT_BYTES = READ_BYTES;
/**
 * Units that all copies in one isolate take together: 33 MiB, of the 128 MB that all Durable Objects in an isolate have
 * together.
 */
const ALL_UNITS = 132;
/** Units for an output whose upstream states its length. Only the piece that was read last is in memory. */
export const STATED_UNITS = 1;
/** Units for an output of unknown length, of which a part is in memory too. */
export const UNSTATED_UNITS = STATED_UNITS + PART_BYTES / UNIT_BYTES;
/**
 * Time in milliseconds after which a permission to copy expires unless it is renewed. It must expire, because a Durable
 * Object that was reset does not give its permission back.
 */
const LEASE_MS = MINUTE_MS;
/**
 * Shortest wait in milliseconds before an object asks again for the permission to copy. It is also the largest random
 * addition to this wait while few objects wait.
 */
const MIN_WAIT_MS = SECOND_MS;
const FEW_SPREAD_MS = 4 * SECOND_MS;
/**
 * Time in milliseconds by which each waiting object raises the largest random addition to the wait. Each question for
 * the permission to copy is billed as a request and a row. With this addition, the objects that wait for one host
 * together ask about forty times a second, however many they are, so that a permission that becomes free is soon taken.
 */
const SPREAD_MS_PER_WAITING = SECOND_MS / 20;
const MAX_SPREAD_MS = 5 * MINUTE_MS;

/** A copy for which an object asks for permission. */
export interface CopyClaim {
  /** Name of the object that asks. */
  readonly name: string;
  /** Host that sends the output. Null when its link has none. */
  readonly host: string | null;
  /** Id of the account that owns the task. Null when no account does. */
  readonly account: string | null;
  readonly units: number;
}

/**
 * Answer to an object that asks for the permission to copy an output: the permission, or the time in milliseconds after
 * which to ask again. The number of units in all permissions of an isolate is limited. A permission is renewed, by
 * `resize`, while the copy makes progress.
 */
export type SlotAnswer =
  | { readonly slot: BudgetPart }
  | { readonly slot: null; readonly waitMs: number };

/** An object that waits for the permission to copy an output. */
interface Waiting {
  readonly owners: readonly string[];
  /** Time from which the object counts no longer as waiting, in Unix milliseconds. */
  readonly until: number;
}

/** Decides for an isolate which outputs are copied at the same time. */
export class CopySlots {
  readonly #budget = new SharedBudget(ALL_UNITS, unitsFor);
  /** Objects that wait for the permission to copy an output, by their names. */
  readonly #waiting = new Map<string, Waiting>();

  /**
   * Returns the permission to copy an output now. When the copies in this isolate take too many units already, or those
   * from the same host or for the same account do, returns the time to wait instead. It is the longer, the more objects
   * wait for the same host and for the same account.
   * @param random random number from 0 to 1.
   */
  take(claim: CopyClaim, random: number): SlotAnswer {
    const owners = ownersOf(claim);
    const slot = this.#budget.part(owners, LEASE_MS);
    if (slot.resize(claim.units) !== null) {
      return { slot: null, waitMs: this.#wait(claim.name, owners, Date.now(), random) };
    }
    this.#waiting.delete(claim.name);
    return { slot };
  }

  /** Returns how long an object must wait before it asks again, and counts it as waiting until a minute after this. */
  #wait(name: string, owners: readonly string[], now: number, random: number): number {
    const counts = owners.map(() => 0);
    for (const [other, waiting] of this.#waiting) {
      if (waiting.until <= now) this.#waiting.delete(other);
      else if (other !== name) {
        for (const [index, owner] of owners.entries()) {
          if (waiting.owners.includes(owner)) counts[index] = (counts[index] ?? 0) + 1;
        }
      }
    }
    // An account with few outputs does not wait longer because another one has many at the same host.
    const others = counts.length === 0 ? 0 : Math.min(...counts);
    const spreadMs = Math.min(FEW_SPREAD_MS + others * SPREAD_MS_PER_WAITING, MAX_SPREAD_MS);
    const waitMs = MIN_WAIT_MS + Math.round(random * spreadMs);
    this.#waiting.set(name, { owners, until: now + waitMs + LEASE_MS });
    return waitMs;
  }
}

const OF_HOST = "host ";

function ownersOf({ host, account }: CopyClaim): readonly string[] {
  const ofHost = host === null ? [] : [`${OF_HOST}${host}`];
  return account === null ? ofHost : [...ofHost, `account ${account}`];
}

/**
 * Returns how many units a host or an account may take. The first of its copies may take all that is left. Any other one
 * leaves what an output of unknown length needs, which would not begin while small copies take all that becomes free; and
 * the copies for one account take at most as many units as are left. So while others copy nothing, a host gets three
 * quarters of all units, and an account half of them.
 */
function unitsFor(owner: string, left: number, others: number): number {
  if (others === 0) return Infinity;
  if (left < UNSTATED_UNITS) return 0;
  return owner.startsWith(OF_HOST) ? Infinity : left;
}
