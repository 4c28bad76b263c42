import type { Policy } from "../policy.ts";
import type { OpenTask } from "../record/task.ts";
import { keptJobIds } from "../record/tracking.ts";
import type { AttachedJob } from "../record/upstream.ts";
import { canPoll } from "./next-poll.ts";

/**
 * Returns a job to poll at the deadline of a task to which no job was attached, together with its connection. It is
 * the job that the latest stored hook names. Null when no stored hook names a job. Null also when the provider's
 * answers do not show for which task a job was submitted, because a forged hook could then bring the result of
 * another task's job.
 */
export function keptJobToAsk(task: OpenTask, policy: Policy): AttachedJob | null {
  if (task.upstream?.job !== null) return null;
  const { connection } = task.upstream;
  const isNamed = policy.polls.get(connection)?.isTaskNamed === true;
  if (!isNamed || !canPoll(task, policy, task.deadlineAt)) return null;
  const id = keptJobIds(task.tracking).at(-1);
  return id === undefined ? null : { connection, job: { id, endpoint: null } };
}
