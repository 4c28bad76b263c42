import { availableParallelism } from "node:os";
import { table as markdownTable, textOf } from "./page.ts";
import { type Durations, type Lateness, latenessOf } from "./polls-jobs.ts";
import type { LimitedLoad, LimitedRun } from "./polls-limited.ts";

/** Measurements of jobs whose polls were planned in the same way. */
export interface Row {
  readonly name: string;
  readonly lateness: Lateness;
}

/** Rows for jobs of one distribution of durations. */
export interface Panel {
  readonly durations: Durations;
  readonly rows: readonly Row[];
}

export function titleOf({ medianMs, sigma }: Durations): string {
  return `Jobs of p50 ${medianMs / 1000} s, sigma ${sigma}`;
}

/** Result of comparing a measured figure with its limit. */
export interface Check {
  readonly text: string;
  readonly isHeld: boolean;
}

/** Returns a Markdown table of the rows. */
export function table(rows: readonly Row[]): string {
  const lines = rows.map(({ name, lateness: late }) => [
    name,
    ...[late.meanMs, late.medianMs, late.p95Ms].map(seconds),
    ...[late.meanPart, late.medianPart, late.p95Part].map(percent),
    late.polls.toFixed(1),
  ]);
  const parts = ["mean, of the job", "median, of the job", "p95, of the job"];
  const head = ["polled", "mean late", "median late", "p95 late", ...parts, "polls per job"];
  return markdownTable(head, lines);
}

export function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(1)} s`;
}

export function percent(part: number): string {
  return `${(part * 100).toFixed(1)} %`;
}

/** Title of the section of the page that holds the figures of the last live run. */
export const LIVE_TITLE = "## Live";

/** A simulated load of many jobs at one connection, and how late their results were found. */
export interface LimitedRow {
  readonly load: LimitedLoad;
  readonly run: LimitedRun;
}

/** Returns a Markdown table of loads with and without a limit of polls. */
function limitedTable(rows: readonly LimitedRow[]): string {
  const lines = rows.map(({ load: { durations, perMinute }, run }) => {
    const { medianMs, p95Ms, polls } = latenessOf(run.found);
    const limit = perMinute === null ? "none" : perMinute.toLocaleString("en");
    const perJob = polls.toFixed(1);
    const perMinutes = [run.perMinute, run.most].map((count) =>
      Math.round(count).toLocaleString("en"),
    );
    const late = [medianMs, p95Ms].map(seconds);
    return [`${durations.medianMs / 1000} s`, limit, ...late, perJob, ...perMinutes];
  });
  const polls = ["polls per job", "polls per minute", "most in a minute"];
  return markdownTable(["jobs of p50", "limit", "median late", "p95 late", ...polls], lines);
}

/** Returns the beginning of the page, up to the section of the live run. */
export function simulationPage(
  panels: readonly Panel[],
  limited: readonly LimitedRow[],
  seed: number,
): string {
  return textOf({
    title: "Lateness of results that polls find",
    command: "bench:polls",
    machine: null,
    about:
      "Lateness is the time from the end of a job to the relay's knowing it, where no hook comes. The durations of jobs are log-normal.",
    parts: [
      "## Simulation",
      `Seed ${seed}. The relay's times are those of \`src/core/polls/cadence.ts\`, its default is \`POLL_LATENESS\` 7. Neither the network nor the load of a machine is simulated.`,
      "![Mean lateness by cadence of polls](polls.svg)",
      ...panels.flatMap(({ durations, rows }) => [`### ${titleOf(durations)}`, table(rows)]),
      "### 1,000 jobs at one connection",
      "With and without `polls_per_minute`: a job that ends is followed by another at once. The places are those of `src/objects/connection/poll-slots.ts`; 40 minutes are counted.",
      limitedTable(limited),
    ],
  });
}

/** Time at which a live run began, and the load averages of the machine at its end. */
interface Conditions {
  readonly startedAt: Date;
  readonly load: readonly number[];
}

/** Returns the section of the page for a live run. */
export function liveSection(
  durations: Durations,
  rows: readonly Row[],
  checks: readonly Check[],
  { startedAt, load }: Conditions,
): string {
  const results = checks.map(({ text, isHeld }) => `- ${isHeld ? "pass" : "**fail**"}: ${text}`);
  const loads = load.map((each) => each.toFixed(1)).join(", ");
  return `
${LIVE_TITLE}

The relay on released workerd and a stand-in upstream that sends no hooks, both on one machine with ${availableParallelism()} cores; begun ${startedAt.toISOString()}, load averages at the end ${loads}. ${titleOf(durations)}. The lateness lasts until the callback has arrived.

${table(rows)}

${results.join("\n")}
`;
}
