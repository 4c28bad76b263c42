import type { Policy, PollLimits } from "../policy.ts";
import { unknownOutcomeOf } from "../record/submission.ts";
import type { OpenTask } from "../record/task.ts";
import { keptJobIds } from "../record/tracking.ts";
import type { AttachedJob } from "../record/upstream.ts";
import { canPoll } from "./next-poll.ts";
import { limitsOf } from "./task-poll-limits.ts";

/**
 * Returns a job to poll for a task to which no job was attached, together with its connection. It is the job that the
 * latest stored hook names. Null when no stored hook names a job. Null also when the provider's answers do not show for
 * which task a job was submitted, because a forged hook could then bring the result of another task's job. The hook URL
 * of a submission is known to the upstream alone, so there the model and the creation of the job are enough.
 */
export function keptJobToAsk(task: OpenTask, policy: Policy): AttachedJob | null {
  if (task.upstream?.job !== null) return null;
  const { connection } = task.upstream;
  const askAt = unknownOutcomeOf(task.submission)?.askAt ?? task.deadlineAt;
  if (!isProvable(task, limitsOf(task, policy)) || !canPoll(task, policy, askAt)) return null;
  const id = keptJobIds(task.tracking).at(-1);
  const endpoint = task.submission?.endpoint ?? null;
  return id === undefined ? null : { connection, job: { id, endpoint } };
}

/** Tells whether an answer to a poll can show that a job belongs to the task. */
function isProvable({ submission }: OpenTask, limits: PollLimits | null): boolean {
  if (limits === null) return false;
  return limits.isTaskNamed || (submission !== null && limits.isCreationStated);
}
