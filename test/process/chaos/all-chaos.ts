import { type ChaosOptions, lowTaskFigures, taskRounds } from "./callbacks/scenario.ts";
import { CLUSTER } from "./cluster/scenario.ts";
import { Counters } from "./counters.ts";
import { ENDPOINTS } from "./endpoints/scenario.ts";
import { OUTPUTS, S3_OUTPUTS } from "./outputs/scenario.ts";
import { PRICES } from "./prices/scenario.ts";
import { queueScenario } from "./queue/scenario.ts";
import { type ChaosReport, runScenario } from "./scenario.ts";
import { SUBMISSIONS } from "./submissions/scenario.ts";

/** Longest round of tasks, in minutes. */
const ROUND_MINUTES = 2;

/** Number of kills of a round of queues. */
const QUEUE_KILLS = 50;

/** What a round of chaos is about. */
export const KINDS = [
  "tasks",
  "submissions",
  "prices",
  "queue",
  "outputs",
  "s3-outputs",
  "endpoints",
  "cluster",
] as const;
export type Kind = (typeof KINDS)[number];

/** Order of the rounds. Those of tasks meet most: registrations, events, hooks, polls, cancels, redeliveries, credits. */
const TURNS: readonly Kind[] = [
  "tasks",
  "submissions",
  "tasks",
  "endpoints",
  "tasks",
  "queue",
  "tasks",
  "prices",
  "tasks",
  "outputs",
];

/**
 * Runs rounds of all kinds in turn, each with a relay of its own, and prints their figures. No round begins after
 * `minutes`. Ends at the first round with faults.
 * @param only the one kind of which all rounds are; null for all kinds.
 */
export async function allChaos(
  { minutes, seed, print }: ChaosOptions,
  only: Kind | null,
): Promise<readonly string[]> {
  print(`${minutes} minutes, seed ${seed}`);
  const endAt = Date.now() + minutes * 60_000;
  const totals = new Map<Kind, Counters>();
  for (let nth = 0; nth === 0 || Date.now() < endAt; nth++) {
    const kind = only ?? TURNS[nth % TURNS.length] ?? "tasks";
    const { counters, faults } = await roundOf(kind, seed + nth, minutes);
    const total = totals.get(kind) ?? new Counters();
    totals.set(kind, total);
    total.addAll(counters);
    print(`${kind}, seed ${seed + nth}: ${counters.of("kills")} kills, ${faults.length} faults`);
    if (faults.length > 0) return faults;
  }
  for (const [kind, total] of totals) print(`${kind}:\n${total.toString()}`);
  const tasks = totals.get("tasks");
  return tasks === undefined ? [] : lowTaskFigures(tasks, Math.min(minutes, ROUND_MINUTES));
}

function roundOf(kind: Kind, seed: number, minutes: number): Promise<ChaosReport> {
  switch (kind) {
    case "tasks":
      return taskRounds({ minutes: Math.min(minutes, ROUND_MINUTES), seed, print: () => {} });
    case "submissions":
      return runScenario(SUBMISSIONS, seed);
    case "prices":
      return runScenario(PRICES, seed);
    case "queue":
      return runScenario(queueScenario(QUEUE_KILLS), seed);
    case "outputs":
      return runScenario(OUTPUTS, seed);
    case "s3-outputs":
      return runScenario(S3_OUTPUTS, seed);
    case "cluster":
      return runScenario(CLUSTER, seed);
    case "endpoints":
      return runScenario(ENDPOINTS, seed);
  }
}
