import { SECOND_MS } from "../core/time.ts";
import { SharedBudget, whenFree } from "../lib/shared-budget.ts";
import { POLL_TIMEOUT_MS } from "../lib/timeout.ts";

/** Largest number of answers of more than 1 MiB from providers that one isolate reads at the same time. */
const SLOTS = 2;
/**
 * Time in milliseconds after which a permission to read a large answer expires. It must expire, because a Durable
 * Object that was reset does not give its permission back.
 */
const LEASE_MS = POLL_TIMEOUT_MS + 5 * SECOND_MS;

/**
 * Permissions to read a large answer of a provider. Their number is limited, because all Durable Objects in an isolate
 * have 128 MB together, and an answer of 8 MiB takes several times its size as bytes, text and JSON.
 */
const slots = new SharedBudget(SLOTS, SLOTS);

/**
 * Waits for permission to read a large answer of a provider.
 * @returns the function that gives the permission back.
 * @throws the reason of the abort, when `signal` aborts first.
 */
export async function takeReadSlot(signal: AbortSignal): Promise<() => void> {
  const slot = slots.part([], LEASE_MS);
  await whenFree(slot, 1, signal);
  return slot.giveBack;
}
