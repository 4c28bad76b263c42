import { MINUTE_MS } from "../../core/time.ts";

/**
 * Largest number of outputs that one isolate copies at the same time. All Durable Objects in an isolate share 128 MB, and
 * a copy holds a part of 8 MiB.
 */
const SLOTS = 2;
/**
 * Time in milliseconds after which a permission to copy expires unless it is renewed. It must expire, because a Durable
 * Object that was reset does not give its permission back.
 */
const LEASE_MS = MINUTE_MS;

/** Permission to copy an output. */
export interface CopySlot {
  /** Renews the permission, while the copy makes progress. */
  readonly renew: (now: number) => void;
  readonly giveBack: () => void;
}

/** Permissions to copy an output that are in use in this isolate. */
const leases = new Set<{ until: number }>();

/** Returns the permission to copy an output now. Null when this isolate copies as many as it may. */
export function takeCopySlot(now: number): CopySlot | null {
  for (const lease of leases) if (lease.until <= now) leases.delete(lease);
  if (leases.size >= SLOTS) return null;
  const lease = { until: now + LEASE_MS };
  leases.add(lease);
  return {
    renew: (at) => {
      lease.until = at + LEASE_MS;
      // A permission that has expired meanwhile counts again.
      leases.add(lease);
    },
    giveBack: () => void leases.delete(lease),
  };
}
