import { nextPollTime } from "../src/core/polls/cadence.ts";
import { PollSlots } from "../src/objects/connection/poll-slots.ts";
import { seeded } from "../test/simulation/random.ts";
import { mean } from "./figures.ts";
import { type Durations, durationsOf, type FoundJob } from "./polls-jobs.ts";
import { cadenceFrom } from "./polls-simulation.ts";

/** Jobs of one connection that run at once, and the limit of its polls. */
export interface LimitedLoad {
  readonly durations: Durations;
  /** Number of jobs that run at any time: each one that ends is followed by another. */
  readonly jobs: number;
  /** Polls that the connection permits per minute; null for no limit. */
  readonly perMinute: number | null;
}

export interface LimitedRun {
  readonly found: readonly FoundJob[];
  /** Mean number of polls per minute. */
  readonly perMinute: number;
  /** Largest number of polls in one minute. */
  readonly most: number;
}

/** A task whose job runs. Times are in Unix milliseconds. */
interface RunningTask {
  id: string;
  attachedAt: number;
  durationMs: number;
  jitter: number;
  polls: number;
  /** Time at which the task polls, or asks for its turn. */
  at: number;
}

const MINUTE_MS = 60_000;
/** Time that is simulated, in milliseconds. */
const RUN_MS = 60 * MINUTE_MS;
/** First part of the simulated time, in milliseconds, not counted: the first jobs all start within a minute. */
const WARM_UP_MS = 20 * MINUTE_MS;

/**
 * Polls jobs without hooks through the slots of a connection, on a simulated clock: a task asks for a slot when a
 * poll is planned, and while it gets none, again at the time that the slots tell it.
 */
export function limitedRun({ durations, jobs, perMinute }: LimitedLoad, seed: number): LimitedRun {
  const slots = new PollSlots();
  const [nextDurationMs, random] = [durationsOf(durations, seed), seeded(seed + 1)];
  const found: FoundJob[] = [];
  const counts = Array.from({ length: (RUN_MS - WARM_UP_MS) / MINUTE_MS }, () => 0);
  let started = 0;
  const begun = (attachedAt: number): RunningTask => {
    const [id, jitter] = [`task ${++started}`, random()];
    const at = nextPollTime(cadenceFrom(attachedAt, jitter), attachedAt);
    return { id, attachedAt, durationMs: nextDurationMs(), jitter, polls: 0, at };
  };
  const tasks = Array.from({ length: jobs }, () => begun(Math.floor(random() * MINUTE_MS)));
  for (let task = earliest(tasks); task.at < RUN_MS; task = earliest(tasks)) {
    const { id, at, attachedAt, durationMs, jitter } = task;
    const waitMs = perMinute === null ? 0 : slots.take(id, false, perMinute, at);
    const minute = Math.floor((at - WARM_UP_MS) / MINUTE_MS);
    if (waitMs === 0 && minute >= 0) counts[minute] = (counts[minute] ?? 0) + 1;
    if (waitMs === 0) task.polls++;
    task.at = waitMs > 0 ? at + waitMs : nextPollTime(cadenceFrom(attachedAt, jitter), at);
    const latenessMs = at - attachedAt - durationMs;
    if (waitMs > 0 || latenessMs < 0) continue;
    if (minute >= 0) found.push({ durationMs, latenessMs, polls: task.polls });
    Object.assign(task, begun(at));
  }
  return { found, perMinute: mean(counts), most: Math.max(...counts) };
}

function earliest(tasks: readonly RunningTask[]): RunningTask {
  return tasks.reduce((first, task) => (task.at < first.at ? task : first));
}
