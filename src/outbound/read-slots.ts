import { SECOND_MS } from "../core/time.ts";
import { POLL_TIMEOUT_MS } from "../timeout.ts";

/** Largest number of large answers of providers that one isolate reads at the same time. */
const SLOTS = 2;
/**
 * Time in milliseconds after which a permission to read a large answer expires, because a Durable Object
 * that was reset does not give it back.
 */
const LEASE_MS = POLL_TIMEOUT_MS + 5 * SECOND_MS;
const LOOK_AGAIN_MS = 20;

interface Lease {
  /** Time at which the permission to read a large answer expires, in Unix milliseconds. */
  readonly until: number;
}

/**
 * Permissions to read a large answer of a provider that are in use. They are counted for the isolate,
 * because all Durable Objects in it share 128 MB: one answer of 8 MiB takes several times its size as
 * bytes, text and JSON.
 */
const leases = new Set<Lease>();

/**
 * Waits for permission to read a large answer of a provider; two are given at a time. A waiting request
 * checks every 20 ms instead of being woken, because a promise should not be resolved by the request of
 * another Durable Object.
 * @returns the function that gives the permission back.
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
