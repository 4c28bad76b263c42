import { latenessOf, type Lateness } from "./polls-jobs.ts";
import type { LiveRun } from "./polls-live.ts";
import { type Check, percent, type Row, seconds } from "./polls-report.ts";

/**
 * Largest accepted difference in milliseconds between the lateness of jobs attached at once and that of jobs
 * attached over time.
 */
const AT_ONCE_DIFFERENCE_MS = 2_000;

/** Returns the rows of a live run, and whether their figures keep the limits. */
export function judged(run: LiveRun): { readonly rows: readonly Row[]; readonly checks: Check[] } {
  const unknown = latenessOf(run.unknown);
  const known = latenessOf(run.known);
  const unstated = latenessOf(run.knownUnstated);
  const atOnceUnknown = latenessOf(run.atOnceUnknown);
  const atOnceKnown = latenessOf(run.atOnceKnown);
  const together = `${atOnceKnown.jobs} at once`;
  const rows = [
    { name: "unknown kind", lateness: unknown },
    { name: "known kind", lateness: known },
    { name: "known kind, no end time stated", lateness: unstated },
    { name: `unknown kind, ${together}`, lateness: atOnceUnknown },
    { name: `known kind, ${together}`, lateness: atOnceKnown },
  ];
  const checks = [
    partCheck("unknown kind, median", unknown.medianPart, 0.12),
    pollsCheck("unknown kind", unknown, 14),
    ...knownChecks("known kind", known),
    ...knownChecks("known kind, no end time stated", unstated),
    ...sameChecks(`unknown kind, ${together}`, atOnceUnknown, unknown),
    ...sameChecks(`known kind, ${together}`, atOnceKnown, known),
  ];
  return { rows, checks };
}

function knownChecks(name: string, lateness: Lateness): Check[] {
  return [
    partCheck(`${name}, mean`, lateness.meanPart, 0.1),
    partCheck(`${name}, median`, lateness.medianPart, 0.07),
    pollsCheck(name, lateness, 7),
  ];
}

function partCheck(name: string, part: number, most: number): Check {
  const text = `${name}: ${percent(part)} of the job late, at most ${percent(most)}`;
  return { text, isHeld: part <= most };
}

function pollsCheck(name: string, { polls }: Lateness, most: number): Check {
  return { text: `${name}: ${polls.toFixed(1)} polls, at most ${most}`, isHeld: polls <= most };
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
