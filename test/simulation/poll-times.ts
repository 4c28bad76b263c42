import { hashOf } from "../../src/core/hash.ts";
import type { PollPlan } from "../../src/core/record/poll-plan.ts";
import type { OpenTask } from "../../src/core/record/task.ts";
import { HOUR, MINUTE, SECOND } from "../core/builders.ts";
import { cancelAnsweredAt, cancelPollTimes } from "./cancel-times.ts";
import type { Setting } from "./setting.ts";

/** The part of the configuration that decides at which ages a job is polled. */
type PollSetting = Pick<Setting, "limits" | "lateness">;

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
export function endTime({ deadlineAt, tracking: { poll }, cancellation }: OpenTask): number {
  const answer = poll?.answer;
  const endsAt = Math.max(deadlineAt, cancellation?.endsAt ?? deadlineAt);
  if (poll === null || answer?.kind !== "no_output") return endsAt;
  return Math.max(endsAt, Math.min(answer.since + 10 * MINUTE, overtimeEnd(deadlineAt, poll)));
}

/** Returns the time past its deadline at which a task ends although its output is still awaited, in Unix milliseconds. */
export function overtimeEnd(deadlineAt: number, { attachedAt }: PollPlan): number {
  return Math.max(deadlineAt, attachedAt) + 6 * HOUR;
}

/**
 * Returns the first time after `time` for which a poll is planned; Unix milliseconds.
 * @param endedAt end of the last poll: only hooks cause polls at times before it.
 */
export function plannedPollTime(
  task: OpenTask,
  plan: PollPlan,
  setting: PollSetting,
  time: number,
  endedAt = -Infinity,
): number {
  const { postponedTo, hint, answer, notBefore } = plan;
  const hinted = HINT_WAITS_MS.map((waitMs) => (hint?.at ?? -Infinity) + waitMs);
  const since = answer?.kind === "no_output" ? answer.since : -Infinity;
  const sequence = NO_OUTPUT_WAITS_MS.map((waitMs) => since + waitMs);
  const after = Math.max(time, endedAt);
  const moved =
    postponedTo !== null && postponedTo > after
      ? postponedTo
      : gridTime(task.id, plan, setting, after);
  const planned = sequence.find((each) => each > after) ?? moved;
  const canceled = cancelPollTimes(task);
  const others = [notBefore, ...hinted, ...canceled].filter((each) => each > time);
  return Math.min(planned, ...others);
}

/**
 * Tells whether a client's read has taken the place of a deferred poll: no poll was planned between the two.
 * @param readAt time of the latest read in Unix milliseconds; -Infinity for none.
 */
export function isReplacedByRead(
  task: OpenTask,
  setting: PollSetting,
  readAt: number,
  deferredAt: number,
): boolean {
  const { poll: plan } = task.tracking;
  if (plan === null || readAt === -Infinity || endTime(task) <= deferredAt) return false;
  return plannedPollTime(task, { ...plan, notBefore: 0 }, setting, readAt) > deferredAt;
}

/**
 * Tells whether a poll must not wait behind others: a hook has claimed the end of the job, or the upstream has answered
 * to a cancellation, in the last two minutes, or the task ends with this poll.
 */
export function isUrgentAt(task: OpenTask, { hint }: PollPlan, now: number): boolean {
  const isHinted = hint !== null && hint.at >= now - 2 * MINUTE;
  return now >= endTime(task) || isHinted || cancelAnsweredAt(task) >= now - 2 * MINUTE;
}

/** Returns the first time after `time` at which a poll becomes urgent; Infinity for none. Unix milliseconds. */
export function urgentTime(task: OpenTask, { hint }: PollPlan, time: number): number {
  const hinted = HINT_WAITS_MS.map((waitMs) => (hint?.at ?? -Infinity) + waitMs);
  const urgent = [...hinted, ...cancelPollTimes(task), endTime(task)];
  return Math.min(Infinity, ...urgent.filter((each) => each > time));
}

/** Returns the first time after `time` at which the age of the job alone causes a poll; Unix milliseconds. */
function gridTime(
  id: string,
  { attachedAt, hookWaitMs }: PollPlan,
  { limits, lateness }: PollSetting,
  time: number,
): number {
  const gapMs = limits?.gapMs ?? 0;
  const stretch = 0.95 + hashOf(id) / 0xffffffff / 10;
  const waitsForHook = hookWaitMs !== null && hookWaitMs !== 0;
  const shortestMs = Math.max(waitsForHook ? MINUTE : 2 * SECOND, gapMs);
  const longestMs = Math.max(Math.round(30 * MINUTE * stretch), shortestMs);
  const firstMs = Math.round((waitsForHook ? hookWaitMs : 4 * SECOND) * stretch);
  let ageMs = Math.max(firstMs, 2 * SECOND, gapMs);
  while (attachedAt + ageMs <= time) {
    let waitMs = 150 * SECOND * lateness;
    if (ageMs < 150 * SECOND) waitMs = ageMs * lateness;
    if (ageMs >= 10 * MINUTE) waitMs = (ageMs / 4) * lateness;
    waitMs = Math.round(Math.min(waitMs, 30 * MINUTE) * stretch);
    ageMs += Math.max(waitMs, shortestMs);
    // From then on no wait differs from the one before.
    const missingMs = time - attachedAt - ageMs;
    if (waitMs >= longestMs && missingMs >= 0) ageMs += missingMs - (missingMs % longestMs);
  }
  return attachedAt + ageMs;
}
