// Prints how many words README, docs and the pages of the providers have, and fails above the limits: `npm run words`.
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { COUNTED_PAGES, wordFaults, wordsOf } from "./docs/words.ts";

const ROOT = join(import.meta.dirname, "..");
const words = new Map(
  globSync(COUNTED_PAGES, { cwd: ROOT }).map((page) => [
    page,
    wordsOf(readFileSync(join(ROOT, page), "utf8")),
  ]),
);
const rows = [...words].toSorted(([, one], [, other]) => other - one);
for (const [page, count] of rows) console.log(`${String(count).padStart(6)}  ${page}`);
console.log(`${String(rows.reduce((sum, [, count]) => sum + count, 0)).padStart(6)}  all`);
const faults = wordFaults(words);
for (const fault of faults) console.error(fault);
if (faults.length > 0) process.exitCode = 1;
