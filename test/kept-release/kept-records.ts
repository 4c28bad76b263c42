import type { TaskRecord } from "../../src/core/record/task.ts";
import { runSeed } from "../simulation/run.ts";
import { shapeOf } from "./shape.ts";

/** A record, and the facts of its shape for which it is kept. */
interface Candidate {
  readonly record: TaskRecord;
  readonly facts: readonly string[];
}

type Records = Readonly<Record<string, TaskRecord>>;

/**
 * Returns few records that, together with those of `known`, have every shape that simulated lives store. The name of
 * each is a fact of its shape that no record before it has.
 * @param seed seed of the first life.
 */
export async function furtherRecords(
  known: readonly TaskRecord[],
  seed: number,
  lives: number,
): Promise<Records> {
  const before = new Set(known.flatMap(shapeOf));
  const found = new Set(before);
  const candidates: Candidate[] = [];
  for (let life = 0; life < lives; life++) {
    for (const record of (await runSeed(seed + life)).world.checker.records) {
      const facts = shapeOf(record);
      const fresh = facts.filter((fact) => !found.has(fact));
      if (fresh.length === 0) continue;
      for (const fact of fresh) found.add(fact);
      candidates.push({ record, facts: facts.filter((fact) => !before.has(fact)) });
    }
  }
  return Object.fromEntries(
    fewestOf(candidates).map(({ record, facts: [fact = ""] }) => [fact, record]),
  );
}

/** Returns candidates that together have all facts, each with those that no candidate before it has. */
function fewestOf(candidates: readonly Candidate[]): readonly Candidate[] {
  const missing = new Set(candidates.flatMap(({ facts }) => facts));
  const kept: Candidate[] = [];
  while (missing.size > 0) {
    const [best] = candidates
      .map(({ record, facts }) => ({ record, facts: facts.filter((fact) => missing.has(fact)) }))
      .toSorted((a, b) => b.facts.length - a.facts.length);
    if (best === undefined) break;
    for (const fact of best.facts) missing.delete(fact);
    kept.push(best);
  }
  return kept;
}
