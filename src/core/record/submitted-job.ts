import type { TaskRecord } from "./task.ts";
import type { AttachedJob } from "./upstream.ts";

/**
 * Returns the job that the upstream's answer to the submission of a task has named. By its id clients read the job through
 * the relay. Null for a task whose job the relay has not submitted, and while nothing but a hook has named the job.
 */
export function submittedJobOf({ submission, upstream }: TaskRecord): AttachedJob | null {
  if (submission?.state.kind !== "accepted" || submission.state.answeredAt === null) return null;
  if (upstream === null || upstream.job === null) return null;
  return { connection: upstream.connection, job: upstream.job };
}
