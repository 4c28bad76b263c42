import { sealedKeyOf, type SealedKey } from "../record/customer-key.ts";
import type { OutputState } from "../record/outputs.ts";
import { isTerminal, type TaskRecord } from "../record/task.ts";
import { proofOf, type Provable } from "../record/upstream.ts";

/** Facts by which an output is fetched from its upstream when it has a link of the relay, but the relay has no copy. */
export interface OutputPlace extends Provable {
  readonly taskId: string;
  /** The upstream's own link to the output. Null for a file that was in the upstream's answer. */
  readonly source: string | null;
  readonly state: OutputState;
  /** Time at which the task ended, in Unix milliseconds. */
  readonly endedAt: number;
  /** Origin of the relay as the creator of the task addressed it. */
  readonly origin: string;
  /** Name of the connection to the provider; null when the task names none. */
  readonly connection: string | null;
  /**
   * Key of the customer with which the job was submitted, encrypted. Null when the job was not submitted with such a
   * key, and when the key is no longer stored.
   */
  readonly customerKey: SealedKey | null;
}

/**
 * Returns from where an output of a task can be fetched. Null when the task has no such output with a link of the
 * relay.
 * @param recordedAt creation time of the task's record as the relay's link states it, which differs between tasks with
 * the same id.
 */
export function outputPlaceOf(
  record: TaskRecord | null,
  recordedAt: number,
  number: number,
): OutputPlace | null {
  if (record === null || !isTerminal(record) || record.recordedAt !== recordedAt) return null;
  const output = record.outputs?.list.find((one) => one.number === number);
  if (output === undefined) return null;
  const { source, state } = output;
  return {
    taskId: record.id,
    source,
    state,
    endedAt: record.finishedAt,
    origin: record.origin,
    connection: record.upstream?.connection ?? null,
    customerKey: sealedKeyOf(record),
    ...proofOf(record.outputs ?? {}),
  };
}
