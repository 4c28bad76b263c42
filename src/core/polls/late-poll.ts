import type { Policy } from "../policy.ts";
import { isTimedOut, NOTHING_LATE } from "../record/late-job.ts";
import type { TerminalTask } from "../record/task.ts";
import { DAY_MS, HOUR_MS, MINUTE_MS } from "../time.ts";
import { canPoll } from "./next-poll.ts";

/** Times from the end of a task that has failed at its deadline to the polls of its job, in milliseconds. */
const POLL_WAITS_MS = [HOUR_MS, DAY_MS];
/**
 * Times from an unverified hook that claims the success of a failed task to the polls that this hook causes,
 * in milliseconds.
 */
const HINT_WAITS_MS = [0, 2 * MINUTE_MS];
/** Shortest time between two unverified hooks about one failed task that cause polls, in milliseconds. */
const HINT_PAUSE_MS = HOUR_MS;

/**
 * Time in milliseconds after which a planned poll counts as made. Other work of the task, such as its erasure,
 * would otherwise begin with a poll that an earlier instance has made long ago.
 */
const MADE_AFTER_MS = DAY_MS;

/**
 * Returns the time of the next poll, after `policy.polledAt`, of the job of a task that has failed at its
 * deadline. The job is polled an hour and a day after the failure, and after an unverified hook that claims
 * success. Null when no poll is planned any more.
 */
export function latePollAt(task: TerminalTask, policy: Policy): number | null {
  const { finishedAt, upstream, failure } = task;
  const { hintAt, resultAt } = task.late ?? NOTHING_LATE;
  if (upstream?.job == null || finishedAt === null || resultAt !== null) return null;
  if (failure?.category !== "timeout" || !isTimedOut(task)) return null;
  const times = [
    ...POLL_WAITS_MS.map((waitMs) => finishedAt + waitMs),
    ...(hintAt === null ? [] : HINT_WAITS_MS.map((waitMs) => hintAt + waitMs)),
  ];
  // An instance that has just begun does not know which polls earlier ones have made.
  const madeUntil = Math.max(policy.polledAt, policy.indexTriedAt - MADE_AFTER_MS);
  const plannedAt = Math.min(...times.filter((time) => time > madeUntil));
  const isInTime = plannedAt < task.expiresAt && canPoll(task, policy, plannedAt);
  return isInTime ? plannedAt : null;
}

/**
 * Applies an unverified hook that claims the success of the job: the job is polled now and two minutes later.
 * Returns the same record within an hour of the last such hook, so that a sender who knows the hook URL can
 * cause only a few polls.
 */
export function withLateHint(task: TerminalTask, { polledAt }: Policy, now: number): TerminalTask {
  const { hintAt, resultAt } = task.late ?? NOTHING_LATE;
  if (hintAt !== null && now < hintAt + HINT_PAUSE_MS) return task;
  return { ...task, late: { hintAt: Math.max(now, polledAt + 1), resultAt } };
}
