import { changed, type Decision, unchanged } from "./decision.ts";
import type { HookEvent, PollEndedEvent } from "./event.ts";
import type { Policy } from "../policy.ts";
import { withLateHint } from "../polls/late-poll.ts";
import { canPoll } from "../polls/next-poll.ts";
import { isLateResultKnown, isTimedOut, withLateResult } from "../plans/late-result.ts";
import type { TaskRecord, TerminalTask } from "../record/task.ts";
import { isAbout, sameJob } from "../record/upstream.ts";

/**
 * Tells whether a report says that the job has succeeded (with or without output) although its task has failed at its
 * deadline already. The task stays failed.
 */
export function isLateSuccess(
  record: TaskRecord | null,
  { status }: { readonly status: string },
): boolean {
  return (status === "completed" || status === "no_output") && isTimedOut(record);
}

/**
 * Returns the effect of a hook that arrives after the end of its task. The result of the task does not change. If
 * the task has failed at its deadline and the hook claims that its job has succeeded with output, the operator gets
 * a notice: at once when the hook is signed or the job cannot be polled, otherwise after a poll has confirmed the
 * success.
 */
export function applyLateHook(
  record: TerminalTask,
  { news, jobId, isSigned }: HookEvent,
  policy: Policy,
  now: number,
): Decision {
  if (!isLateSuccess(record, news)) return unchanged(record, "ignored");
  const job = record.upstream?.job ?? null;
  if (job !== null && !isAbout(job, jobId)) return unchanged(record, "other_job");
  if (news.status !== "completed" || isLateResultKnown(record)) {
    return unchanged(record, "late_result");
  }
  if (isSigned || !canPoll(record, policy, now)) {
    return changed(withLateResult(record, news, policy, now), "late_result");
  }
  const hinted = withLateHint(record, policy, now);
  const isPolled = job !== null && hinted !== record;
  return isPolled ? changed(hinted, "late_result") : unchanged(record, "late_result");
}

/**
 * Returns the effect of a poll that was made after its task had failed at the deadline. When the job has succeeded
 * after all, the operator gets a notice; the task stays failed.
 */
export function endLatePoll(
  record: TaskRecord | null,
  { job, answer }: PollEndedEvent,
  policy: Policy,
  now: number,
): Decision {
  if (answer.kind !== "news" || answer.news.status !== "completed") return unchanged(record);
  if (!isTimedOut(record) || !sameJob(record.upstream?.job ?? null, job)) return unchanged(record);
  if (isLateResultKnown(record)) return unchanged(record);
  return changed(withLateResult(record, answer.news, policy, now), "late_result");
}
