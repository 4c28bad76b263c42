import { MINUTE_MS, SECOND_MS } from "../../core/time.ts";

/**
 * Largest number of outputs that one isolate copies at the same time. All Durable Objects in an isolate have 128 MB of
 * memory together, and each copy needs 8 MiB for a part of the file.
 */
const SLOTS = 2;
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
 * the permission to copy is billed as a request and a row. With this addition, all waiting objects together ask about
 * four times a second, however many they are.
 */
const SPREAD_MS_PER_WAITING = SECOND_MS / 2;
const MAX_SPREAD_MS = MINUTE_MS;

/** Permission for one object to copy an output. The number of such permissions in an isolate is limited. */
export interface CopySlot {
  /** Renews the permission, which is done while the copy makes progress. */
  readonly renew: (now: number) => void;
  readonly giveBack: () => void;
}

/**
 * Answer to an object that asks for the permission to copy an output: the permission, or the time in milliseconds after
 * which to ask again.
 */
export type SlotAnswer =
  | { readonly slot: CopySlot }
  | { readonly slot: null; readonly waitMs: number };

/** The permissions to copy an output that objects in this isolate have at present. */
const leases = new Set<{ until: number }>();
/**
 * Objects that wait for the permission to copy an output, by their names. The value is the latest time at which the
 * object asks again, in Unix milliseconds.
 */
const waiting = new Map<string, number>();

/**
 * Returns the permission to copy an output now. When this isolate already makes as many copies as it may, returns the
 * time to wait instead; it is the longer, the more objects wait.
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
 * Returns how long an object must wait before it asks again for the permission to copy, in milliseconds. The object
 * counts as waiting until one minute after this time.
 */
function waitOf(name: string, now: number, random: number): number {
  for (const [other, until] of waiting) if (until <= now) waiting.delete(other);
  const others = waiting.size - (waiting.has(name) ? 1 : 0);
  const spreadMs = Math.min(FEW_SPREAD_MS + others * SPREAD_MS_PER_WAITING, MAX_SPREAD_MS);
  const waitMs = MIN_WAIT_MS + Math.round(random * spreadMs);
  waiting.set(name, now + waitMs + LEASE_MS);
  return waitMs;
}
