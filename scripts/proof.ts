// Runs the proofs with random seeds: `npm run proof [-- --minutes 10]`.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createWriteStream, mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import { minutesOf, type Part, partsOf, USAGE } from "./proof/parts.ts";
import { isProved, type Outcome, reportOf } from "./proof/report.ts";

const ROOT = join(import.meta.dirname, "..");
const LOGS = join(ROOT, "dist/proof");

/** Runs a part to its end; its output goes into a file. */
async function outcomeOf({ name, command }: Part): Promise<Outcome> {
  const log = join(LOGS, `${name.replaceAll(" ", "-")}.log`);
  const startedAt = performance.now();
  // The shell's own error output joins the same pipe, so that the order of the lines is kept.
  const child = spawn("bash", ["-c", `exec 2>&1; ${command}`], {
    cwd: ROOT,
    stdio: ["ignore", "pipe", "inherit"],
  });
  const closed = once(child, "close");
  await pipeline(child.stdout, createWriteStream(log));
  await closed;
  return {
    name,
    command,
    log,
    isHeld: child.exitCode === 0,
    output: readFileSync(log, "utf8"),
    seconds: (performance.now() - startedAt) / 1000,
  };
}

const minutes = minutesOf(process.argv.slice(2));
if (minutes === null) {
  console.error(USAGE);
  process.exit(2);
}
mkdirSync(LOGS, { recursive: true });
const parts = partsOf(minutes);
for (const { name, command } of parts) console.log(`runs    ${name}: ${command}`);
const outcomes: Outcome[] = [];
for (const part of parts) {
  const outcome = await outcomeOf(part);
  outcomes.push(outcome);
  console.log(reportOf(outcome));
}
process.exitCode = isProved(outcomes) ? 0 : 1;
