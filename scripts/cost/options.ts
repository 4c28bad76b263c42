import type { Job } from "./job.ts";

/** Arguments of `npm run cost`. */
export interface Order extends Job {
  readonly tasks: number;
}

/** Error for a wrong command line; its message tells the person who has typed it what is wrong. */
export class WrongOption extends Error {}

export const USAGE = `Usage: npm run cost -- [options]
  --tasks 10M         number of tasks in a month, with k or M (default 1M)
  --retry-rate 0.1    fraction of the callback attempts that fail, 0 to 1 (default 0)
  --receiver-ms 300   time until a receiver answers, 0 to 25000 (default 300)
  --polls 6           polls per job; 0 when your service reports the end (default 0)
  --queue             writes rows of the index through the queue`;

const FACTORS: ReadonlyMap<string, number> = new Map([
  ["", 1],
  ["k", 1_000],
  ["M", 1_000_000],
]);
const MAX_TASKS = 1e12;
/** The largest `CALLBACK_TIMEOUT_S`, in milliseconds. */
const MAX_RECEIVER_MS = 25_000;
const MAX_POLLS = 10_000;

/** Defaults of the options of `npm run cost` that take a value, as texts by name. */
export const DEFAULTS = {
  tasks: "1M",
  "retry-rate": "0",
  "receiver-ms": "300",
  polls: "0",
} as const;

/** Reads the values of the options. @throws WrongOption with the name of the wrong option. */
export function orderOf(
  values: Readonly<Record<keyof typeof DEFAULTS, string>>,
  isQueued: boolean,
): Order {
  return {
    tasks: tasksOf(values.tasks),
    retryRate: number("--retry-rate", values["retry-rate"], 1, false),
    receiverMs: number("--receiver-ms", values["receiver-ms"], MAX_RECEIVER_MS, true),
    polls: number("--polls", values.polls, MAX_POLLS, true),
    isQueued,
  };
}

function tasksOf(text: string): number {
  const [, digits = "", suffix = ""] = /^(\d+(?:\.\d+)?)([kM]?)$/.exec(text) ?? [];
  const tasks = Math.round(Number(digits) * (FACTORS.get(suffix) ?? 0) * 1e6) / 1e6;
  if (Number.isInteger(tasks) && tasks > 0 && tasks <= MAX_TASKS) return tasks;
  throw new WrongOption(`--tasks must be a number of tasks such as 500k or 10M, not "${text}"`);
}

function number(option: string, text: string, max: number, isWhole: boolean): number {
  const value = /^\d+(\.\d+)?$/.test(text) ? Number(text) : NaN;
  if (value <= max && (!isWhole || Number.isInteger(value))) return value;
  const kind = isWhole ? "a whole number" : "a number";
  throw new WrongOption(`${option} must be ${kind} from 0 to ${max}, not "${text}"`);
}
