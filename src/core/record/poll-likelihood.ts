import type { Policy } from "../policy.ts";
import { LEVELS } from "./durations.ts";
import { previousPollTime } from "./poll-cadence.ts";
import { cadenceOf, isHintedSince, lastPollAt, type PollPlan } from "./poll-plan.ts";
import type { OpenTask } from "./task.ts";
import { MINUTE_MS } from "../time.ts";

/** Likelihood of a poll after a hook that claimed the end of the job. */
const HINTED = 0.9;
const HINT_AGE_MS = 2 * MINUTE_MS;
/** The largest likelihood of a poll of a job whose kind is not known. */
const UNKNOWN = 0.5;

/**
 * Returns the probability that a poll at `at` finds the result, as a number from 0 to 1 with two decimals; 1
 * for the last poll of a task, which cannot wait. It decides which polls go first where a provider limits the
 * polls per minute.
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

/** Returns the part of the jobs that end in a time, of those that had not ended before it. */
function conditional(before: number, after: number): number {
  return (after - before) / (1 - before);
}

/** Returns the part of the jobs of a kind that end within an age. */
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
