import type { HostCount } from "../../src/index-db/step-counts.ts";
import type { OpenCount } from "../../src/index-db/open-count.ts";
import type { TroubledTask } from "../../src/index-db/troubled-tasks.ts";
import type { OpenCopies } from "../../src/index-db/statistics-shape.ts";
import type { UnknownSubmissions } from "../../src/index-db/unknown-submissions.ts";
import type { IndexFacts } from "../../src/api/search/troubles/trouble.ts";

export const MINUTE = 60_000;
export const HOUR = 60 * MINUTE;
export const NOW = 500_000 * HOUR + 30 * MINUTE;
/** Time at which the present hour began. */
export const THIS_HOUR = NOW - 30 * MINUTE;
export const HOST = "client.example.net";

const OPEN: OpenCount = {
  tasks: 0,
  isCapped: false,
  oldestAt: null,
  overdue: 0,
  overdueSince: null,
  sizeBytes: 1_000,
};

const NONE_UNKNOWN: UnknownSubmissions = {
  tasks: 0,
  isCapped: false,
  oldestAt: null,
  oldestId: null,
};

/** Returns the row of a task whose callback has failed with a last attempt this many minutes ago. */
export function aFailure(age: number, fields: Partial<TroubledTask> = {}): TroubledTask {
  const at = NOW - age * MINUTE;
  return {
    id: `task-${age}`,
    account: "acme",
    provider: "ark",
    status: "completed",
    submission: null,
    callback: "failed",
    attempts: 3,
    lastOutcome: "rejected",
    lastStatusCode: 503,
    host: HOST,
    createdAt: at - 20 * MINUTE,
    finishedAt: at - 15 * MINUTE,
    settledAt: at,
    firstAttemptMs: 0,
    dueAt: null,
    ...fields,
  };
}

/** Returns the row of a task whose callback is being sent again after an attempt this many minutes ago. */
export const aRepeat = (age: number, fields: Partial<TroubledTask> = {}) =>
  aFailure(age, { callback: "sending", attempts: 1, settledAt: null, dueAt: NOW, ...fields });

export const aCount = (
  hoursAgo: number,
  callback: string,
  tasks: number,
  host = HOST,
): HostCount => ({
  hour: THIS_HOUR - hoursAgo * HOUR,
  host,
  callback,
  tasks,
  attempts: tasks * (callback === "failed" ? 3 : 1),
});

const NO_COPIES: OpenCopies = {
  outputs: 0,
  lateOutputs: 0,
  lateTasks: 0,
  isCapped: false,
  oldestAt: null,
};

interface Known {
  readonly failed?: readonly TroubledTask[];
  readonly next?: readonly TroubledTask[];
  readonly counts?: readonly HostCount[];
  readonly open?: Partial<OpenCount>;
  readonly unknown?: UnknownSubmissions;
  readonly copies?: Partial<OpenCopies>;
  readonly lags?: readonly (readonly [hoursAgo: number, bucket: number])[];
  readonly isCapped?: boolean;
}

export function indexOf(known: Known): IndexFacts {
  const { failed = [], next = [], counts = [], open = {}, lags = [], isCapped = false } = known;
  const { unknown = NONE_UNKNOWN, copies = {} } = known;
  const latencies = lags.map(([hoursAgo, bucket]) => ({
    hour: THIS_HOUR - hoursAgo * HOUR,
    measure: "index" as const,
    bucket,
    tasks: 1,
  }));
  const window = { since: THIS_HOUR - 24 * HOUR, until: THIS_HOUR + HOUR };
  return {
    counts: {
      ...window,
      hosts: counts,
      counts: [],
      outcomes: [],
      latencies,
      failures: [],
      sums: [],
      jobTimes: [],
      jobFailures: [],
      countedAt: NOW,
    },
    failed: { tasks: failed, isCapped },
    next: { tasks: next, isCapped },
    open: { ...OPEN, ...open },
    unknown,
    copies: { ...NO_COPIES, ...copies },
  };
}

/** Returns the time so many minutes ago, in Unix seconds. */
export const secondsAgo = (minutes: number) => (NOW - minutes * MINUTE) / 1000;

/** Rows of three failed callbacks to `HOST`, whose first attempts were made 30 minutes ago. */
export const THREE = [aFailure(5), aFailure(10), aFailure(15)];
