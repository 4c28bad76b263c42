import { MAX_CALLBACK_TIMEOUT_MS } from "../core/policy.ts";
import { SECOND_MS } from "../core/time.ts";

/** Number of large answers that are read at once in an isolate. */
const SLOTS = 2;
/** Time after which a slot is free again although nobody gave it back, because its object was reset. */
const LEASE_MS = MAX_CALLBACK_TIMEOUT_MS + 5 * SECOND_MS;
const LOOK_AGAIN_MS = 20;

interface Lease {
  /** Time at which the lease ends, in Unix milliseconds. */
  readonly until: number;
}

/**
 * Leases of the slots in which large answers are read. They belong to the isolate, because its objects
 * share 128 MB: one answer of 8 MiB takes several times its size as bytes, text and JSON.
 */
const leases = new Set<Lease>();

/**
 * Waits for one of the slots that limit how many large answers are read at once. The waiting request looks
 * again every 20 ms instead of being woken, because a promise should not be resolved by the request of
 * another object.
 * @returns the function that gives the slot back.
 * @throws the reason of the abort, when `signal` aborts first.
 */
export async function takeReadSlot(signal: AbortSignal): Promise<() => void> {
  for (;;) {
    signal.throwIfAborted();
    const now = Date.now();
    for (const lease of leases) if (lease.until <= now) leases.delete(lease);
    if (leases.size < SLOTS) {
      const lease = { until: now + LEASE_MS };
      leases.add(lease);
      return () => void leases.delete(lease);
    }
    await new Promise((resolve) => setTimeout(resolve, LOOK_AGAIN_MS));
  }
}
