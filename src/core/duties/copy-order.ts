import type { Policy } from "../policy.ts";
import { sealedKeyOf, type SealedKey } from "../record/customer-key.ts";
import {
  orderedOutputs,
  type Output,
  type Outputs,
  storedOutputs,
  unconfirmedDeletions,
} from "../record/outputs.ts";
import { isTerminal, type TaskRecord, type TerminalTask } from "../record/task.ts";
import { proofOf, type Provable, type StoredFile } from "../record/upstream.ts";
import type { Duty } from "./duty.ts";
import { mayDelayClient } from "./operator-notice-send.ts";

/**
 * The outputs of one task that the relay keeps, in the form in which the Durable Object that makes and deletes the copies
 * (objects/output) gets them.
 */
export interface KeptOutputs {
  readonly taskId: string;
  /**
   * Creation time of the task's record, in Unix milliseconds. Tasks with the same id differ in it
   * (`TaskRecord.recordedAt`).
   */
  readonly recordedAt: number;
  /** Time at which the copies are deleted, in Unix milliseconds. */
  readonly expiresAt: number;
  readonly outputs: readonly Pick<Output, "number">[];
}

/** An output in an order to copy the outputs of a task. */
export interface OrderedOutput extends Pick<Output, "number" | "source"> {
  /** The file, if it is in the bucket already. Absent when the output is still to be copied. */
  readonly stored?: StoredFile;
}

/** An order to copy the outputs of a task that has completed, and to delete the copies of outputs that were deleted. */
export interface CopyOrder extends KeptOutputs, Provable {
  readonly outputs: readonly OrderedOutput[];
  /** Numbers of the outputs whose copies are deleted, and are never made afterwards. */
  readonly deleted: readonly number[];
  /** Origin of the relay as the creator of the task addressed it. */
  readonly origin: string;
  /** Id of the account that owns the task; null when no account does. */
  readonly account: string | null;
  /** Name of the connection to the provider; null when the task names none. */
  readonly connection: string | null;
  /** Key of the customer with which the job was submitted, encrypted. Null when there is no such key. */
  readonly customerKey: SealedKey | null;
}

export interface CopyStep {
  readonly kind: "orderCopies";
  readonly order: CopyOrder;
}

/**
 * Time in milliseconds that must lie between an order and a planned attempt of the callback. With less time the order is
 * not sent, because waiting for its answer could delay the attempt.
 */
const CLEARANCE_MS = 2_500;

/**
 * Returns the order to copy the outputs of a task, or to delete copies. It is repeated until the object that copies
 * outputs has accepted it. The first order does not come from this duty: after the result it is sent at the same time as
 * the first attempt of the callback (`firstOrderOf`), and after a deletion by the request that deletes. Null when nothing
 * is to be ordered, and when an attempt of the callback is planned so soon that the order could delay it.
 */
export function orderCopies(record: TaskRecord, policy: Policy): Duty<CopyStep> | null {
  if (!isTerminal(record)) return null;
  const { outputs } = record;
  if (outputs === null || outputs.order === null) return null;
  const { retryAt } = outputs.order;
  if (retryAt >= outputs.expiresAt || mayDelayClient(record, policy, retryAt, CLEARANCE_MS)) {
    return null;
  }
  return { dueAt: retryAt, step: () => ({ kind: "orderCopies", order: orderOf(record, outputs) }) };
}

/** Returns the order to copy the outputs of a task that has ended by this change. Null for any other change. */
export function firstOrderOf(before: TaskRecord | null, after: TaskRecord): CopyOrder | null {
  if (!isTerminal(after) || (before !== null && isTerminal(before))) return null;
  const { outputs } = after;
  return outputs === null || outputs.order === null ? null : orderOf(after, outputs);
}

/** Returns the outputs whose copies are deleted before the task is erased. Null when the relay has made no copies. */
export function outputsToDelete(record: TaskRecord): KeptOutputs | null {
  if (!isTerminal(record) || record.outputs === null) return null;
  const outputs = storedOutputs(record.outputs).map(({ number }) => ({ number }));
  return outputs.length === 0 ? null : { ...placeOf(record, record.outputs), outputs };
}

/**
 * Returns the order to copy those outputs of a task that are still to be copied, to keep the files that were in the
 * answer, and to delete the copies of deleted outputs. One order says all of it, because none before it may have reached
 * the object that makes the copies.
 */
export function orderOf(record: TerminalTask, outputs: Outputs): CopyOrder {
  return {
    ...placeOf(record, outputs),
    outputs: orderedOutputs(outputs).map(({ number, source, state }) =>
      state.kind === "kept" ? { number, source, stored: fileOf(state) } : { number, source },
    ),
    deleted: unconfirmedDeletions(outputs),
    origin: record.origin,
    account: record.account?.id ?? null,
    connection: record.upstream?.connection ?? null,
    customerKey: sealedKeyOf(record),
    ...proofOf(outputs),
  };
}

function fileOf({ bytes, mediaType }: StoredFile): StoredFile {
  return { bytes, mediaType };
}

function placeOf({ id: taskId, recordedAt }: TerminalTask, { expiresAt }: Outputs) {
  return { taskId, recordedAt, expiresAt };
}
