import { countText } from "../format.ts";
import type { Run } from "../send-again.ts";

/** Time in seconds after which the result is read again while failed callbacks are left. */
const REFRESH_S = 5;

/** Numbers of callbacks in the list of a run that have failed or are being sent. */
export interface Left {
  readonly failed: number;
  readonly sending: number;
}

interface RunResultProps {
  readonly run: Run;
  /** Callbacks that are left in the list of the run; null when they were not counted. */
  readonly left: Left | null;
}

/** Tells whether callbacks are left that are not delivered. */
export function isAnyLeft(left: Left | null): boolean {
  return left !== null && left.failed + left.sending > 0;
}

/**
 * Tells for a complete run how many callbacks of its list are not delivered, and that none was sent twice.
 */
export function RunResult({ run, left }: RunResultProps) {
  if (!run.isDone) return null;
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
        A run sends no callback twice, and reloading this page sends nothing.
      </p>
    </div>
  );
}
