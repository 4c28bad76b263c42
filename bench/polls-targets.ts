import { latenessOf, type Lateness } from "./polls-jobs.ts";
import type { LiveRun } from "./polls-live.ts";
import { type Check, percent, type Row, seconds } from "./polls-report.ts";

/**
 * Largest accepted difference in milliseconds between the lateness of jobs attached at once and that of jobs
 * attached over time.
 */
const AT_ONCE_DIFFERENCE_MS = 2_000;

/** Largest accepted median lateness, as a fraction of the job's duration: the default of `POLL_LATENESS`. */
const MOST_LATENESS = 0.07;
const MOST_POLLS = 20;

/** Returns the rows of a live run, and whether their figures keep the limits. */
export function judged(run: LiveRun): { readonly rows: readonly Row[]; readonly checks: Check[] } {
  const spread = latenessOf(run.spread);
  const atOnce = latenessOf(run.atOnce);
  const together = `${atOnce.jobs} at once`;
  const rows = [
    { name: `${spread.jobs} within 30 s`, lateness: spread },
    { name: together, lateness: atOnce },
  ];
  const checks = [
    partCheck("median", spread.medianPart, MOST_LATENESS),
    pollsCheck(spread, MOST_POLLS),
    ...sameChecks(together, atOnce, spread),
  ];
  return { rows, checks };
}

function partCheck(name: string, part: number, most: number): Check {
  const text = `${name}: ${percent(part)} of the job late, at most ${percent(most)}`;
  return { text, isHeld: part <= most };
}

function pollsCheck({ polls }: Lateness, most: number): Check {
  return { text: `${polls.toFixed(1)} polls per job, at most ${most}`, isHeld: polls <= most };
}

function sameChecks(name: string, atOnce: Lateness, spread: Lateness): Check[] {
  const check = (what: string, differenceMs: number): Check => ({
    text: `${name}: ${what} ${seconds(differenceMs)} later than of jobs not at once, at most ${seconds(AT_ONCE_DIFFERENCE_MS)}`,
    isHeld: differenceMs <= AT_ONCE_DIFFERENCE_MS,
  });
  return [
    check("mean", atOnce.meanMs - spread.meanMs),
    check("median", atOnce.medianMs - spread.medianMs),
  ];
}
