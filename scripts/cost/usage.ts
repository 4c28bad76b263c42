import { ANSWER_WAIT_MS } from "../../src/core/policy.ts";
import type { Meters } from "./lives.ts";
import { type Meter, PRICES } from "./prices.ts";

/** Number of units that are used of each billed operation or amount. */
export type Usage = Readonly<Partial<Record<Meter, number>>>;

/** Assumptions for what is not counted. Seconds are those in which an object is awake and billed. */
export const ASSUMED = {
  cpuMsPerRequest: 3,
  /** An attempt of a callback, which the sender signs and sends; its calls are no billed requests. */
  cpuMsPerAttempt: 1,
  /** A comment of a stream, which a Worker sends every 15 seconds. */
  cpuMsPerComment: 0.5,
  secondsPerObjectRequest: 0.02,
  secondsPerPoll: 0.4,
  secondsPerIndexWrite: 0.15,
  /** Rate at which an output comes from its upstream, while the object that copies it is awake. */
  copyMbPerSecond: 10,
  /** The same for an upstream that is far away, at which documents price outputs too. */
  slowCopyMbPerSecond: 1,
  /** Size of an object with a small record: an empty database of an object takes as much. */
  objectBytes: 12_288,
  objectDays: 28,
  /** Size of the entry that states to which task a submitted job belongs, with ids of up to 128 characters. */
  jobEntryBytes: 200,
  indexRowBytes: 294,
  indexRowDays: 7,
} as const;

/** Settings of a relay on which the consumption of its tasks depends. */
export interface Setting {
  /** Time until a receiver answers or the relay stops waiting for it, in milliseconds. */
  readonly receiverMs: number;
  /** States that rows of the index are written through the queue. */
  readonly isQueued: boolean;
}

/** Memory of an object that is billed while it is awake, in GB. */
export const OBJECT_GB = 0.128;
const DAYS_PER_MONTH = 30;
/** Number of billed operations for a message of a queue: it is written, read and deleted. */
export const OPERATIONS_PER_MESSAGE = 3;
const ROWS_PER_BATCH = 100;

/** Returns the units that one task with this consumption uses. */
export function usageOf(meters: Meters, { receiverMs, isQueued }: Setting): Usage {
  const { workerRequests, objectRequests, rowsWritten, rowsRead, d1Written, d1Read } = meters;
  const { logLines, indexWrites, polls, attempts } = meters;
  const hasIndexRow = d1Written > 0;
  const messages = isQueued ? indexWrites : 0;
  const attempt = attemptUse(receiverMs);
  // The lives are counted with a report of each attempt.
  const requestsOfObjects = objectRequests - attempts * (1 - attempt.reports);
  const seconds =
    requestsOfObjects * ASSUMED.secondsPerObjectRequest +
    polls * ASSUMED.secondsPerPoll +
    indexWrites * ASSUMED.secondsPerIndexWrite +
    attempts * attempt.seconds;
  const requests = workerRequests + messages / ROWS_PER_BATCH;
  return {
    workerRequests: requests,
    cpuMs: requests * ASSUMED.cpuMsPerRequest + attempts * ASSUMED.cpuMsPerAttempt,
    objectRequests: requestsOfObjects,
    durationGbS: seconds * OBJECT_GB,
    rowsWritten,
    rowsRead,
    objectGbMonths: gbMonths(ASSUMED.objectBytes, ASSUMED.objectDays),
    d1Written,
    d1Read,
    d1GbMonths: hasIndexRow ? gbMonths(ASSUMED.indexRowBytes, ASSUMED.indexRowDays) : 0,
    logLines,
    queueOperations: messages * OPERATIONS_PER_MESSAGE,
  };
}

/**
 * Returns what an attempt of a callback uses of its object: the seconds for which it waits, and the reports of the end,
 * one if the receiver takes longer.
 */
export function attemptUse(receiverMs: number) {
  const waitMs = Math.min(receiverMs, ANSWER_WAIT_MS);
  return { seconds: waitMs / 1_000, reports: receiverMs > ANSWER_WAIT_MS ? 1 : 0 };
}

/** Returns the storage of some bytes for some days, in GB and months. */
export function gbMonths(bytes: number, days: number): number {
  return ((bytes / 1e9) * days) / DAYS_PER_MONTH;
}

/** Storage of the entry that states to which task a submitted job belongs, which is kept as long as the task. */
export const STORED_ENTRY: Usage = {
  objectGbMonths: gbMonths(ASSUMED.jobEntryBytes, ASSUMED.objectDays),
};

/** Adds the units of two usages, those of the second one multiplied by a factor. */
export function withUsage(usage: Usage, more: Usage, factor: number): Usage {
  const meters = Object.keys(PRICES).filter(isMeter);
  return Object.fromEntries(
    meters.map((meter) => [meter, (usage[meter] ?? 0) + factor * (more[meter] ?? 0)]),
  );
}

/** One line of a bill. */
export interface BillLine {
  readonly meter: Meter;
  readonly units: number;
  /** List price in dollars, from which nothing that the plan includes is deducted. */
  readonly dollars: number;
}

/** Price of a number of tasks. */
export interface Bill {
  readonly lines: readonly BillLine[];
  readonly dollars: number;
  /** Price in dollars beyond what the Paid plan includes, if nothing else uses it; without that of the plan. */
  readonly dollarsBeyondPlan: number;
}

/** Returns the bill of a number of tasks with the same usage, without lines for what is not used. */
export function billOf(usage: Usage, tasks: number): Bill {
  const lines = Object.keys(PRICES)
    .filter(isMeter)
    .flatMap((meter): BillLine[] => {
      const units = (usage[meter] ?? 0) * tasks;
      return units === 0 ? [] : [{ meter, units, dollars: priceOf(meter, units) }];
    });
  const beyond = lines.map(({ meter, units }) =>
    priceOf(meter, Math.max(0, units - PRICES[meter].included)),
  );
  return {
    lines,
    dollars: sum(lines.map(({ dollars }) => dollars)),
    dollarsBeyondPlan: sum(beyond),
  };
}

function priceOf(meter: Meter, units: number): number {
  const { dollars, per } = PRICES[meter];
  return (units * dollars) / per;
}

function isMeter(name: string): name is Meter {
  return Object.hasOwn(PRICES, name);
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
