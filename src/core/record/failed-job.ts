import type { FoundBy } from "./finding.ts";
import { isAbout, type Job, type UpstreamFailure, type Used } from "./upstream.ts";

/**
 * A job of a task that has failed at one member of a pool, after which the call of the submission was kept for another
 * member.
 */
export interface FailedJob {
  /** Name of the connection with which the job ran. */
  readonly connection: string;
  readonly job: Job;
  /** Number of the attempt that has started the job. */
  readonly attempt: number;
  /** Time at which the failure became known, in Unix milliseconds. */
  readonly at: number;
  /** Time and HTTP status of the answer with which the upstream had accepted the job. */
  readonly answeredAt: number | null;
  readonly statusCode: number | null;
  /** The failure as the upstream has stated it. It ends the task if no other member takes the call. */
  readonly news: UpstreamFailure & Used;
  readonly foundBy: FoundBy;
}

/** A submission, of which only the failed jobs are read. */
interface WithFailedJobs {
  readonly failedJobs?: readonly FailedJob[];
}

/**
 * Tells whether the job of this attempt, or of a later one, has failed, and the call was kept for another member. False
 * for undefined, i.e. for the present attempt.
 */
export function hasFailedSince(submission: WithFailedJobs, attempt: number | undefined): boolean {
  return submission.failedJobs?.some((failed) => failed.attempt >= (attempt ?? Infinity)) === true;
}

/** Tells whether a job that a submission has started with this connection has failed. */
export function hasFailedAt({ failedJobs = [] }: WithFailedJobs, connection: string): boolean {
  return failedJobs.some((failed) => failed.connection === connection);
}

/**
 * Tells whether a hook may be about a job of the task that has failed, and not about the present one. The hook URLs of
 * all jobs of a task are the same.
 * @param jobId id of the job that the hook names. Null when it names none.
 */
export function mayBeOfFailedJob(submission: WithFailedJobs | null, jobId: string | null): boolean {
  return submission?.failedJobs?.some(({ job }) => isAbout(job, jobId)) === true;
}
