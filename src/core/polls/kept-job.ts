import type { Policy } from "../policy.ts";
import type { OpenTask } from "../record/task.ts";
import { keptJobIds } from "../record/tracking.ts";
import type { AttachedJob } from "../record/upstream.ts";
import { canPoll } from "./next-poll.ts";

/**
 * Returns the job to poll at the deadline of a task to which no job was attached, with its connection: the last
 * of `keptJobIds`, the jobs that stored hooks name. Null when there is none, or when the provider's answers do
 * not show for which task a job was submitted: whoever knows a hook URL could then name the job of another task.
 */
export function keptJobToAsk(task: OpenTask, policy: Policy): AttachedJob | null {
  if (task.upstream?.job !== null) return null;
  const { connection } = task.upstream;
  const isNamed = policy.polls.get(connection)?.isTaskNamed === true;
  if (!isNamed || !canPoll(task, policy, task.deadlineAt)) return null;
  const id = keptJobIds(task.tracking).at(-1);
  return id === undefined ? null : { connection, job: { id, endpoint: null } };
}
