import type { Poll } from "../../src/core/duties/poll.ts";
import type { PollAnswer } from "../../src/core/events/event.ts";
import { isOpen, type OpenTask, type TaskRecord } from "../../src/core/record/task.ts";
import { sameJob } from "../../src/core/record/upstream.ts";
import { asideFault } from "./call-rules.ts";
import { firstViolation, isEqual } from "./change.ts";
import { isShown } from "./end-rules.ts";
import { isWaitingLate } from "./late-rules.ts";
import type { SharedState } from "./object-host.ts";
import { settingFor } from "./setting.ts";
import type { SimulatedObject } from "./simulated-object.ts";

/** Checks a poll of a job that is not attached to an open task. @param withinMs time limit of the poll. */
export function asidePollFault(
  poll: Poll,
  withinMs: number,
  { lastPoll }: SimulatedObject,
  shared: SharedState,
): string | null {
  const { limits, isPaused } = settingFor(shared.disk.durable.record, shared.setting);
  if (limits === null || isPaused) return "a poll needs a key and no pause";
  const isDeferred = lastPoll?.at === -Infinity && shared.now < lastPoll.turnAt;
  if (isDeferred) return "a poll that its connection has deferred waits for its turn";
  return poll.purpose === "kept_job"
    ? keptPollFault(poll, shared)
    : latePollFault(poll, withinMs, shared);
}

/** Returns whether an answer counts for the task as it is now. */
export function isAnswerAbout(record: TaskRecord, poll: Poll, answer: PollAnswer): boolean {
  // A late poll is about a task that has ended, perhaps an earlier one with the same id.
  if (!isOpen(record) || poll.purpose === "late_result") return false;
  const job = record.upstream?.job ?? null;
  const isKept = poll.purpose === "kept_job" && answer.kind === "news" && job === null;
  return isKept || sameJob(job, poll.job);
}

/** Returns whether a poll of a task that has failed at its deadline brings the success of its job. */
export function isLateSuccess({ purpose }: Poll, answer: PollAnswer): boolean {
  return purpose === "late_result" && answer.kind === "news" && answer.news.status === "completed";
}

/** Checks a poll of a job that only a hook has named. */
function keptPollFault(
  { job, submitted }: Poll,
  { disk, setting: given, now }: SharedState,
): string | null {
  const { record } = disk.durable;
  const setting = settingFor(record, given);
  if (record === null || !isOpen(record)) return "a kept job is asked for before its task ends";
  return firstViolation({
    "a kept job is asked for at the deadline of a task without a job, or after an unknown outcome":
      record.upstream?.job === null && now >= askTime(record),
    "no kept job is asked for while the call is under way":
      record.submission?.state.kind !== "sending",
    "a kept job is asked for where the answer names the task or shows the submission": isShown(
      record,
      setting,
    ),
    "a poll of a kept job states what was submitted, and when": isEqual(
      submitted,
      submittedOf(record),
    ),
    "a kept job has the endpoint of the submission":
      job.endpoint === (record.submission?.endpoint ?? null),
    "only a job that a hook has named is asked for": record.tracking.keptHooks.some(
      ({ jobId }) => jobId === job.id,
    ),
  });
}

/** Returns the time from which a job that only a hook has named is asked for; Infinity for no time. */
function askTime({ submission, deadlineAt }: OpenTask): number {
  const state = submission?.state ?? null;
  return state?.kind === "unknown" ? (state.askAt ?? Infinity) : deadlineAt;
}

/** Returns what a poll must state about the submission of a task; null without a submission. */
function submittedOf({ submission, model }: OpenTask): Poll["submitted"] {
  return submission && { id: submission.id, model, startedAt: submission.startedAt };
}

/** Checks a poll of a task that has failed at its deadline. */
function latePollFault({ job }: Poll, withinMs: number, shared: SharedState): string | null {
  const { record } = shared.disk.durable;
  if (record === null || record.status === "charging" || isOpen(record)) {
    return "a late poll follows the end of its task";
  }
  const { decidedAt } = shared;
  const isAsked = isWaitingLate(record) && sameJob(record.upstream?.job ?? null, job);
  return isAsked
    ? asideFault(record, decidedAt, withinMs, shared)
    : "a task that has timed out is asked about its job until the result is known";
}
