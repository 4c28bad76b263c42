import { changed, type Decision, unchanged } from "./decision.ts";
import type { PollEndedEvent } from "./event.ts";
import { attachJob } from "./hooks.ts";
import { endPoll, extendDeadline, waitNamedIn } from "./polling.ts";
import type { Policy } from "../policy.ts";
import { askedLater, unknownOutcomeOf } from "../record/submission.ts";
import { isOpen, nextVersion, type OpenTask, type TaskRecord } from "../record/task.ts";
import { keptJobIds, withoutKeptJob } from "../record/tracking.ts";

/**
 * Returns the effect of a poll of a job that only a hook has named. Such a poll is made at the deadline, or earlier
 * when the outcome of the task's submission is unknown. If the answer names the task, the job is attached, and the
 * answer counts like the answer to the final poll of an attached job. If the provider refuses the poll by a rate limit,
 * the deadline is extended, at most once. After any other answer the stored hooks about this job are removed; but while
 * the outcome of the task's submission is unknown, the job is polled again instead, until the task fails. An answer
 * about a job that no stored hook names is ignored, because it is about an earlier task with the same id.
 */
export function endKeptJobPoll(
  record: TaskRecord | null,
  event: PollEndedEvent,
  policy: Policy,
  now: number,
): Decision {
  if (record === null || !isOpen(record) || record.upstream === null) return unchanged(record);
  const { upstream, tracking } = record;
  const { answer, job } = event;
  // The job may have been attached while the poll was under way. The answer, e.g. a wait that it names, then counts.
  if (upstream.job !== null) return endPoll(record, event, policy, now);
  if (!keptJobIds(tracking).includes(job.id)) return unchanged(record);
  if (answer.kind === "deferred") return unchanged(record);
  if (answer.kind === "news") {
    // A submission has no other way to learn of its job than a hook, so hooks come.
    const isHookExpected = record.submission !== null;
    const attached = attachJob(record, { ...upstream, job }, isHookExpected, policy, now);
    return endPoll(attached, event, policy, now);
  }
  return isOutdated(record, event) ? unchanged(record) : changed(unproven(record, event, now));
}

/**
 * Tells whether a poll was made because the outcome of the submission was unknown, and the outcome has become known
 * during the poll. If the answer to such a poll brings no news, it has no effect, except at the deadline.
 */
function isOutdated({ submission, deadlineAt }: OpenTask, { askedAt }: PollEndedEvent): boolean {
  return unknownOutcomeOf(submission) === null && askedAt < deadlineAt;
}

/**
 * Returns the task after the poll of a job that only a hook has named, if the answer has not shown that the job belongs
 * to the task.
 */
function unproven(record: OpenTask, { answer, job }: PollEndedEvent, now: number): OpenTask {
  const { submission, tracking } = record;
  const unknown = unknownOutcomeOf(submission);
  if (submission !== null && unknown !== null) {
    const waitMs = waitNamedIn(answer) ?? 0;
    return { ...record, submission: { ...submission, state: askedLater(unknown, waitMs, now) } };
  }
  if (answer.kind === "limited" && !tracking.isExtended) return extendDeadline(record, now);
  const version = nextVersion(record, now);
  return { ...record, version, tracking: withoutKeptJob(tracking, job) };
}
