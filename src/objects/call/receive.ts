import { MINUTE_MS, SECOND_MS } from "../../core/time.ts";
import { Arrival } from "../../lib/arrival.ts";
import { withDeadline } from "../../lib/timeout.ts";

/** Longest time in milliseconds in which a body must arrive. At 1 Mbit/s, 64 MB take less. */
export const MAX_ARRIVAL_MS = 10 * MINUTE_MS;
/** How fast a body must arrive. Because it is stored while it arrives, and takes no memory, it may come slowly. */
const RULE = { windowMs: 30 * SECOND_MS, leastBytes: 64 * 1024, fromBytes: 0 };

/** Reason why a body was not received: it is too large, has arrived too slowly, or has broken off. */
export type ReceiptFault = "too_large" | "too_slow" | "broken";

/**
 * Reads a body while it arrives.
 * @param take is called with each piece. The next one is read once the promise that it returns is fulfilled.
 * @returns null when the whole body was read.
 */
export async function receive(
  body: ReadableStream<Uint8Array>,
  maxBytes: number,
  take: (piece: Uint8Array) => Promise<void>,
): Promise<ReceiptFault | null> {
  const reader = body.getReader();
  const arrival = new Arrival(RULE);
  return await withDeadline(MAX_ARRIVAL_MS, async (signal) => {
    const late = AbortSignal.any([signal, arrival.stopped]);
    // Ends a read that waits, as if the body were at its end.
    late.addEventListener("abort", () => void reader.cancel().catch(() => undefined));
    try {
      for (let bytes = 0; ;) {
        const { done, value } = await reader.read();
        if (late.aborted) return "too_slow";
        if (done) return null;
        bytes += value.length;
        if (bytes > maxBytes) {
          await reader.cancel().catch(() => undefined);
          return "too_large";
        }
        await take(value);
        arrival.note(bytes);
      }
    } catch {
      return "broken";
    } finally {
      arrival.end();
    }
  });
}
