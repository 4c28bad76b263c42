import { addDuration, likelyAges, NO_DURATIONS } from "../src/core/record/durations.ts";
import { nextPollTime } from "../src/core/record/poll-cadence.ts";
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
/** Number of independent histograms of durations over which the simulated jobs of a known kind are spread. */
const KINDS = 40;
/** Number of earlier jobs from which each histogram was made. */
const LEARNED_JOBS = 200;
/**
 * Age in milliseconds at the first poll when no durations are known, and shortest time between polls of most
 * providers.
 */
const FIRST_MS = 10_000;
const GAP_MS = 1_000;

export const CONTENDERS: readonly Contender[] = [
  { name: "every 5 s", run: polledBy(() => everyMs(5_000)) },
  { name: "every 15 s", run: polledBy(() => everyMs(15_000)) },
  { name: "waits doubled, 15 s to 5 min", run: polledBy(doubled) },
  { name: "relay, unknown kind", run: polledBy((jitter) => relayAges([], jitter)) },
  { name: "relay, known kind", run: polledAsKnown(true) },
  { name: "relay, known kind, no end time stated", run: polledAsKnown(false) },
];

function polledBy(polls: Polls): Contender["run"] {
  return (durations, seed) => {
    const [next, jitter] = [durationsOf(durations, seed), seeded(seed + 1)];
    return Array.from({ length: JOBS }, () => found(next(), polls(jitter())));
  };
}

/**
 * Polls jobs of kinds that the relay has learned before.
 * @param isEndStated true when the upstream states the time at which a job ended; else the relay knows only
 * the poll that found the result and the poll before.
 */
function polledAsKnown(isEndStated: boolean): Contender["run"] {
  return (durations, seed) => {
    const [next, jitter] = [durationsOf(durations, seed), seeded(seed + 1)];
    return Array.from({ length: KINDS }, () => {
      const agesMs = learned(isEndStated, next, jitter);
      return Array.from({ length: JOBS / KINDS }, () => found(next(), relayAges(agesMs, jitter())));
    }).flat();
  };
}

/** Returns the likely ages after many jobs, each of which was polled by the likely ages of the jobs before. */
function learned(
  isEndStated: boolean,
  next: () => number,
  jitter: () => number,
): readonly number[] {
  let known = NO_DURATIONS;
  for (let nth = 0; nth < LEARNED_JOBS; nth++) {
    const durationMs = next();
    const { latenessMs, pendingMs } = found(durationMs, relayAges(likelyAges(known), jitter()));
    const end = { minMs: durationMs, maxMs: durationMs };
    const range = { minMs: pendingMs, maxMs: durationMs + latenessMs };
    known = addDuration(known, isEndStated ? end : range);
  }
  return likelyAges(known);
}

/** Polls one job until its result is found. */
function found(
  durationMs: number,
  polls: Iterable<number>,
): FoundJob & {
  /** Age of the job at the last poll without a result, in milliseconds; 0 when there was none. */
  readonly pendingMs: number;
} {
  let [pendingMs, count] = [0, 0];
  for (const ageMs of polls) {
    count++;
    if (ageMs >= durationMs) {
      return { durationMs, latenessMs: ageMs - durationMs, polls: count, pendingMs };
    }
    pendingMs = ageMs;
  }
  throw new Error("the polls ended before the job");
}

/** Returns the ages at which the relay polls a job when no hook can come. */
function* relayAges(likelyAgesMs: readonly number[], jitter: number): Generator<number> {
  const plan = { attachedAt: 0, likelyAgesMs, hookWaitMs: null };
  const cadence = { ...plan, firstMs: FIRST_MS, gapMs: GAP_MS, jitter };
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
