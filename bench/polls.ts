import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { loadavg } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import * as z from "zod";
import { FASTEST_DIRECTORY } from "./figures.ts";
import { chart } from "./polls-chart.ts";
import { type Durations, latenessOf } from "./polls-jobs.ts";
import { type LimitedLoad, limitedRun } from "./polls-limited.ts";
import { liveRun } from "./polls-live.ts";
import { LIVE_TITLE, liveSection, type Panel, simulationPage } from "./polls-report.ts";
import { CONTENDERS } from "./polls-simulation.ts";
import { judged } from "./polls-targets.ts";

// Measures how late polls find the results of jobs: `node bench/polls.ts`, about 5 minutes. Simulates the
// cadence, then runs the relay against a stand-in upstream without hooks. Writes `POLLS.md` and `polls.svg`.
// Options: `--quick` (simulates only and keeps the figures of the last live run), `--jobs`, `--at-once`
// (numbers of jobs), `--seed`, `--storage` (a directory; by default tmpfs where there is one).

const { values } = parseArgs({
  options: {
    quick: { type: "boolean", default: false },
    jobs: { type: "string", default: "140" },
    "at-once": { type: "string", default: "500" },
    seed: { type: "string", default: "1" },
    storage: { type: "string", default: FASTEST_DIRECTORY },
  },
});
const Count = z.coerce.number().int().positive();
const seed = Count.parse(values.seed);
const SIGMA = 0.35;
const SHORT: Durations = { medianMs: 30_000, sigma: SIGMA };
const ALL = [30_000, 100_000, 300_000, 900_000].map((medianMs) => ({ medianMs, sigma: SIGMA }));
const LOADS = ALL.flatMap((durations) => {
  return [null, 1_200].map((perMinute): LimitedLoad => ({ durations, jobs: 1_000, perMinute }));
});
const PAGE = join(import.meta.dirname, "POLLS.md");

const panels = ALL.map((durations): Panel => ({
  durations,
  rows: CONTENDERS.map(({ name, run }) => ({ name, lateness: latenessOf(run(durations, seed)) })),
}));
const limited = LOADS.map((load) => ({ load, run: limitedRun(load, seed) }));
const simulation = simulationPage(panels, limited, seed);
console.log(simulation);
writeFileSync(join(import.meta.dirname, "polls.svg"), chart(panels));
const live = values.quick ? lastLive() : await measureLive();
writeFileSync(PAGE, simulation + live);

/** Returns the section of the last live run; an empty text when there is none. */
function lastLive(): string {
  const page = existsSync(PAGE) ? readFileSync(PAGE, "utf8") : "";
  const start = page.indexOf(`\n${LIVE_TITLE}\n`);
  return start < 0 ? "" : page.slice(start);
}

async function measureLive(): Promise<string> {
  const startedAt = new Date();
  const plan = { durations: SHORT, jobs: Count.parse(values.jobs), seed, parent: values.storage };
  const run = await liveRun({ ...plan, atOnce: Count.parse(values["at-once"]) });
  const { rows, checks } = judged(run);
  if (checks.some(({ isHeld }) => !isHeld)) process.exitCode = 1;
  const section = liveSection(SHORT, rows, checks, { startedAt, load: loadavg() });
  console.log(section);
  return section;
}
