import { writeFileSync, readFileSync } from "node:fs";
import { shapeOf } from "/work/console/test/core/stored-records/shape.ts";
import { runSeed } from "/work/console/test/simulation/run.ts";
const file = "/work/console/test/core/stored-records/3-index.json";
const examples = JSON.parse(readFileSync(file, "utf8"));
const kept = new Set<string>(Object.values(examples).flatMap((r) => shapeOf(r as never)));
const found: { facts: string[]; record: unknown }[] = [];
const SEED = 20_261_121;
for (let seed = SEED; seed < SEED + Number(process.argv[2] ?? 60); seed++) {
  for (const record of (await runSeed(seed)).world.checker.records) {
    const facts = shapeOf(record as never).filter((f) => !kept.has(f));
    if (facts.length > 0) found.push({ facts, record });
  }
}
const chosen: unknown[] = [];
for (;;) {
  let best: (typeof found)[number] | null = null;
  let bestN = 0;
  for (const each of found) {
    const n = each.facts.filter((f) => !kept.has(f)).length;
    if (n > bestN) [best, bestN] = [each, n];
  }
  if (best === null) break;
  console.log(bestN, best.facts.filter((f) => !kept.has(f)).join(" | "));
  for (const f of best.facts) kept.add(f);
  chosen.push(best.record);
}
writeFileSync("/tmp/ev-shapes.json", JSON.stringify(chosen, null, 2));
console.log(chosen.length);
