import type { Policy } from "../policy.ts";
import { isOpen, type TaskRecord } from "../record/task.ts";
import { finalPollAt } from "../polls/next-poll.ts";
import { askKeptJob } from "./ask-kept-job.ts";
import type { Duty, EventStep } from "./duty.ts";
import { poll } from "./poll.ts";
import { awaitsJob } from "./submission-wait.ts";

/**
 * Returns the step that fails an open task at its deadline with `upstream_timeout` (`finishAtDeadline` in
 * events/finish.ts). Null while a poll of the task's job is planned: then a final poll is made at the deadline instead
 * (duties/poll.ts), and its answer ends the task or extends the deadline once (events/polling.ts). Null also while it
 * is not known whether the submission has started a job (duties/submission-wait.ts).
 */
export function passDeadline(record: TaskRecord, policy: Policy): Duty<EventStep> | null {
  if (!isOpen(record) || poll(record, policy) !== null) return null;
  if (askKeptJob(record, policy) !== null || awaitsJob(record)) return null;
  return {
    dueAt: finalPollAt(record),
    step: () => ({ kind: "event", event: { type: "deadline" } }),
  };
}
