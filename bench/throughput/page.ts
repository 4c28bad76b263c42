import { type Check, keeps } from "./checks.ts";
import { CONTENDERS } from "./plan.ts";
import { latency, median, type PlaceResult, type Series } from "./results.ts";

const HEAD = [
  "server",
  "connections",
  "accepted/s",
  "delivered/s",
  "accept p50",
  "accept p99",
  "callback p50",
  "callback p99",
  "CPU per task",
  "tasks",
  "lost",
  "doubled",
];

/** Returns a Markdown table of what was measured at one place. */
export function summary({ series, reads }: PlaceResult): string {
  const readRows = reads.map(({ contender, rounds }) => [
    contender === "floor" ? "bare object" : "relay",
    median(rounds, ({ readsPerS }) => readsPerS).toFixed(0),
    ...[0.5, 0.99].map((q) => milliseconds(latency(rounds, ({ readMs }) => readMs, q))),
    milliseconds(median(rounds, ({ cpuMs }) => cpuMs)),
  ]);
  const readTable = table(["read from", "reads/s", "p50", "p99", "CPU per read"], readRows);
  const tasks = table(HEAD, series.map(rowOf));
  return reads.length === 0 ? tasks : `${tasks}\n\n${readTable}`;
}

/** Returns a Markdown item that states a check's value, its limit and its goal, and whether it keeps them. */
export function checkLine(check: Check): string {
  const { what, place, limit, goal, isCost, unit, value } = check;
  const shown = (number: number) => `${number.toFixed(2)} ${unit}`;
  const bound = isCost ? "at most" : "at least";
  const verdict = keeps(check, limit) ? "pass" : "**fail**";
  const reached = goal !== null && keeps(check, goal) ? "reached" : "not reached";
  const aim = goal === null ? "" : `; goal ${shown(goal)}: ${reached}`;
  return `- ${verdict}: ${what} (${place}): ${shown(value)}, ${bound} ${shown(limit)}${aim}`;
}

function rowOf({ contender, connections, rounds }: Series): readonly string[] {
  const total = (figure: (round: (typeof rounds)[number]) => number) =>
    String(rounds.reduce((sum, round) => sum + figure(round), 0));
  return [
    CONTENDERS[contender],
    String(connections),
    median(rounds, ({ acceptedPerS }) => acceptedPerS).toFixed(0),
    median(rounds, ({ deliveredPerS }) => deliveredPerS).toFixed(0),
    ...[0.5, 0.99].map((q) => milliseconds(latency(rounds, ({ acceptMs }) => acceptMs, q))),
    ...[0.5, 0.99].map((q) => milliseconds(latency(rounds, ({ callbackMs }) => callbackMs, q))),
    milliseconds(median(rounds, ({ cpuMs }) => cpuMs)),
    total(({ acceptMs }) => acceptMs.length),
    total(({ lost }) => lost),
    total(({ doubled }) => doubled),
  ];
}

/** Returns a Markdown table. */
function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const rule = head.map((_, index) => (index === 0 ? "---" : "---:"));
  return [head, rule, ...rows].map((cells) => `| ${cells.join(" | ")} |`).join("\n");
}

function milliseconds(ms: number): string {
  return `${ms.toFixed(ms < 10 ? 2 : 0)} ms`;
}
