import type { PollLimits } from "../../src/core/policy.ts";
import type { PollPlan } from "../../src/core/record/poll-plan.ts";
import type { OpenTask } from "../../src/core/record/task.ts";
import { HOUR, MINUTE, SECOND } from "../core/builders.ts";

/** Polls after the first report of success without output. */
const NO_OUTPUT_WAITS_MS = [15, 30, 60, 120, 300, 600].map((seconds) => seconds * SECOND);
/** Largest factor of an age or a wait. */
const JITTER = 1.05;
/** Rounding of the ages of a grid. */
const SLACK_MS = 100;

/** Returns when a task without a result ends at the latest, if it is not extended; Unix milliseconds. */
export function endTime({ deadlineAt, tracking: { poll } }: OpenTask): number {
  const { answer } = poll ?? { answer: null };
  return answer?.kind === "no_output"
    ? Math.max(deadlineAt, answer.since + 10 * MINUTE)
    : deadlineAt;
}

/** Returns the latest time of the next poll after `now`, at which earlier polls are over; Unix milliseconds. */
export function latestPollTime(plan: PollPlan, limits: PollLimits, now: number): number {
  const { at, hint, answer, notBefore } = plan;
  const usual = at !== null && at > now ? at : now + longestWaitMs(plan, limits, now);
  const sequence = NO_OUTPUT_WAITS_MS.map((waitMs) => (answer?.since ?? 0) + waitMs);
  const inSequence = sequence.find((time) => time > now);
  const planned = answer?.kind === "no_output" && inSequence !== undefined ? inSequence : usual;
  const isHinted = hint !== null && now < hint.at + 105 * SECOND;
  const hinted = isHinted ? Math.max(hint.at, now + 15 * SECOND) : Infinity;
  return Math.max(Math.min(planned, hinted) + limits.gapMs, notBefore);
}

function longestWaitMs(plan: PollPlan, { firstMs, gapMs }: PollLimits, now: number): number {
  const { attachedAt, likelyAgesMs, hookWaitMs } = plan;
  const ageMs = now - attachedAt;
  const lastMs = likelyAgesMs.at(-1) ?? 0;
  const likely = likelyAgesMs.length === 0 ? [firstMs] : likelyAgesMs;
  const ages = hookWaitMs === null ? likely : [Math.max(hookWaitMs, lastMs)];
  const spreadMs = ages.length * Math.max(3 * SECOND, gapMs);
  // An age may have been polled already from its earliest time on.
  const next = ages.find((age) => age / JITTER > ageMs) ?? ages.at(-1) ?? 0;
  const nextMs = next * JITTER + spreadMs;
  const growingMs = ageMs < HOUR ? Math.min(ageMs / 5, MINUTE) : 5 * MINUTE;
  const usualMs = Math.max(growingMs * JITTER, 3 * SECOND, gapMs) + SLACK_MS;
  return Math.max(nextMs - ageMs, usualMs);
}
