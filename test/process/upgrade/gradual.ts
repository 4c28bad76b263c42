import { Counters } from "../chaos/counters.ts";
import type { Load } from "../chaos/callbacks/kills.ts";
import type { RoundOptions } from "../chaos/callbacks/round.ts";
import type { Evidence } from "../chaos/callbacks/recording.ts";
import { forward, LoopbackServer } from "../harness/loopback.ts";
import type { Workerd } from "../harness/workerd.ts";
import { type Build, crossings } from "./crossings.ts";
import { Turns } from "./turns.ts";

/** The builds that run the objects of tasks, and all other objects. */
interface Objects {
  readonly tasks: Build;
  readonly others: Build;
}

const PERIOD_MS = 2_500;
const BUILDS = ["present", "earlier"] as const;
/** Every way to divide the objects; from each to the next the objects of one kind move. */
export const DIVISIONS: readonly [Objects, ...Objects[]] = [
  { tasks: "present", others: "present" },
  { tasks: "earlier", others: "present" },
  { tasks: "earlier", others: "earlier" },
  { tasks: "present", others: "earlier" },
];
const WORKERS = { present: "relay", earlier: "other" } as const;

/** Names of the figures. */
const answersOf = (worker: Build, { tasks, others }: Objects) =>
  `answers of the ${worker} Worker, ${tasks} tasks, ${others} other objects`;
const chargesOf = ({ tasks, others }: Objects) =>
  `charges ordered by ${tasks} tasks, booked by ${others} accounts`;
const attemptsOf = (tasks: Build, isByAlarm: boolean) =>
  `attempts ${isByAlarm ? "by alarm" : "at once"} of ${tasks} tasks`;

/** Returns what every round must reach to prove anything: `count` of each kind of pair. */
export function leastOf(count: number): Readonly<Record<string, number>> {
  const names = [
    ...BUILDS.flatMap((worker) => DIVISIONS.map((objects) => answersOf(worker, objects))),
    ...DIVISIONS.map(chargesOf),
    ...BUILDS.flatMap((tasks) => [attemptsOf(tasks, true), attemptsOf(tasks, false)]),
  ];
  return Object.fromEntries(names.map((name) => [name, count]));
}

/**
 * A round in which two builds of the relay are alive at once, as in a gradual deployment of Cloudflare: each
 * request goes to the Worker of one of them at random, and their objects move between them.
 * @param random returns numbers from 0 to 1, from which the Worker of a request follows.
 */
export function gradualRound(
  earlier: string,
  random: () => number,
): Pick<RoundOptions, "otherScript" | "disturb" | "frontOf" | "figuresOf"> {
  const turns = new Turns({ forms: DIVISIONS, periodMs: PERIOD_MS, take: moveObjects });
  const answers = new Counters();
  return {
    otherScript: earlier,
    disturb: (load) => turns.disturb(load),
    frontOf: (relay) => new SplitFront(relay, turns, random, answers).listen(),
    figuresOf: (evidence) => {
      const figures = crossings(evidence, (time) => turns.at(time)?.tasks ?? null);
      figures.addAll(answers);
      for (const each of evidence) {
        countCharge(each, turns, figures);
        countAttempts(each, turns, figures);
      }
      return figures;
    },
  };
}

/** Restarts the relay with its objects divided in this way. One in two restarts into each division is `kill -9`. */
async function moveObjects({ relay, counters }: Load, objects: Objects, nth: number) {
  const isKilled = (nth + Math.floor(nth / DIVISIONS.length)) % 2 === 1;
  const buildOf = (binding: string) => (binding === "TASKS" ? objects.tasks : objects.others);
  await relay.moveObjects((binding) => WORKERS[buildOf(binding)], isKilled);
  counters.add("objects moved");
  counters.add(isKilled ? "kills" : "restarts without a kill");
}

/** Counts the charge of a task by the builds that ordered and booked it. */
function countCharge({ history }: Evidence, turns: Turns<Objects>, figures: Counters) {
  const { state, createdAt, plan } = history;
  const objects = turns.at(createdAt);
  if (state === "refused" || plan.credits === null || objects === null) return;
  figures.add(chargesOf(objects));
}

/** Counts the attempts of a task that arrived at its receiver, by the build that made them. */
function countAttempts({ task, posts }: Evidence, turns: Turns<Objects>, figures: Counters) {
  const attempts = task?.callback?.attempts ?? [];
  for (const { headers, arrivedAt } of posts) {
    const at = attempts.findIndex(({ number }) => number === Number(headers["x-attempt"]));
    const objects = turns.at(arrivedAt);
    if (at === -1 || objects === null) continue;
    // A further attempt of a series is made by an alarm, the first one at once.
    const isByAlarm = attempts[at]?.series === attempts[at - 1]?.series;
    figures.add(attemptsOf(objects.tasks, isByAlarm));
  }
}

/** Passes each request on to one of the two Workers at random, and counts what they answer. */
class SplitFront extends LoopbackServer {
  constructor(relay: Workerd, turns: Turns<Objects>, random: () => number, answers: Counters) {
    super((request, response) => {
      const worker = random() < 0.5 ? "present" : "earlier";
      const objects = turns.at(Date.now());
      response.once("finish", () => {
        // The process has not been replaced since.
        if (objects === null || turns.at(Date.now()) !== objects) return;
        const later = response.statusCode === 503 ? "503: " : "";
        answers.add(later + answersOf(worker, objects));
      });
      forward(worker === "present" ? relay.url : relay.otherUrl, request, response);
    });
  }
}
