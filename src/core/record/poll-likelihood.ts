import type { Policy } from "../policy.ts";
import { LEVELS } from "./durations.ts";
import { previousPollTime } from "./poll-cadence.ts";
import { cadenceOf, isHintedSince, lastPollAt, type PollPlan } from "./poll-plan.ts";
import type { OpenTask } from "./task.ts";
import { MINUTE_MS } from "../time.ts";

/** Assumed probability that a poll finds the result, shortly after a hook claimed the end of the job. */
const HINTED = 0.9;
const HINT_AGE_MS = 2 * MINUTE_MS;
/** Largest assumed probability that a poll finds the result, when the durations of similar jobs are unknown. */
const UNKNOWN = 0.5;

/**
 * Returns the probability that a poll at `at` finds the result, as a number from 0 to 1 with two decimals. It
 * decides which polls go first where a provider limits the polls per minute. The final poll of a task, after
 * which the task ends, gets 1, because it must not wait.
 */
export function likelihoodOf(task: OpenTask, plan: PollPlan, policy: Policy, at: number): number {
  if (at >= lastPollAt(task)) return 1;
  if (isHintedSince(plan, at - HINT_AGE_MS)) return HINTED;
  const { attachedAt, likelyAgesMs } = plan;
  const askedAt = policy.askedAt || previousPollTime(cadenceOf(task, plan, policy), at);
  const [fromMs, toMs] = [Math.max(0, askedAt - attachedAt), at - attachedAt];
  const likelihood =
    likelyAgesMs.length === 0
      ? Math.min(1 - fromMs / Math.max(toMs, 1), UNKNOWN)
      : conditional(endedWithin(likelyAgesMs, fromMs), endedWithin(likelyAgesMs, toMs));
  return Math.round(likelihood * 100) / 100;
}

/**
 * Returns the fraction of the jobs that end within a period, among those still running at its beginning.
 * @param before fraction of all jobs that have ended by the beginning of the period.
 * @param after fraction of all jobs that have ended by its end.
 */
function conditional(before: number, after: number): number {
  return (after - before) / (1 - before);
}

/** Estimates the fraction of the jobs with the same endpoint and model that have ended at the age `ageMs`. */
function endedWithin(likelyAgesMs: readonly number[], ageMs: number): number {
  const next = likelyAgesMs.findIndex((each) => each > ageMs);
  if (next < 0) {
    const last = level(likelyAgesMs.length - 1);
    return 1 - ((1 - last) * (likelyAgesMs.at(-1) ?? 0)) / Math.max(ageMs, 1);
  }
  const [fromMs, toMs] = [likelyAgesMs[next - 1] ?? 0, likelyAgesMs[next] ?? ageMs];
  const part = (ageMs - fromMs) / (toMs - fromMs);
  return level(next - 1) + part * (level(next) - level(next - 1));
}

function level(index: number): number {
  return LEVELS[index] ?? 0;
}
