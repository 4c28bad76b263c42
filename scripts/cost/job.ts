import {
  FAILED_CALLBACK,
  IDLE_POLL,
  LIVES,
  type Meters,
  plus,
  POLLED_ONCE,
  REPEATED_ATTEMPT,
} from "./lives.ts";
import { type OutputUse, outputUsage } from "./outputs.ts";
import { polledAlone } from "./polls.ts";
import { streamUsage } from "./readers.ts";
import {
  ASSUMED,
  gbMonths,
  OPERATIONS_PER_MESSAGE,
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
  const { retryRate, hasAccount } = job;
  const repeated = plus(lifeOf(job), REPEATED_ATTEMPT, retryRate + retryRate ** 2);
  const sent = plus(repeated, FAILED_CALLBACK, retryRate ** 3);
  return hasAccount ? plus(plus(sent, LIVES[ACCOUNT]), LIVES[NO_ACCOUNT], -1) : sent;
}

/** Names of two lives of which only the first one has an account. */
const [ACCOUNT, NO_ACCOUNT] = ["registered with an account, index", "registered, index"] as const;

function lifeOf({ polls, pollLateness, jobS }: Job): Meters {
  if (pollLateness !== null) return polledAlone(jobS, pollLateness);
  if (polls === 0) return LIVES["registered, index"];
  if (polls === 1) return POLLED_ONCE;
  return plus(LIVES["Ark polled six times, index"], IDLE_POLL, polls - POLLS_COUNTED);
}

function relayUsage(job: Job): Usage {
  const read = withUsage(usageOf(metersOf(job), job), streamUsage(job.jobS), job.watchers);
  return withUsage(read, outputUsage(job), 1);
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
