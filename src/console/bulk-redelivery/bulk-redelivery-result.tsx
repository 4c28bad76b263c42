import { countText } from "../parts/format.ts";
import type { BulkRedelivery } from "./bulk-redelivery-state.ts";

/** Seconds after which the page counts the undelivered callbacks again, until there are none. */
const REFRESH_S = 5;

/** Numbers of callbacks that match the filters of a bulk redelivery and have failed or are being sent. */
export interface Left {
  readonly failed: number;
  readonly sending: number;
}

interface BulkRedeliveryResultProps {
  readonly bulk: BulkRedelivery;
  /**
   * Callbacks that match the filters of the bulk redelivery and are still not delivered at its end; null when they
   * were not counted.
   */
  readonly left: Left | null;
}

/** Tells whether callbacks of a bulk redelivery have failed or are still being sent. */
export function isAnyLeft(left: Left | null): boolean {
  return left !== null && left.failed + left.sending > 0;
}

/**
 * Says at the end of a bulk redelivery how many of its callbacks are still not delivered, and that none was sent
 * twice.
 */
export function BulkRedeliveryResult({ bulk, left }: BulkRedeliveryResultProps) {
  if (!bulk.isDone) return null;
  const isLeft = isAnyLeft(left);
  return (
    <div class="stack-s" id="result" {...(isLeft && { "data-refresh": String(REFRESH_S) })}>
      {left === null ? null : (
        <p class={isLeft ? "tone-warn send-warning" : ""}>
          {isLeft
            ? `${countText(left.failed)} failed and ${countText(left.sending)} being sent in this list at present. The index is a few seconds behind.`
            : "No callback of this list is failed or being sent any more."}
        </p>
      )}
      <p class="muted small">
        A bulk redelivery sends no callback twice, and reloading this page sends nothing.
      </p>
    </div>
  );
}
