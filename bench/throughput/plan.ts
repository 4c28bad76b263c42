/** Plan of one run: the compared servers and the duration. */
export interface Plan {
  readonly places: readonly Place[];
  /** Limit on the whole run, in milliseconds. */
  readonly limitMs: number;
}

/** Servers that run at the same time on the same kind of storage and are measured in turns. */
export interface Place {
  readonly key: "tmpfs" | "disk" | "dev";
  readonly title: string;
  /** In the order in which they are measured. */
  readonly loads: readonly PlannedLoad[];
}

/** A load that each of its servers gets once in each round. */
export interface PlannedLoad {
  /** Tasks with their callbacks, or reads of finished tasks. */
  readonly kind: "tasks" | "reads";
  readonly connections: number;
  /** Servers that are measured in every round. The others are compared with the first one. */
  readonly contenders: readonly [ContenderKey, ...ContenderKey[]];
  readonly rounds: number;
  /** Servers whose figures need less precision, so that they are measured in few of the rounds. */
  readonly seldom: Seldom;
}

/** Servers that are measured in each round whose number is a multiple of `every`. */
export interface Seldom {
  readonly contenders: readonly ContenderKey[];
  readonly every: number;
}

export type ContenderKey = keyof typeof CONTENDERS;

/** The compared servers, by their names in the tables. */
export const CONTENDERS = {
  promises: "floor with promises",
  floor: "bare floor",
  event: "relay, event only",
  twin: "the same relay again",
  headless: "relay, event only, bundled without console and documentation",
  registered: "relay, registered then event",
  submitted: "relay, submitted then event",
  credits: "relay, with credits",
  indexed: "relay, with credits and index",
  workflows: "Workflows",
  queues: "Queues",
  bullmq: "BullMQ",
} as const;

/** Number of connections of the calm load, in which each task waits for the callback of the one before. */
export const CALM = 1;
/** Number of connections of the busy load. */
export const BUSY = 32;
const MANY = 256;

type Contenders = PlannedLoad["contenders"];

/** The relay, the Worker by hand with which it is compared, and the relay again, which shows the noise. */
const COMPARED: Contenders = ["promises", "event", "twin"];
const NONE: Seldom = { contenders: [], every: 1 };

/** Returns the whole comparison. @param hasRedis true when BullMQ is measured too. */
export function fullPlan(hasRedis: boolean): Plan {
  const rivals = hasRedis ? (["bullmq"] as const) : [];
  const others = ["floor", "registered", "submitted", "credits", ...rivals] as const;
  const seldom = (every: number): Seldom => ({ contenders: others, every });
  const onTmpfs = [
    tasks(CALM, COMPARED, 30, seldom(6)),
    tasks(BUSY, COMPARED, 120, seldom(20)),
    tasks(MANY, COMPARED, 6, seldom(2)),
    reads(COMPARED, 60, { contenders: ["floor"], every: 10 }),
  ];
  const onDisk = [tasks(BUSY, COMPARED, 90, seldom(15))];
  return {
    places: [
      tmpfs(onTmpfs),
      { key: "disk", title: "workerd, storage on disk", loads: onDisk },
      {
        key: "dev",
        title: "wrangler dev, storage on tmpfs",
        loads: [tasks(BUSY, ["event", "indexed", "workflows", "queues"], 5)],
      },
    ],
    limitMs: 1_170_000,
  };
}

/** A short comparison of the relay with the floor that keeps its promises. */
export const QUICK: Plan = {
  places: [tmpfs([tasks(CALM, COMPARED, 5), tasks(BUSY, COMPARED, 9), reads(COMPARED, 5)])],
  limitMs: 90_000,
};

/** A comparison of the relay with one whose bundle has no console and no documentation. */
export const CONSOLE: Plan = {
  places: [tmpfs([CALM, BUSY].map((connections) => tasks(connections, ["headless", "event"], 15)))],
  limitMs: 110_000,
};

/** Time in milliseconds that a turn needs besides the time in which it sends tasks. */
const TURN_OVERHEAD_MS = 400;
/** Time in milliseconds in which the servers of one place start and stop. */
const START_MS = 20_000;
const MIN_TURN_MS = 300;

/** Returns the servers of a place. */
export function contendersOf({ loads }: Pick<Place, "loads">): readonly ContenderKey[] {
  const all = loads.flatMap(({ contenders, seldom }) => [...contenders, ...seldom.contenders]);
  return [...new Set(all)];
}

/** Returns the number of turns that a place takes. */
export function turnsOf(place: Pick<Place, "loads">): number {
  const turns = place.loads.flatMap((load) => plannedRounds(load).map((keys) => keys.length));
  return turns.reduce((sum, each) => sum + each, 0);
}

/** Returns the servers that are measured in each round of a load, each round with another one first. */
export function plannedRounds({
  contenders,
  rounds,
  seldom,
}: Pick<PlannedLoad, "contenders" | "rounds" | "seldom">): readonly (readonly ContenderKey[])[] {
  return Array.from({ length: rounds }, (_, number) => {
    const isFull = number % seldom.every === 0;
    return rotated(isFull ? [...contenders, ...seldom.contenders] : contenders, number);
  });
}

/**
 * Returns the time in milliseconds for all turns of the first of these places, whose servers have started
 * already.
 * @param leftMs time for all places that are left.
 */
export function shareMs(places: readonly Place[], leftMs: number): number {
  const [first = 0, ...others] = places.map(turnsOf);
  const turns = others.reduce((sum, each) => sum + each, first);
  return ((leftMs - others.length * START_MS) * first) / Math.max(1, turns);
}

/** Returns for how long the next turn sends tasks, in milliseconds. @param leftMs time for all turns left. */
export function turnMs(leftMs: number, turnsLeft: number): number {
  return Math.max(MIN_TURN_MS, leftMs / Math.max(1, turnsLeft) - TURN_OVERHEAD_MS);
}

/**
 * Returns the items with the first `by` of them moved to the end, so that each item comes first in its turn.
 */
function rotated<T>(items: readonly T[], by: number): readonly T[] {
  const cut = items.length === 0 ? 0 : by % items.length;
  return [...items.slice(cut), ...items.slice(0, cut)];
}

function tmpfs(loads: readonly PlannedLoad[]): Place {
  return { key: "tmpfs", title: "workerd, storage on tmpfs", loads };
}

function tasks(
  connections: number,
  contenders: Contenders,
  rounds: number,
  seldom = NONE,
): PlannedLoad {
  return { kind: "tasks", connections, contenders, rounds, seldom };
}

function reads(contenders: Contenders, rounds: number, seldom = NONE): PlannedLoad {
  return { kind: "reads", connections: BUSY, contenders, rounds, seldom };
}
