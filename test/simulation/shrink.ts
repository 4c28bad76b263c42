import { type Lived, relive } from "./life.ts";
import type { Move } from "./moves.ts";
import type { Breach } from "./witness.ts";

/** A life with the same breach and as few moves as leaving some out can give, with its trace. */
export async function shrunk({ beginning, moves, breach }: Lived): Promise<Lived> {
  let kept = moves;
  for (let size = Math.ceil(moves.length / 2); size >= 1; size = size === 1 ? 0 : size >> 1) {
    for (let from = 0; from < kept.length;) {
      const fewer: readonly Move[] = [...kept.slice(0, from), ...kept.slice(from + size)];
      const again = await relive(beginning, fewer);
      if (isSameBreach(again.breach, breach)) kept = fewer;
      else from += size;
    }
  }
  return relive(beginning, kept, true);
}

/** The numbers in brackets may differ. */
function isSameBreach(a: Breach | null, b: Breach | null): boolean {
  return textOf(a) === textOf(b);
}

function textOf(breach: Breach | null): string {
  return breach === null ? "" : `${breach.promise}: ${breach.detail.replace(/\(.*\)/, "")}`;
}
