import { quantile } from "./figures.ts";
import { bytesPerTask, sampleAt, type Sample } from "./load-memory.ts";
import type { LoadPlan, LoadRun, Sent } from "./load-run.ts";

const MIB = 1024 * 1024;
const MEMORY_ROWS = 10;

/** Prints the figures of one run of the load. */
export function printReport(plan: LoadPlan, run: LoadRun): void {
  const share = plan.sickShare * 100;
  const title = share === 0 ? "all healthy" : `${share} % hang, ${share} % fail`;
  const accepted = run.sent.filter(({ status }) => status === 202).length;
  const main = accepted - run.trickled;
  console.log(`receivers: ${title}`);
  row(
    "tasks",
    `${main} accepted of ${plan.tasks}, then ${run.trickled} at ${plan.trickleRatePerS}/s`,
  );
  row("answers", tally(run.sent.map(({ status }) => String(status ?? "none"))));
  const seconds = run.wallMs / 1000;
  row("wall time", `${seconds.toFixed(1)} s, ${(main / seconds).toFixed(1)} accepted/s`);
  row("", `(asked for: ${plan.ratePerS}/s)`);
  row("callbacks", tally(run.sent.map(({ stored }) => stored?.callback.state.kind ?? "lost")));
  memory(plan, run);
  const healthy = run.sent.filter(({ kind }) => kind === "healthy");
  row("first attempts, healthy", tally(healthy.map(firstOutcome)));
  row("event to first callback, healthy", distribution(healthy.flatMap(firstCallbackMs)));
  for (const [i, waitS] of plan.scheduleS.entries()) {
    const late = run.sent.flatMap((task) => latenessMs(task, i + 1, waitS * 1000));
    if (i > 0 && late.length > 0)
      row(`attempt ${i + 1}, ${waitS} s after the last`, distribution(late));
  }
}

/** Lists the guarantees of the relay that were broken for a task. */
export function faultsOf({ id, kind, status, arrivals, stored }: Sent, plan: LoadPlan): string[] {
  if (status !== 202 && stored === undefined && arrivals.length === 0) return [];
  const attempts = stored?.callback.attempts ?? [];
  const state = stored?.callback.state.kind ?? "lost";
  const maxAttempts = plan.scheduleS.length;
  const faults: [string, boolean][] = [
    ["lost", stored === undefined],
    [`not settled: ${state}`, state !== "delivered" && state !== "failed"],
    ["more attempts than promised", attempts.length > maxAttempts || arrivals.length > maxAttempts],
    ["not delivered to a healthy receiver", kind === "healthy" && state !== "delivered"],
    ["delivered to a sick receiver", kind !== "healthy" && state !== "failed"],
    [
      "an attempt number sent twice",
      new Set(arrivals.map((each) => each.attempt)).size < arrivals.length,
    ],
  ];
  return faults.flatMap(([fault, isBroken]) => (isBroken ? [`${id} (${kind}): ${fault}`] : []));
}

function memory(plan: LoadPlan, run: LoadRun): void {
  row("memory (RSS), open files", `start ${text(run.start)}`);
  for (let part = 1; part <= MEMORY_ROWS; part++) {
    const tasks = Math.round((plan.tasks * part) / MEMORY_ROWS);
    const sample = sampleAt(run.samples, tasks) ?? run.samples.at(-1);
    if (sample !== undefined) row("", `after ${String(tasks).padStart(6)} tasks ${text(sample)}`);
  }
  row("", `maximum ${mib(run.maxRssBytes)}, after 30 s without requests ${text(run.quiet)}`);
  const half = plan.tasks / 2;
  row("", `second half: ${bytesPerTask(run.samples, half).toFixed(0)} bytes more per task`);
}

function firstCallbackMs({ sentAt, arrivals }: Sent): number[] {
  const first = arrivals.find(({ attempt }) => attempt === 1);
  return first === undefined ? [] : [first.at - sentAt];
}

function firstOutcome({ stored }: Sent): string {
  return stored?.callback.attempts[0]?.outcome ?? "none";
}

/**
 * Returns how late attempts arrived, in milliseconds after they were due by the stored end of the previous
 * attempt.
 */
function latenessMs({ arrivals, stored }: Sent, number: number, waitMs: number): number[] {
  const arrival = arrivals.find(({ attempt }) => attempt === number);
  const before = stored?.callback.attempts.find((attempt) => attempt.number === number - 1);
  if (arrival === undefined || before === undefined) return [];
  return [arrival.at - (before.startedAt + before.durationMs + waitMs)];
}

function distribution(values: readonly number[]): string {
  const at = (q: number) => String(quantile(values, q)).padStart(6);
  return `min ${at(0)}  p50 ${at(0.5)}  p99 ${at(0.99)}  max ${at(1)} ms  (${values.length})`;
}

function tally(values: readonly string[]): string {
  const groups = Map.groupBy(values, (value) => value);
  return [...groups].map(([value, same]) => `${value} ${same.length}`).join(", ");
}

function text({ rssBytes, openFiles }: Sample): string {
  return `${mib(rssBytes)}, ${String(openFiles).padStart(5)} files`;
}

function mib(bytes: number): string {
  return `${(bytes / MIB).toFixed(1).padStart(6)} MiB`;
}

function row(name: string, value: string): void {
  console.log(`${name.padEnd(34)}${value}`);
}
