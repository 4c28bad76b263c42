import {
  FAILED_CALLBACK,
  IDLE_POLL,
  LIVES,
  type Meters,
  plus,
  POLLED_ONCE,
  RELEASE,
  REPEATED_ATTEMPT,
  withAccount,
} from "./lives.ts";
import { outputMeters, type OutputUse, outputUsage } from "./outputs.ts";
import { polledAlone } from "./polls.ts";
import { streamUsage } from "./readers.ts";
import {
  ASSUMED,
  gbMonths,
  OPERATIONS_PER_MESSAGE,
  STORED_ENTRY,
  type Usage,
  usageOf,
  withUsage,
} from "./usage.ts";

/**
 * The job that is priced: a task is accepted, its end is reported or found by polls, and its callback is sent
 * in up to three attempts, with waits of 3 and 10 minutes between them. The task is read once and stored for 28
 * days.
 */
export interface Job extends OutputUse {
  /** How the task begins, and how its end becomes known if no poll finds it. */
  readonly life: JobLife;
  /** How the account pays; `none` for a task without a price. */
  readonly price: JobPrice;
  /** Fraction of the attempts that fail, from 0 to 1. */
  readonly retryRate: number;
  /** Time until a receiver answers, in milliseconds. */
  readonly receiverMs: number;
  /** Number of polls of each job, the one that finds the result included; 0 when its end is reported. */
  readonly polls: number;
  /** `POLL_LATENESS` in percent of a provider without hooks; null when `polls` says how often a job is polled. */
  readonly pollLateness: number | null;
  /** Time that a job takes, in seconds. */
  readonly jobS: number;
  /** Number of readers who hold a stream of each task until it ends. */
  readonly watchers: number;
  /** States that each task belongs to an account. */
  readonly hasAccount: boolean;
  /** States that rows of the index are written through the queue. */
  readonly isQueued: boolean;
}

/** Lives of a task, by the names that `npm run cost` takes, with those of docs/cost.md. */
export const JOB_LIVES = {
  event: "event, index",
  registered: "registered, index",
  hooks: "Ark with hooks, index",
  submitted: "submitted, Ark with hooks, index",
} as const satisfies Readonly<Record<string, keyof typeof LIVES>>;

export type JobLife = keyof typeof JOB_LIVES;

/** Lives of a submitted task by the price that its account pays. */
const PRICED = {
  fixed: LIVES["submitted for an account at a price, index"],
  usage: plus(LIVES["submitted for an account at a price, index"], RELEASE),
} as const;

export type JobPrice = "none" | keyof typeof PRICED;

/** Services with which the job can be done, by their names in the output: the relay and its alternatives. */
export const CONTENDERS = {
  "Task Relay": relayUsage,
  Workflows: workflowsUsage,
  Queues: queuesUsage,
  QStash: qstashUsage,
} as const satisfies Readonly<Record<string, (job: Job) => Usage>>;

const POLLS_COUNTED = 6;
/** Messages in a batch of a queue by default, which one request of the consumer handles. */
const MESSAGES_PER_BATCH = 10;

/** Returns the mean number of billed operations of a task on a relay with an index. */
function metersOf(job: Job): Meters {
  const { retryRate, hasAccount, price } = job;
  const repeated = plus(lifeOf(job), REPEATED_ATTEMPT, retryRate + retryRate ** 2);
  const sent = plus(repeated, FAILED_CALLBACK, retryRate ** 3);
  const own = hasAccount ? withAccount(sent) : sent;
  if (price === "none") return own;
  return plus(plus(own, PRICED[price]), withAccount(LIVES[JOB_LIVES.submitted]), -1);
}

function lifeOf({ life, polls, pollLateness, jobS }: Job): Meters {
  if (pollLateness !== null) return polledAlone(jobS, pollLateness);
  if (polls === 0) return LIVES[JOB_LIVES[life]];
  if (polls === 1) return POLLED_ONCE;
  return plus(LIVES["Ark polled six times, index"], IDLE_POLL, polls - POLLS_COUNTED);
}

function relayUsage(job: Job): Usage {
  const entries = job.life === "submitted" ? 1 : 0;
  const task = withUsage(usageOf(metersOf(job), job), STORED_ENTRY, entries);
  const read = withUsage(task, streamUsage(job.jobS), job.watchers);
  const meters = outputMeters(job);
  const own = job.hasAccount ? withAccount(meters) : meters;
  return withUsage(read, outputUsage(job, own, job), 1);
}

/**
 * Returns the usage of one instance of a Workflow for each task, with as few steps as possible: one waits for
 * the end of the job, one sends the callback. Polls and further attempts are retries of a step, which are free.
 */
function workflowsUsage(job: Job): Usage {
  const { workerRequests, logLines, polls, attempts } = metersOf(job);
  return {
    workerRequests: workerRequests + 1,
    cpuMs: (workerRequests + polls + attempts) * ASSUMED.cpuMsPerRequest,
    logLines,
    workflowSteps: 2,
    workflowGbMonths: gbMonths(ASSUMED.objectBytes, ASSUMED.objectDays),
  };
}

/**
 * Returns the usage of messages with delays: one for the callback and, where the job is polled, one for the
 * polls. Every further attempt or poll reads its message once more. Nothing stores the task.
 */
function queuesUsage(job: Job): Usage {
  const { workerRequests, logLines, polls, attempts } = metersOf(job);
  const handled = polls + attempts;
  const polling = polls === 0 ? 0 : OPERATIONS_PER_MESSAGE + polls - 1;
  return {
    workerRequests: workerRequests + handled / MESSAGES_PER_BATCH,
    cpuMs: (workerRequests + handled) * ASSUMED.cpuMsPerRequest,
    logLines,
    queueOperations: polling + OPERATIONS_PER_MESSAGE + attempts - 1,
  };
}

/**
 * Returns the usage of QStash with one message for each attempt, and one for each poll, which a Worker makes.
 */
function qstashUsage(job: Job): Usage {
  const { workerRequests, logLines, polls, attempts } = metersOf(job);
  return {
    workerRequests: workerRequests + polls,
    cpuMs: (workerRequests + polls) * ASSUMED.cpuMsPerRequest,
    logLines,
    qstashMessages: attempts + polls,
  };
}
