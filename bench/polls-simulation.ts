import { type Cadence, nextPollTime } from "../src/core/polls/cadence.ts";
import { seeded } from "../test/simulation/random.ts";
import { type Durations, durationsOf, type FoundJob } from "./polls-jobs.ts";

/** Function that returns the ages in milliseconds, ascending, at which one job is polled. */
type Polls = (jitter: number) => Iterable<number>;

/** A way to plan polls, with a function that returns jobs polled in this way. */
export interface Contender {
  readonly name: string;
  readonly run: (durations: Durations, seed: number) => readonly FoundJob[];
}

const JOBS = 20_000;
/** Default of `POLL_LATENESS`, as a fraction. */
const DEFAULT_LATENESS = 0.07;
/** Shortest time between two polls that most providers allow. */
const GAP_MS = 1_000;

export const CONTENDERS: readonly Contender[] = [
  { name: "every 5 s", run: polledBy(() => everyMs(5_000)) },
  { name: "every 15 s", run: polledBy(() => everyMs(15_000)) },
  { name: "waits doubled, 15 s to 5 min", run: polledBy(doubled) },
  {
    name: "relay, POLL_LATENESS 7",
    run: polledBy((jitter) => relayAges(DEFAULT_LATENESS, jitter)),
  },
  { name: "relay, POLL_LATENESS 20", run: polledBy((jitter) => relayAges(0.2, jitter)) },
];

/** Returns the numbers by which the relay polls a job from its attachment on, when no hook can come. */
export function cadenceFrom(attachedAt: number, jitter: number): Cadence {
  return { attachedAt, hookWaitMs: null, lateness: DEFAULT_LATENESS, gapMs: GAP_MS, jitter };
}

function polledBy(polls: Polls): Contender["run"] {
  return (durations, seed) => {
    const [next, jitter] = [durationsOf(durations, seed), seeded(seed + 1)];
    return Array.from({ length: JOBS }, () => found(next(), polls(jitter())));
  };
}

/** Polls one job until its result is found. */
function found(durationMs: number, polls: Iterable<number>): FoundJob {
  let count = 0;
  for (const ageMs of polls) {
    count++;
    if (ageMs >= durationMs) return { durationMs, latenessMs: ageMs - durationMs, polls: count };
  }
  throw new Error("the polls ended before the job");
}

/** Returns the ages at which the relay polls a job when no hook can come. */
function* relayAges(lateness: number, jitter: number): Generator<number> {
  const cadence = { ...cadenceFrom(0, jitter), lateness };
  for (let ageMs = 0; ;) yield (ageMs = nextPollTime(cadence, ageMs));
}

/** Returns the ages at which a loop polls a job that always waits for the same time. */
function* everyMs(waitMs: number): Generator<number> {
  for (let ageMs = waitMs; ; ageMs += waitMs) yield ageMs;
}

/**
 * Returns the ages at which a job is polled after waits of 15 s, 30 s, 60 s and so on up to 5 minutes, each
 * lengthened by up to a fifth.
 */
function* doubled(jitter: number): Generator<number> {
  const longestMs = 300_000;
  let ageMs = 0;
  for (let waitMs = 15_000; ; waitMs = Math.min(2 * waitMs, longestMs)) {
    const spreadMs = waitMs * (1 + 0.2 * jitter);
    // The longest wait is not lengthened by the jitter but shortened.
    yield (ageMs += Math.min(spreadMs, 2 * longestMs - spreadMs));
  }
}
