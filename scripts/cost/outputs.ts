import type { Meters } from "./lives.ts";
import { ASSUMED, gbMonths, OBJECT_GB, type Setting, type Usage, usageOf } from "./usage.ts";

/** The outputs (files) of each task that the relay keeps, and how they are read. */
export interface OutputUse {
  /** Number of outputs of a task. */
  readonly outputs: number;
  /** Size of an output in MB. */
  readonly outputMb: number;
  /** `OUTPUT_DAYS`: how long a copy is kept. */
  readonly outputDays: number;
  /** How often each copy is read. */
  readonly outputReads: number;
  /** True when the upstream states no length, so that a copy is stored in parts. */
  readonly isChunked: boolean;
  /** Rate at which an output comes from its upstream, while the object that copies it is awake. */
  readonly copyMbPerSecond: number;
}

/**
 * Consumption of the object that copies the outputs of a task, and of the report to the task's object, from the order to
 * the erasure of the task (test/outputs/copy-cost.test.ts counts it).
 */
export const COPYING = {
  /** For each task with outputs: the order, the alarm that copies, the report, the expiry and the erasure. */
  task: { objectRequests: 5, rowsWritten: 7 },
  /** For each output. */
  output: { rowsWritten: 2 },
  /** For each output that is stored in several parts: the id of its upload. */
  chunkedOutput: { rowsWritten: 1 },
  /**
   * For each task on a relay with an index: the report of the copies changes the row, and until then an entry says that
   * outputs are being copied (test/index/life-cost.test.ts).
   */
  indexed: { rowsWritten: 1, d1Written: 2, indexWrites: 1 },
} as const;

/**
 * Consumption of the deletion of all outputs of a task by `DELETE /v1/tasks/{id}/outputs`, on a relay with an index, for a
 * task with an account (test/outputs/copy-cost.test.ts counts the requests and the rows of objects).
 */
export const DELETION = {
  workerRequests: 1,
  objectRequests: 2,
  rowsWritten: 4,
  d1Written: 2,
} as const;

/** Calls of the bucket with which a request for a copy or for a part of it is answered. */
export const CALLS_PER_READ = 1;
/** Size of a part (src/objects/output/store-copy.ts), in MB. */
const PART_MB = (8 * 1024 * 1024) / 1e6;

/**
 * Returns the consumption that the outputs of one task add to it on a relay with an index: of the object that copies
 * them, and of those who read them.
 */
export function outputMeters(use: OutputUse): Meters {
  const { outputs, outputReads } = use;
  const none = { rowsRead: 0, d1Read: 0, logLines: 0, subrequests: 0, polls: 0, attempts: 0 };
  const { objectRequests } = COPYING.task;
  const { d1Written, indexWrites } = COPYING.indexed;
  const workerRequests = outputs * outputReads;
  return {
    ...none,
    workerRequests,
    objectRequests,
    rowsWritten: rowsOf(use),
    d1Written,
    indexWrites,
  };
}

/**
 * Returns what the outputs of one task use, without what the task uses itself.
 * @param meters consumption that is counted, which is another one for the tasks of accounts.
 */
export function outputUsage(
  use: OutputUse,
  meters: Meters = outputMeters(use),
  { isQueued }: Pick<Setting, "isQueued"> = { isQueued: false },
): Usage {
  const { outputs, outputMb, outputDays, outputReads, copyMbPerSecond } = use;
  if (outputs === 0) return {};
  const counted = usageOf(meters, { receiverMs: 0, isQueued });
  const copyGbS = outputs * (outputMb / copyMbPerSecond) * OBJECT_GB;
  return {
    ...counted,
    durationGbS: (counted.durationGbS ?? 0) + copyGbS,
    objectGbMonths: gbMonths(ASSUMED.objectBytes, outputDays),
    // The row of the task is there without them.
    d1GbMonths: 0,
    r2ClassA: outputs * writesOf(use),
    r2ClassB: outputs * outputReads * CALLS_PER_READ,
    r2GbMonths: outputs * gbMonths(outputMb * 1e6, outputDays),
  };
}

function rowsOf({ outputs, outputMb, isChunked }: OutputUse): number {
  const isParted = isChunked && outputMb >= PART_MB;
  const more = isParted ? COPYING.chunkedOutput.rowsWritten : 0;
  const { task, output, indexed } = COPYING;
  return task.rowsWritten + indexed.rowsWritten + outputs * (output.rowsWritten + more);
}

/** Returns how many billed calls store one output: one, or one for each part, and two that begin and end an upload. */
export function writesOf({ outputMb, isChunked }: Pick<OutputUse, "outputMb" | "isChunked">) {
  return isChunked && outputMb >= PART_MB ? Math.ceil(outputMb / PART_MB) + 2 : 1;
}
