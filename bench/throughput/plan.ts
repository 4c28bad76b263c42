/** Plan of one run: the compared servers and the duration. */
export interface Plan {
  readonly places: readonly Place[];
  readonly rounds: number;
  /** Limit on the whole run, in milliseconds. */
  readonly limitMs: number;
}

/** Servers that run at the same time on the same kind of storage and are measured in turns. */
export interface Place {
  readonly key: "tmpfs" | "disk" | "dev";
  readonly title: string;
  /** Servers at this place; the others are compared with the first one. */
  readonly contenders: readonly [ContenderKey, ...ContenderKey[]];
  /** Numbers of connections, each measured on its own. */
  readonly connections: readonly number[];
  /** True when reads of finished tasks are measured too. */
  readonly hasReads: boolean;
}

export type ContenderKey = keyof typeof CONTENDERS;

/** The compared servers, by their names in the tables. */
export const CONTENDERS = {
  floor: "floor",
  event: "relay, event only",
  headless: "relay, event only, bundled without console and documentation",
  registered: "relay, registered then event",
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

const PLAIN = ["floor", "event", "registered", "credits"] as const;
const TMPFS: Place = {
  key: "tmpfs",
  title: "workerd, storage on tmpfs",
  contenders: PLAIN,
  connections: [CALM, BUSY, MANY],
  hasReads: true,
};
const DISK: Place = {
  key: "disk",
  title: "workerd, storage on disk",
  contenders: PLAIN,
  connections: [BUSY],
  hasReads: false,
};
const DEV: Place = {
  key: "dev",
  title: "wrangler dev, storage on tmpfs",
  contenders: ["event", "indexed", "workflows", "queues"],
  connections: [BUSY],
  hasReads: false,
};

/** Returns the whole comparison. @param hasRedis true when BullMQ is measured too. */
export function fullPlan(hasRedis: boolean): Plan {
  const rivals = hasRedis ? (["bullmq"] as const) : [];
  const withRivals = (place: Place): Place => ({ ...place, contenders: [...PLAIN, ...rivals] });
  return { places: [withRivals(TMPFS), withRivals(DISK), DEV], rounds: 3, limitMs: 450_000 };
}

/** A short comparison of the relay with the floor. */
export const QUICK: Plan = {
  places: [{ ...TMPFS, contenders: ["floor", "event"], connections: [CALM, BUSY] }],
  rounds: 5,
  limitMs: 50_000,
};

/** A comparison of the relay with one whose bundle has no console and no documentation. */
export const CONSOLE: Plan = {
  places: [
    { ...TMPFS, contenders: ["headless", "event"], connections: [CALM, BUSY], hasReads: false },
  ],
  rounds: 15,
  limitMs: 110_000,
};

/** Time in milliseconds that a turn needs besides the time in which it sends tasks. */
const TURN_OVERHEAD_MS = 400;
/** Time in milliseconds in which the servers of one place start and stop. */
const START_MS = 20_000;
const MIN_TURN_MS = 300;

/** Returns the number of turns that a place takes, those that warm the servers up included. */
export function turnsOf({ contenders, connections, hasReads }: Place, rounds: number): number {
  const reads = hasReads ? 2 : 0;
  return (contenders.length * connections.length + reads) * rounds + contenders.length;
}

/**
 * Returns the time in milliseconds for all turns of the first of these places, whose servers have started
 * already.
 * @param leftMs time for all places that are left.
 */
export function shareMs(places: readonly Place[], rounds: number, leftMs: number): number {
  const [first = 0, ...others] = places.map((place) => turnsOf(place, rounds));
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
export function rotated<T>(items: readonly T[], by: number): readonly T[] {
  const cut = items.length === 0 ? 0 : by % items.length;
  return [...items.slice(cut), ...items.slice(0, cut)];
}
