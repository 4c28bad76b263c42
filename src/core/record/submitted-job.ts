import { addressedName, type TaskRecord } from "./task.ts";
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
 * Returns the submitted job of a task as clients ask for it: with the name of the connection to which it was submitted,
 * which may be a pool. Null when `submittedJobOf` returns null.
 */
export function askedJobOf(record: TaskRecord): AttachedJob | null {
  const submitted = submittedJobOf(record);
  return submitted && { ...submitted, connection: addressedName(record, submitted) };
}

/**
 * Returns all jobs of a task that are known to be the task's by their ids, as clients ask for them: the present one and
 * those that have failed.
 */
export function namedJobsOf(record: TaskRecord): readonly AttachedJob[] {
  const asked = askedJobOf(record);
  const failed = record.submission?.failedJobs ?? [];
  const others = failed.map(({ connection, job }) => {
    return { connection: addressedName(record, { connection, job }), job };
  });
  return asked === null ? others : [...others, asked];
}
