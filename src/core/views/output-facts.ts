import { sealedKeyOf, type SealedKey } from "../record/customer-key.ts";
import { lifeOf, type OutputState } from "../record/outputs.ts";
import { isTerminal, type TaskRecord } from "../record/task.ts";

/** An output of a task, as the relay needs it to answer a request for its link. */
export interface OutputFacts {
  readonly taskId: string;
  readonly state: OutputState;
  /** The upstream's own link to the output. */
  readonly source: string;
  /** Origin of the relay as the creator of the task addressed it. */
  readonly origin: string;
  /** Name of the connection to the provider; null when the task names none. */
  readonly connection: string | null;
  /** Key of the customer with which the job was submitted, sealed; null when there is none, or none any more. */
  readonly customerKey: SealedKey | null;
  /** Time from which the life of the upstream's own link counts, in Unix milliseconds. */
  readonly endedAt: number;
}

/**
 * Returns what is known of an output for which the relay has a link. Null when there is none: the task does not exist, or is
 * another one under the same id.
 * @param recordedAt number that tells the task from others under the same id (`lifeOf` in record/outputs.ts).
 */
export function outputFacts(
  record: TaskRecord | null,
  recordedAt: number,
  number: number,
): OutputFacts | null {
  if (record === null || !isTerminal(record) || lifeOf(record) !== recordedAt) return null;
  const output = record.outputs?.list.find((one) => one.number === number);
  if (output === undefined) return null;
  const { state, source } = output;
  return {
    taskId: record.id,
    state,
    source,
    origin: record.origin,
    connection: record.upstream?.connection ?? null,
    customerKey: sealedKeyOf(record),
    endedAt: record.finishedAt ?? record.createdAt,
  };
}
