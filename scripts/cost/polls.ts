import { DEADLINE_EXTENSION } from "../../src/core/policy.ts";
import { nextPollTime } from "../../src/core/polls/cadence.ts";
import { HOUR_MS, MINUTE_MS, SECOND_MS } from "../../src/core/time.ts";
import { ENDLESS_HOUR, IDLE_POLL, type Meters, plus, POLLED_ALONE } from "./lives.ts";

/** Default of `POLL_LATENESS`, in percent, with which the lives are counted, and its smallest and largest value. */
export const POLL_LATENESS = { min: 3, fallback: 7, max: 50 } as const;
/** Default of `TASK_DEADLINE_HOURS`. */
export const DEADLINE_HOURS = 72;
/** Shortest time between two polls that most providers allow, in milliseconds. */
const GAP_MS = 1_000;
/** Age at which a job is polled whose hook is expected and comes to an unsigned URL, e.g. of Ark, in milliseconds. */
const HOOK_WAIT_MS = MINUTE_MS;

/**
 * Returns how many polls a job of `jobS` seconds takes until one finds its end, where no hook can come.
 * @param lateness `POLL_LATENESS`, in percent.
 */
export function pollsOf(jobS: number, lateness: number): number {
  return agesUntil(jobS * SECOND_MS, null, lateness).length + 1;
}

/** Returns the consumption of a task of a provider without hooks whose job takes `jobS` seconds. */
export function polledAlone(jobS: number, lateness: number): Meters {
  const [base, counted] =
    COUNTED.find(([seconds]) => seconds >= jobS) ?? ([600, POLLED_ALONE[600]] as const);
  // Between close polls the object stays in memory and reads no row.
  const poll: Meters = { ...IDLE_POLL, rowsRead: 0 };
  return plus(counted, poll, pollsOf(jobS, lateness) - pollsOf(base, POLL_LATENESS.fallback));
}

const COUNTED = Object.entries(POLLED_ALONE).map(
  ([seconds, meters]) => [Number(seconds), meters] as const,
);

/** Returns the consumption of a task of Ark whose job never ends and sends no hook, with the default settings. */
export function endless(): Meters {
  const polls = pollsWhileOpen(DEADLINE_HOURS) - pollsWhileOpen(1);
  return plus(ENDLESS_HOUR, IDLE_POLL, polls);
}

/** Returns how often a job of Ark that runs for ever is polled before its deadline, which is extended once. */
function pollsWhileOpen(deadlineHours: number): number {
  const openMs = deadlineHours * HOUR_MS * (1 + DEADLINE_EXTENSION);
  return agesUntil(openMs, HOOK_WAIT_MS, POLL_LATENESS.fallback).length;
}

/** Returns the ages below `endMs` at which a job is polled, in milliseconds. */
function agesUntil(endMs: number, hookWaitMs: number | null, lateness: number): readonly number[] {
  const cadence = {
    attachedAt: 0,
    hookWaitMs,
    lateness: lateness / 100,
    gapMs: GAP_MS,
    jitter: 1 / 2,
  };
  const ages: number[] = [];
  for (let age = nextPollTime(cadence, 0); age < endMs; age = nextPollTime(cadence, age)) {
    ages.push(age);
  }
  return ages;
}
