import { table, textOf } from "../page.ts";
import type { Machine } from "../throughput/machine.ts";
import { ACTIVITIES, type Activity } from "./activities.ts";
import { type Share, timesOf } from "./profile.ts";

/** Measurements of the two servers. */
export interface Measured {
  readonly floor: PerTask;
  readonly relay: PerTask;
}

/** Shares of the CPU time, in microseconds per task. */
type PerTask = readonly Share[];

/** Load of the measurement. */
interface Run {
  readonly machine: Machine;
  readonly connections: number;
  readonly rounds: number;
}

const LARGEST = 3;
const LEAST_US = 10;

/** Returns the page of `npm run bench:profile`. */
export function page({ floor, relay }: Measured, { machine, connections, rounds }: Run): string {
  const [ours, theirs] = [timesOf(relay), timesOf(floor)];
  const rows = ACTIVITIES.map((activity) => {
    const [own = 0, other = 0] = [ours.get(activity), theirs.get(activity)];
    const times = [other, own, own - other].map(micros);
    return [activity, ...times, largestOf(relay, activity)];
  });
  const [floorUs, relayUs] = [theirs, ours].map((times) => sum(times.values()));
  const whole = ["**all**", micros(floorUs ?? 0), micros(relayUs ?? 0)];
  const total = [...whole, micros((relayUs ?? 0) - (floorUs ?? 0)), ""];
  const head = ["what is done", "floor with promises, µs", "relay, µs", "difference", "largest"];
  return textOf({
    title: "Where the CPU time of a task goes",
    command: "bench:profile",
    machine,
    about: `A task that its event creates, with one delivered callback, at ${connections} connections, storage in memory where the machine can, in the relay and in the floor with promises (\`bench/throughput/promises-worker.ts\`), in ${rounds} rounds one after the other. The profiler samples the thread of JavaScript every 0.2 ms, whether it runs or waits for a core, and slows it down, so only proportions count. A sample counts for the innermost function on its stack that \`bench/profile/activities.ts\` assigns to an activity: the time in a function of zod, or in a call of the platform such as a write to the storage, counts for what has called it. Compiling and most of the collection of garbage happen in other threads and are not in it.`,
    parts: [
      table(head, [...rows, total]),
      '"Largest" names the functions of the relay with the most time in an activity, each with what it calls for that activity.',
    ],
  });
}

function largestOf(shares: PerTask, activity: Activity): string {
  return shares
    .filter((share) => share.activity === activity && share.name !== "" && share.us >= LEAST_US)
    .toSorted((a, b) => b.us - a.us)
    .slice(0, LARGEST)
    .map(({ name, us }) => `${name} ${micros(us)}`)
    .join(", ");
}

function micros(us: number): string {
  return us.toFixed(0);
}

function sum(values: Iterable<number>): number {
  return Array.from(values).reduce((total, value) => total + value, 0);
}
