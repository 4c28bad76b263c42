import { SECOND_MS } from "../core/time.ts";
import { POLL_TIMEOUT_MS } from "../lib/timeout.ts";

/** Largest number of answers of more than 1 MiB from providers that one isolate reads at the same time. */
const SLOTS = 2;
/**
 * Time in milliseconds after which a permission to read a large answer expires. It must expire, because a Durable
 * Object that was reset does not give its permission back.
 */
const LEASE_MS = POLL_TIMEOUT_MS + 5 * SECOND_MS;
const LOOK_AGAIN_MS = 20;

interface Lease {
  /** Time at which the permission to read a large answer expires, in Unix milliseconds. */
  readonly until: number;
}

/**
 * Permissions to read a large answer of a provider that are in use in this isolate. Their number is limited, because
 * all Durable Objects in an isolate have 128 MB together, and an answer of 8 MiB takes several times its size as bytes,
 * text and JSON.
 */
const leases = new Set<Lease>();

/**
 * Waits for permission to read a large answer of a provider. At most two permissions are in use at a time. A
 * waiting request checks every 20 ms. It is not woken by the request that gives a permission back, because a
 * request should not resolve a promise that belongs to another Durable Object.
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
