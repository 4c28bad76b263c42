import type { Policy } from "../policy.ts";
import { NOTHING_LATE } from "../record/late-job.ts";
import { isTimedOut } from "../plans/late-result.ts";
import type { TerminalTask } from "../record/task.ts";
import { DAY_MS, HOUR_MS, MINUTE_MS } from "../time.ts";
import { canPoll } from "./next-poll.ts";

/**
 * Times at which the job of a task that has failed at its deadline is polled, in milliseconds after the end of the
 * task.
 */
const POLL_WAITS_MS = [HOUR_MS, DAY_MS];
/**
 * Times of polls of a failed task's job, in milliseconds after an unverified hook that has claimed the success of this
 * job.
 */
const HINT_WAITS_MS = [0, 2 * MINUTE_MS];
/**
 * Time in milliseconds for which further unverified hooks cause no polls of a failed task's job, after one of them has
 * caused polls.
 */
const HINT_PAUSE_MS = HOUR_MS;

/**
 * Time in milliseconds after which a planned poll counts as made. Without this limit, a task's object that was
 * restarted would make an old poll again before other work of the task, e.g. its erasure.
 */
const MADE_AFTER_MS = DAY_MS;

/**
 * Returns the time of the next poll of the job of a task that has failed at its deadline, in Unix milliseconds. Such a
 * job is polled an hour and a day after the failure, and after an unverified hook that claims success. The returned
 * time is later than `policy.polledAt`, up to which planned polls have been made. Null when no further poll is planned.
 */
export function latePollAt(task: TerminalTask, policy: Policy): number | null {
  const times = plannedTimes(task);
  // An instance of the object that has just started does not know which polls earlier instances have made.
  const madeUntil = Math.max(policy.polledAt, policy.indexTriedAt - MADE_AFTER_MS);
  const plannedAt = Math.min(...times.filter((time) => time > madeUntil));
  return isInTime(task, policy, plannedAt) ? plannedAt : null;
}

/**
 * Returns the time of the last planned poll of the job of a task that has failed at its deadline, whether this poll has
 * been made or not. Null when no poll is planned.
 */
export function lastLatePollAt(task: TerminalTask, policy: Policy): number | null {
  const times = plannedTimes(task).filter((time) => isInTime(task, policy, time));
  return times.length === 0 ? null : Math.max(...times);
}

/**
 * Returns the times for which polls of the job of a failed task are planned. There are none when such polls can find
 * nothing new.
 */
function plannedTimes(task: TerminalTask): readonly number[] {
  const { finishedAt, upstream, failure } = task;
  const { hintAt, resultAt } = task.late ?? NOTHING_LATE;
  if (upstream?.job == null || resultAt !== null) return [];
  if (failure?.category !== "timeout" || !isTimedOut(task)) return [];
  return [
    ...POLL_WAITS_MS.map((waitMs) => finishedAt + waitMs),
    ...(hintAt === null ? [] : HINT_WAITS_MS.map((waitMs) => hintAt + waitMs)),
  ];
}

/** Tells whether a poll of a failed task's job can still be made at the time for which it is planned. */
function isInTime(task: TerminalTask, policy: Policy, plannedAt: number): boolean {
  return plannedAt < task.expiresAt && canPoll(task, policy, plannedAt);
}

/**
 * Returns the record of a failed task after an unverified hook that claims the success of its job: the job is polled
 * now and two minutes later. If such a hook has caused polls within the last hour, the same record is returned, so that
 * a sender who knows the hook URL can cause only a few polls.
 */
export function withLateHint(task: TerminalTask, { polledAt }: Policy, now: number): TerminalTask {
  const { hintAt, resultAt } = task.late ?? NOTHING_LATE;
  if (hintAt !== null && now < hintAt + HINT_PAUSE_MS) return task;
  return { ...task, late: { hintAt: Math.max(now, polledAt + 1), resultAt } };
}
