import { MINUTE_MS, SECOND_MS } from "../../core/time.ts";

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
/** Shortest wait for the permission to copy, in milliseconds, and the largest random addition while few objects wait. */
const MIN_WAIT_MS = SECOND_MS;
const FEW_SPREAD_MS = 4 * SECOND_MS;
/**
 * Largest random addition in milliseconds for each object that waits. Each question is billed as a request and a row, so
 * that all who wait together ask about four times a second, however many they are.
 */
const SPREAD_MS_PER_WAITING = SECOND_MS / 2;
const MAX_SPREAD_MS = MINUTE_MS;

/** Permission to copy an output. */
export interface CopySlot {
  /** Renews the permission, while the copy makes progress. */
  readonly renew: (now: number) => void;
  readonly giveBack: () => void;
}

/** The permission to copy, or the time in milliseconds after which to ask again for it. */
export type SlotAnswer =
  | { readonly slot: CopySlot }
  | { readonly slot: null; readonly waitMs: number };

/** Permissions to copy an output that are in use in this isolate. */
const leases = new Set<{ until: number }>();
/** Latest times at which objects that have no permission ask again, in Unix milliseconds, by their names. */
const waiting = new Map<string, number>();

/**
 * Returns the permission to copy an output now, or the time to wait when this isolate already makes as many copies as
 * it may. The more objects wait, the longer is this time.
 * @param name name of the object that asks.
 * @param random random number from 0 to 1.
 */
export function takeCopySlot(name: string, now: number, random: number): SlotAnswer {
  for (const lease of leases) if (lease.until <= now) leases.delete(lease);
  if (leases.size >= SLOTS) return { slot: null, waitMs: waitOf(name, now, random) };
  waiting.delete(name);
  const lease = { until: now + LEASE_MS };
  leases.add(lease);
  const slot: CopySlot = {
    renew: (at) => {
      lease.until = at + LEASE_MS;
      // A permission that has expired meanwhile counts again.
      leases.add(lease);
    },
    giveBack: () => void leases.delete(lease),
  };
  return { slot };
}

/**
 * Returns how long an object must wait before it asks again for the permission to copy, in milliseconds. It counts as a
 * waiting object until one minute after this time.
 */
function waitOf(name: string, now: number, random: number): number {
  for (const [other, until] of waiting) if (until <= now) waiting.delete(other);
  const others = waiting.size - (waiting.has(name) ? 1 : 0);
  const spreadMs = Math.min(FEW_SPREAD_MS + others * SPREAD_MS_PER_WAITING, MAX_SPREAD_MS);
  const waitMs = MIN_WAIT_MS + Math.round(random * spreadMs);
  waiting.set(name, now + waitMs + LEASE_MS);
  return waitMs;
}
