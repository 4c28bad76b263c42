import { type RunResult, replay } from "./run.ts";
import type { Move } from "./moves.ts";
import type { Violation } from "./task-history.ts";

/** Returns a run with the same violation and as few moves as possible, with its trace. */
export async function shrink({ beginning, moves, violation }: RunResult): Promise<RunResult> {
  let kept = moves;
  for (let size = Math.ceil(moves.length / 2); size >= 1; size = size === 1 ? 0 : size >> 1) {
    for (let from = 0; from < kept.length;) {
      const fewer: readonly Move[] = [...kept.slice(0, from), ...kept.slice(from + size)];
      const again = await replay(beginning, fewer);
      if (isSameBreach(again.violation, violation)) kept = fewer;
      else from += size;
    }
  }
  return replay(beginning, kept, true);
}

/** Compares two violations without the numbers in brackets. */
function isSameBreach(a: Violation | null, b: Violation | null): boolean {
  return textOf(a) === textOf(b);
}

function textOf(violation: Violation | null): string {
  return violation === null
    ? ""
    : `${violation.promise}: ${violation.detail.replace(/\(.*\)/, "")}`;
}
