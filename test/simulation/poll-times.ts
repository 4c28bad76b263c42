import type { PollLimits } from "../../src/core/policy.ts";
import type { PollPlan } from "../../src/core/record/poll-plan.ts";
import type { OpenTask } from "../../src/core/record/task.ts";
import { HOUR, MINUTE, SECOND } from "../core/builders.ts";

/** Waits in milliseconds from the first report of success without output to the polls after it. */
const NO_OUTPUT_WAITS_MS = [15, 30, 60, 120, 300, 600].map((seconds) => seconds * SECOND);
/**
 * Waits in milliseconds from an unverified hook that claims the end of the job to the polls that it causes.
 */
const HINT_WAITS_MS = [0, 15, 30, 45, 60, 75, 90, 105].map((seconds) => seconds * SECOND);

/**
 * Returns the latest time at which a task without a result ends if its deadline is not extended, in Unix
 * milliseconds.
 */
export function endTime({ deadlineAt, tracking: { poll } }: OpenTask): number {
  const { answer } = poll ?? { answer: null };
  return answer?.kind === "no_output"
    ? Math.max(deadlineAt, answer.since + 10 * MINUTE)
    : deadlineAt;
}

/** Returns the first time after `time` for which a poll is planned; Unix milliseconds. */
export function plannedPollTime(
  { id }: OpenTask,
  plan: PollPlan,
  limits: PollLimits,
  time: number,
): number {
  const { at, hint, answer, notBefore } = plan;
  const hinted = HINT_WAITS_MS.map((waitMs) => (hint?.at ?? -Infinity) + waitMs);
  const since = answer?.kind === "no_output" ? answer.since : -Infinity;
  const sequence = NO_OUTPUT_WAITS_MS.map((waitMs) => since + waitMs);
  const moved = at !== null && at > time ? at : gridTime(id, plan, limits, time);
  const planned = sequence.find((each) => each > time) ?? moved;
  const others = [notBefore, ...hinted].filter((each) => each > time);
  return Math.min(planned, ...others);
}

/** Returns the first time after `time` at which the age of the job alone causes a poll; Unix milliseconds. */
function gridTime(id: string, plan: PollPlan, limits: PollLimits, time: number): number {
  const { attachedAt, likelyAgesMs, hookWaitMs } = plan;
  const leastMs = Math.max(3 * SECOND, limits.gapMs);
  const factor = 0.95 + parseInt(id.slice(-8), 16) / 0xffffffff / 10;
  const likely = likelyAgesMs.length === 0 ? [limits.firstMs] : likelyAgesMs;
  const lateMs = Math.max(hookWaitMs ?? 0, likelyAgesMs.at(-1) ?? 0);
  const first = hookWaitMs === null || hookWaitMs === 0 ? likely : [lateMs];
  let ageMs = 0;
  for (let i = 0; attachedAt + ageMs <= time || i === 0; i++) {
    const next = first[i];
    const usualMs = ageMs < HOUR ? Math.min(ageMs / 5, MINUTE) : 5 * MINUTE;
    const plannedMs = next === undefined ? ageMs + usualMs * factor : next * factor;
    ageMs = Math.max(Math.round(plannedMs), ageMs + leastMs);
    if (ageMs > HOUR && i >= first.length) {
      const waitMs = Math.max(Math.round(5 * MINUTE * factor), leastMs);
      ageMs += Math.max(0, Math.floor((time - attachedAt - ageMs) / waitMs)) * waitMs;
    }
  }
  return attachedAt + ageMs;
}
