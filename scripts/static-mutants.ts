// Tests the mutants that `npm run mutation` leaves out because they act only when a module is loaded:
// `npm run mutation:static`, after `npm run mutation`, whose report names them. Stryker has no option for them alone. With
// them in one run it would repeat all tests also for each mutant that acts both then and later; it estimates three hours.
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import * as z from "zod";

const ROOT = join(import.meta.dirname, "..");
const REPORT = join(ROOT, "dist/mutation.json");

/** Place in a file; lines and columns are counted from 1. */
const Place = z.object({ line: z.int(), column: z.int() });
const Mutant = z.object({
  status: z.string(),
  static: z.boolean().default(false),
  location: z.object({ start: Place, end: Place }),
});
/** Report of a mutation run (https://github.com/stryker-mutator/mutation-testing-elements, mutation-testing-report-schema). */
const Report = z.object({
  files: z.record(z.string(), z.object({ mutants: z.array(Mutant) })),
});

/** Returns a place as Stryker's option `--mutate` wants it, with columns counted from 0. */
function shown({ line, column }: z.infer<typeof Place>): string {
  return `${line}:${column - 1}`;
}

if (!existsSync(REPORT)) {
  console.error("dist/mutation.json is missing, which `npm run mutation` writes: run that first.");
  process.exit(2);
}
const { files } = Report.parse(JSON.parse(readFileSync(REPORT, "utf8")));
const ranges = Object.entries(files).flatMap(([file, { mutants }]) =>
  mutants
    .filter((mutant) => mutant.static && mutant.status === "Ignored")
    .map(({ location: { start, end } }) => `${file}:${shown(start)}-${shown(end)}`),
);
if (ranges.length === 0) throw new Error("dist/mutation.json names no mutant that was left out");

const stryker = join(ROOT, "node_modules/@stryker-mutator/core/bin/stryker.js");
const reporters = ["--reporters", "progress-append-only,clear-text"];
const mutate = ["--mutate", [...new Set(ranges)].join(",")];
execFileSync(process.execPath, [stryker, "run", ...mutate, ...reporters], {
  cwd: ROOT,
  stdio: "inherit",
});
