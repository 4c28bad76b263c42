import { ASSUMED, gbMonths, OBJECT_GB, type Usage } from "./usage.ts";

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
} as const;

/** Calls of the bucket with which a request for a copy or for a part of it is answered. */
export const CALLS_PER_READ = 1;
/** Size of a part (src/objects/output/store-copy.ts), in MB. */
const PART_MB = (8 * 1024 * 1024) / 1e6;

/** Returns what the outputs of one task use, without what the task uses itself. */
export function outputUsage(use: OutputUse): Usage {
  const { outputs, outputMb, outputDays, outputReads } = use;
  if (outputs === 0) return {};
  const { objectRequests } = COPYING.task;
  const copyS = outputs * (outputMb / ASSUMED.copyMbPerSecond);
  const seconds = objectRequests * ASSUMED.secondsPerObjectRequest + copyS;
  const reads = outputs * outputReads;
  return {
    workerRequests: reads,
    cpuMs: reads * ASSUMED.cpuMsPerRequest,
    objectRequests,
    durationGbS: seconds * OBJECT_GB,
    rowsWritten: rowsOf(use),
    objectGbMonths: gbMonths(ASSUMED.objectBytes, outputDays),
    r2ClassA: outputs * writesOf(use),
    r2ClassB: reads * CALLS_PER_READ,
    r2GbMonths: outputs * gbMonths(outputMb * 1e6, outputDays),
  };
}

function rowsOf({ outputs, outputMb, isChunked }: OutputUse): number {
  const isParted = isChunked && outputMb >= PART_MB;
  const more = isParted ? COPYING.chunkedOutput.rowsWritten : 0;
  return COPYING.task.rowsWritten + outputs * (COPYING.output.rowsWritten + more);
}

/** Returns how many billed calls store one output: one, or one for each part, and two that begin and end an upload. */
export function writesOf({ outputMb, isChunked }: Pick<OutputUse, "outputMb" | "isChunked">) {
  return isChunked && outputMb >= PART_MB ? Math.ceil(outputMb / PART_MB) + 2 : 1;
}
