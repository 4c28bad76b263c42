import type { Policy } from "../policy.ts";
import { isOpen, type TaskRecord } from "../record/task.ts";
import { finalPollAt } from "../polls/next-poll.ts";
import { askKeptJob } from "./ask-kept-job.ts";
import type { Duty, EventStep } from "./duty.ts";
import { poll } from "./poll.ts";

/**
 * Fails an open task at its deadline with `upstream_timeout`; the refund and the callback follow
 * (`finishAtDeadline` in events/finish.ts). A task that can be polled is polled a final time at its deadline
 * (duties/poll.ts); the answer ends the task or extends the deadline once (events/polling.ts).
 */
export function passDeadline(record: TaskRecord, policy: Policy): Duty<EventStep> | null {
  if (!isOpen(record) || poll(record, policy) !== null) return null;
  if (askKeptJob(record, policy) !== null) return null;
  return {
    dueAt: finalPollAt(record),
    step: () => ({ kind: "event", event: { type: "deadline" } }),
  };
}
