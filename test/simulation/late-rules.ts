import type { HookEvent } from "../../src/core/events/event.ts";
import type { TerminalTask } from "../../src/core/record/task.ts";
import { CONNECTION, DAY, HOUR, MINUTE, SECOND } from "../core/builders.ts";
import { type Change, firstViolation, isEqual } from "./change.ts";
import { isProven, storedResult, SUBMIT_UNKNOWN_CONTENT, TIMEOUT_CONTENT } from "./end-rules.ts";
import type { OutsideEvent } from "./moves.ts";
import type { Setting } from "./setting.ts";

/** Longest time of one poll in milliseconds; a poll must not delay an attempt by it. */
const POLL_MS = 26 * SECOND;

/** Returns whether a task has failed at its deadline and its job may still bring a result. */
export function isWaitingLate(task: TerminalTask): boolean {
  const { content } = storedResult(task);
  const isTimedOut = content === TIMEOUT_CONTENT || content === SUBMIT_UNKNOWN_CONTENT;
  return isTimedOut && task.upstream?.job != null && (task.late?.resultAt ?? null) === null;
}

/**
 * Returns the latest time of the next poll of a task that has failed at its deadline; Infinity when no
 * poll is due. In Unix milliseconds.
 * @param ownAt time at which the task's refund, attempt or erasure is due.
 * @param deferredTo time until which the connection has deferred the last poll; 0 when it has not.
 */
export function lateDueTime(
  task: TerminalTask,
  setting: Setting,
  now: number,
  ownAt: number,
  deferredTo: number,
): number {
  if (!isWaitingLate(task) || setting.isPaused || !canAsk(task, setting, now)) return Infinity;
  const endedAt = task.finishedAt ?? Infinity;
  const hintAt = task.late?.hintAt ?? Infinity;
  const times = [endedAt + HOUR, endedAt + DAY, hintAt, hintAt + 2 * MINUTE];
  const at = Math.min(...times.filter((time) => time > now));
  // After a step of the clock back, a poll counts as made no earlier than the last change.
  const isClear = Math.max(at, task.version, deferredTo) <= ownAt - POLL_MS;
  return canAsk(task, setting, at) && isClear ? at : Infinity;
}

/** Returns whether this event proves that a task which has failed without a result has succeeded. */
export function mayTell(
  task: TerminalTask,
  event: OutsideEvent,
  setting: Setting,
  now: number,
): boolean {
  if (event.type === "hook") return mayHookTell(task, event, setting, now);
  const isOwn = event.type === "submit_ended" && event.submissionId === task.submission?.id;
  if (!isOwn || event.outcome.kind !== "result") return false;
  return event.outcome.news.status === "completed";
}

function mayHookTell(task: TerminalTask, hook: HookEvent, setting: Setting, now: number) {
  if (task.submission?.id !== hook.submissionId) return false;
  const { news, jobId, connection } = hook;
  const job = task.upstream?.job ?? null;
  const isOwn = task.upstream?.connection === connection && connection === CONNECTION;
  const isNamed = job === null || jobId === null || jobId === job.id;
  return (
    news.status === "completed" &&
    isOwn &&
    isNamed &&
    (isProven(task, hook) || !canAsk(task, setting, now))
  );
}

/** Checks which fields change when the job of a failed task brings its result. */
export function lateFault(
  before: TerminalTask,
  after: TerminalTask,
  { history, setting, now }: Pick<Change, "history" | "setting" | "now">,
): string | null {
  const isNews = before.late?.resultAt == null && after.late?.resultAt === now;
  const isStill = before.late?.resultAt === after.late?.resultAt || isNews;
  const isJobSame = isEqual(before.upstream, after.upstream) && isSubmissionSame(before, after);
  const isUsageSame = isEqual(before.usage, after.usage);
  const notices = after.notices.filter(({ kind }) => kind === "task.late_result");
  return firstViolation({
    "a late result is known once": isStill || before.late === null,
    "a late result is proven": !isNews || history.isLateProven,
    "the operator gets one notice of a late result":
      notices.length <= 1 && (!isNews || (notices.length === 1) === setting.isOperatorNotified),
    "a late result leaves the retention": !isNews || before.expiresAt === after.expiresAt,
    "a late result has a new version when it states what the job has consumed or names the job":
      !isNews || (before.version === after.version) === (isUsageSame && isJobSame),
    "what the job has consumed becomes known at its end or with a late result":
      isNews || isUsageSame,
  });
}

function isSubmissionSame(before: TerminalTask, after: TerminalTask): boolean {
  return before.submission?.state.kind === after.submission?.state.kind;
}

/** Returns whether the job of a failed task can be polled at this time. */
export function canAsk({ createdAt }: TerminalTask, { limits }: Setting, now: number): boolean {
  return limits !== null && (limits.maxAgeMs === null || now < createdAt + limits.maxAgeMs);
}
