import type { Job, JobLife, JobPrice } from "./job.ts";
import { DEADLINE_HOURS, POLL_LATENESS, pollsOf } from "./polls.ts";

/** Arguments of `npm run cost`. */
export interface Order extends Job {
  readonly tasks: number;
}

/** Error for a wrong command line; its message tells the person who has typed it what is wrong. */
export class WrongOption extends Error {}

export const USAGE = `Usage: npm run cost -- [options]
  --tasks 10M         number of tasks in a month, with k or M (default 1M)
  --retry-rate 0.1    fraction of the callback attempts that fail, 0 to 1 (default 0)
  --receiver-ms 300   time until a receiver answers, 0 to 24000 (default 300)
  --life hooks        event: your service reports the end alone; registered: after a registration;
                      hooks: a job of Ark with hooks; submitted: the same, submitted by the relay
                      (default registered)
  --polls 6           instead of --life: polls per job until one finds its end (default 0)
  --poll-lateness 7   instead of --polls: POLL_LATENESS of a provider without hooks, 3 to 50
  --job-s 110         time that a job takes, in seconds, 1 to 259200 (default 110)
  --watchers 1        readers who hold a stream of each task until it ends, 0 to 64 (default 0)
  --outputs 1         outputs of each task that are kept in R2, 0 to 32 (default 0)
  --output-mb 10      size of an output, 1 to 4096 (default 10)
  --output-days 3     OUTPUT_DAYS, 1 to 365 (default 3)
  --output-reads 3    how often each output is read (default 1)
  --copy-mb-s 10      MB per second at which outputs come from upstreams, 0.1 to 100 (default 10)
  --chunked           upstreams state no length of outputs, so that copies are stored in parts
  --account           each task belongs to an account
  --price fixed       price that accounts pay: none, fixed, or usage, of which a part is released
                      (default none)
  --queue             writes rows of the index through the queue`;

const LIVES: readonly JobLife[] = ["event", "registered", "hooks", "submitted"];
const PRICES: readonly JobPrice[] = ["none", "fixed", "usage"];
const FACTORS: ReadonlyMap<string, number> = new Map([
  ["", 1],
  ["k", 1_000],
  ["M", 1_000_000],
]);
const MAX_TASKS = 1e12;
/** The largest `CALLBACK_TIMEOUT_S`, in milliseconds. */
const MAX_RECEIVER_MS = 24_000;
const MAX_POLLS = 10_000;
const MAX_JOB_S = DEADLINE_HOURS * 3_600;
/** Largest number of outputs of a task that the relay keeps. */
const MAX_OUTPUTS = 32;
/** Largest `MAX_OUTPUT_MB`. */
const MAX_OUTPUT_MB = 4_096;
const MAX_OUTPUT_DAYS = 365;
const MAX_OUTPUT_READS = 10_000;
/** Largest number of readers of one task who are told changes over a WebSocket. */
const MAX_WATCHERS = 64;

/** Defaults of the options of `npm run cost` that take a value, as texts by name. */
export const DEFAULTS = {
  tasks: "1M",
  "retry-rate": "0",
  "receiver-ms": "300",
  life: "registered",
  polls: "0",
  "poll-lateness": "",
  "job-s": "110",
  watchers: "0",
  outputs: "0",
  "output-mb": "10",
  "output-days": "3",
  "output-reads": "1",
  "copy-mb-s": "10",
  price: "none",
} as const;

/** Options of `npm run cost` without a value: true for those that are given. */
export interface Switches {
  readonly account: boolean;
  readonly chunked: boolean;
  readonly queue: boolean;
}

/** Reads the values of the options. @throws WrongOption with the name of the wrong option. */
export function orderOf(
  values: Readonly<Record<keyof typeof DEFAULTS, string>>,
  { account, chunked, queue }: Switches,
): Order {
  const jobS = number("--job-s", values["job-s"], 1, MAX_JOB_S, true);
  const pollLateness = latenessOf(values);
  const polls = number("--polls", values.polls, 0, MAX_POLLS, true);
  const life = oneOf("--life", values.life, LIVES);
  if (life !== DEFAULTS.life && (polls > 0 || pollLateness !== null)) {
    throw new WrongOption("--polls and --poll-lateness are lives of their own: leave --life out");
  }
  const price = oneOf("--price", values.price, PRICES);
  if (price !== "none" && !account) {
    throw new WrongOption("--price needs --account");
  }
  return {
    tasks: tasksOf(values.tasks),
    life,
    price,
    retryRate: number("--retry-rate", values["retry-rate"], 0, 1, false),
    receiverMs: number("--receiver-ms", values["receiver-ms"], 0, MAX_RECEIVER_MS, true),
    polls: pollLateness === null ? polls : pollsOf(jobS, pollLateness),
    pollLateness,
    jobS,
    watchers: number("--watchers", values.watchers, 0, MAX_WATCHERS, true),
    outputs: number("--outputs", values.outputs, 0, MAX_OUTPUTS, true),
    outputMb: number("--output-mb", values["output-mb"], 1, MAX_OUTPUT_MB, false),
    outputDays: number("--output-days", values["output-days"], 1, MAX_OUTPUT_DAYS, true),
    outputReads: number("--output-reads", values["output-reads"], 0, MAX_OUTPUT_READS, false),
    copyMbPerSecond: number("--copy-mb-s", values["copy-mb-s"], 0.1, 100, false),
    isChunked: chunked,
    hasAccount: account,
    isQueued: queue,
  };
}

function latenessOf(values: Readonly<Record<"polls" | "poll-lateness", string>>): number | null {
  const text = values["poll-lateness"];
  if (text === DEFAULTS["poll-lateness"]) return null;
  if (values.polls !== DEFAULTS.polls) {
    throw new WrongOption("--poll-lateness decides the number of polls: leave --polls out");
  }
  return number("--poll-lateness", text, POLL_LATENESS.min, POLL_LATENESS.max, true);
}

function tasksOf(text: string): number {
  const [, digits = "", suffix = ""] = /^(\d+(?:\.\d+)?)([kM]?)$/.exec(text) ?? [];
  const tasks = Math.round(Number(digits) * (FACTORS.get(suffix) ?? 0) * 1e6) / 1e6;
  if (Number.isInteger(tasks) && tasks > 0 && tasks <= MAX_TASKS) return tasks;
  throw new WrongOption(`--tasks must be a number of tasks such as 500k or 10M, not "${text}"`);
}

function oneOf<Word extends string>(option: string, text: string, words: readonly Word[]): Word {
  const word = words.find((each) => each === text);
  if (word !== undefined) return word;
  throw new WrongOption(`${option} must be one of ${words.join(", ")}, not "${text}"`);
}

function number(option: string, text: string, min: number, max: number, isWhole: boolean): number {
  const value = /^\d+(\.\d+)?$/.test(text) ? Number(text) : NaN;
  if (value >= min && value <= max && (!isWhole || Number.isInteger(value))) return value;
  const kind = isWhole ? "a whole number" : "a number";
  throw new WrongOption(`${option} must be ${kind} from ${min} to ${max}, not "${text}"`);
}
