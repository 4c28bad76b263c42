import type { Policy } from "../policy.ts";
import { inputOf } from "../record/input-links.ts";
import { type CreatedTask, isOpen, type TaskRecord } from "../record/task.ts";
import { nextPoll } from "../polls/next-poll.ts";
import { isUrgent } from "../polls/next-poll.ts";
import type { PollPurpose } from "../events/event.ts";
import { type SealedKey, sealedKeyOf } from "../record/customer-key.ts";
import type { Submission } from "../record/submission.ts";
import type { AttachedJob, Job } from "../record/upstream.ts";
import type { Duty } from "./duty.ts";

/** A poll: one request that asks the upstream for the state of a job. */
export interface Poll {
  readonly taskId: string;
  /** Name of the connection to the provider. */
  readonly connection: string;
  readonly job: Job;
  /** Time at which the task was created, in Unix milliseconds. */
  readonly createdAt: number;
  /**
   * True when the poll is made before other polls of its connection if not all can be made now because of a limit. This
   * is the case when a hook has just claimed the end of the job, and when the task ends after this poll.
   */
  readonly isUrgent: boolean;
  readonly purpose: PollPurpose;
  /**
   * Key of the customer with which the upstream is asked, encrypted. Null when it is asked with the key of the
   * connection.
   */
  readonly customerKey: SealedKey | null;
  /**
   * Data of a submission, by which the poll of a job that only a hook has named can show that the job was started by
   * this submission: the answer must state the submission's model, and that the job was created no earlier than
   * `startedAt`, in Unix milliseconds. Null for any other poll, and for a task whose job the relay has not submitted.
   */
  readonly submitted: (Pick<Submission, "id" | "startedAt"> & { readonly model: string }) | null;
  /**
   * Digests of the links that the job got as input. They show when the upstream returns such a link among the outputs.
   * Absent when none are known.
   */
  readonly inputLinks?: readonly string[];
}

export interface PollStep {
  readonly kind: "poll";
  readonly poll: Poll;
}

/**
 * Returns the next poll of the task's job. Its time is planned in polls/next-poll.ts; events/polling.ts applies the
 * answer. Null when no poll is planned.
 */
export function poll(record: TaskRecord, policy: Policy): Duty<PollStep> | null {
  if (!isOpen(record) || record.upstream === null || record.tracking.poll === null) return null;
  const { upstream } = record;
  const { poll: plan } = record.tracking;
  const next = nextPoll(record, policy);
  if (next === null) return null;
  const { job, dueAt } = next;
  const step = (now: number): PollStep => {
    const asked = pollOf(record, { ...upstream, job });
    return { kind: "poll", poll: { ...asked, isUrgent: isUrgent(record, plan, now) } };
  };
  return { dueAt, step };
}

/** Returns a poll of the job that is attached to a task. The poll is not urgent. */
export function pollOf(
  { id: taskId, createdAt, submission }: CreatedTask,
  { connection, job }: AttachedJob,
): Poll {
  const customerKey = sealedKeyOf({ submission });
  const about = { taskId, connection, job, createdAt, customerKey, ...inputOf(submission) };
  return { ...about, submitted: null, isUrgent: false, purpose: "result" };
}
