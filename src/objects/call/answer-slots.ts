import { SECOND_MS } from "../../core/time.ts";

/**
 * Largest number of files in answers that one isolate stores at the same time. All Durable Objects in an isolate have
 * 128 MB of memory together, and each file needs 8 MiB for a part.
 */
const SLOTS = 6;
/**
 * Time in milliseconds after which a permission expires unless it is renewed: a Durable Object that was reset does not
 * give its permission back, and an upstream that stops in the middle of a file must not keep others waiting.
 */
const LEASE_MS = 15 * SECOND_MS;
/** Shortest pause in milliseconds before an object asks again, and the largest random addition to it. */
const PAUSE_MS = 50;

/** Permission to store a file of an answer. The number of such permissions in an isolate is limited. */
export interface AnswerSlot {
  /** Renews the permission, which is done while the file arrives. */
  readonly renew: () => void;
  readonly giveBack: () => void;
}

const leases = new Set<{ until: number }>();

/**
 * Waits for the permission to store a file of an answer. A waiting object asks again and again, because an object should
 * not resolve a promise that belongs to another object.
 * @throws the reason of the abort, when `signal` aborts first.
 */
export async function takeAnswerSlot(signal: AbortSignal): Promise<AnswerSlot> {
  for (;;) {
    signal.throwIfAborted();
    const now = Date.now();
    for (const lease of leases) if (lease.until <= now) leases.delete(lease);
    if (leases.size < SLOTS) break;
    await scheduler.wait(PAUSE_MS * (1 + Math.random()));
  }
  const lease = { until: Date.now() + LEASE_MS };
  leases.add(lease);
  return {
    renew: () => {
      lease.until = Date.now() + LEASE_MS;
    },
    giveBack: () => void leases.delete(lease),
  };
}
