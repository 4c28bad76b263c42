import { askingOf } from "../record/cancellation.ts";
import { type SealedKey, sealedKeyOf } from "../record/customer-key.ts";
import { isOpen, type TaskRecord } from "../record/task.ts";
import type { Job } from "../record/upstream.ts";
import type { Duty } from "./duty.ts";

/** A request to the upstream to cancel the job of a task. */
export interface Cancel {
  readonly taskId: string;
  /** Name of the connection to the provider. */
  readonly connection: string;
  readonly job: Job;
  /**
   * Key of the customer with which the job was submitted, encrypted. Null when it was submitted with the key of the
   * connection.
   */
  readonly customerKey: SealedKey | null;
  /** Time at which the task was created, in Unix milliseconds. */
  readonly createdAt: number;
  /** True when an earlier call of this cancellation got no answer. That call may have canceled the job. */
  readonly isRepeat: boolean;
}

export interface CancelStep {
  readonly kind: "cancelJob";
  readonly cancel: Cancel;
}

/**
 * Returns the next call that asks the upstream to cancel the job of an open task. events/cancel-end.ts applies the
 * answer. Null when the job is not being canceled. Null also when the task reaches its deadline before the next call. A
 * pause of the relay does not delay the call, because the call is neither a poll nor a callback.
 */
export function cancelJob(record: TaskRecord): Duty<CancelStep> | null {
  if (!isOpen(record) || record.cancellation === null || record.upstream === null) return null;
  const { cancellation, createdAt, id: taskId } = record;
  const { connection, job } = record.upstream;
  const asking = askingOf(cancellation);
  if (asking === null || job === null) return null;
  const { retryAt, tries } = asking;
  if (retryAt >= (cancellation.endsAt ?? Infinity)) return null;
  const customerKey = sealedKeyOf(record);
  const cancel = { taskId, connection, job, customerKey, createdAt, isRepeat: tries > 0 };
  return { dueAt: retryAt, step: () => ({ kind: "cancelJob", cancel }) };
}
