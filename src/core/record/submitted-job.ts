import { addressedConnection, type TaskRecord } from "./task.ts";
import type { AttachedJob } from "./upstream.ts";

/**
 * Returns the job that the upstream has named in its answer to the submission of a task; clients can read this job
 * through the relay. Null when the relay has not submitted the job, or only a hook has named it so far.
 */
export function submittedJobOf({ submission, upstream }: TaskRecord): AttachedJob | null {
  if (submission?.state.kind !== "accepted" || submission.state.answeredAt === null) return null;
  if (upstream === null || upstream.job === null) return null;
  return { connection: upstream.connection, job: upstream.job };
}

/**
 * Returns a job of a task as clients name it: with the connection to which the task was addressed, from which a pool may
 * have sent the call to another one.
 */
export function asAddressed(record: TaskRecord, { connection, job }: AttachedJob): AttachedJob {
  return { connection: addressedConnection(record) ?? connection, job };
}
