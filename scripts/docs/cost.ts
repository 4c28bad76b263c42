import { ANSWER_WAIT_MS, DEADLINE_EXTENSION } from "../../src/core/policy.ts";
import { CALLED, callUsage, LARGE_BODY } from "../cost/calls.ts";
import {
  CONSOLE_MINUTE,
  JOB_ENTRY,
  JOB_READ,
  LATE_ROWS,
  LISTENER,
  LIVES,
  type Meters,
  PASSED_CALL,
  READERS,
} from "../cost/lives.ts";
import { DEFAULTS, orderOf, USAGE } from "../cost/options.ts";
import { CALLS_PER_READ, COPYING, DELETION, type OutputUse, outputUsage } from "../cost/outputs.ts";
import { CONTENDERS, type Job } from "../cost/job.ts";
import { DEADLINE_HOURS, endless, polledAlone, pollsOf } from "../cost/polls.ts";
import { type Meter, PRICES } from "../cost/prices.ts";
import { readerUsage, STREAM_SECONDS } from "../cost/readers.ts";
import { report } from "../cost/report.ts";
import {
  ASSUMED,
  type BillLine,
  billOf,
  OBJECT_GB,
  STORED_ENTRY,
  type Usage,
  usageOf,
  withUsage,
} from "../cost/usage.ts";
import { fillRegions, table } from "./regions.ts";

const MILLION = 1_000_000;
const RECEIVER_MS = 300;
/** Time after which the relay gives up on a receiver that does not answer, in milliseconds. */
const TIMEOUT_MS = 10_000;
/** Number of incoming WebSocket messages that are billed as one request. */
const MESSAGES_PER_REQUEST = 20;
/** Checks of an account key in ten minutes (src/api/http/key-owner.ts keeps an answer for one). */
const KEY_CHECKS = 10;
/** Time in seconds after which an upstream has sent a result. */
const PASSED_S = 60;
const CONSOLE_HOURS_PER_DAY = 8;
const DAYS_PER_MONTH = 30;

/** Returns docs/cost.md with its tables and examples made from `scripts/cost`. */
export function costDoc(page: string): string {
  return fillRegions(page, {
    counted: countedTable(),
    dollars: dollarsTable(),
    readers: readersTable(),
    polled: polledTable(),
    outputs: outputsTable(),
    "kept-lives": keptLivesTable(),
    "first-rows": firstRowsTable(),
    calls: callsTable(),
    additions: additionsTable(),
    prices: pricesTable(),
    assumed: assumed(),
    example: example(),
  });
}

/** Returns the price of a million uses at the list prices, in dollars. */
function perMillion(usage: Usage): number {
  return billOf(usage, MILLION).dollars;
}

/** Returns the usage of one task with this consumption. */
function lifeUsage(meters: Meters, receiverMs = RECEIVER_MS, isQueued = false): Usage {
  return usageOf(meters, { receiverMs, isQueued });
}

/** Usage of the entry of a submitted job; the life of a submitted task contains it. */
export const JOB_ENTRY_USAGE: Usage = {
  ...requestsUsage({ workerRequests: 0, objectRequests: JOB_ENTRY.objectRequests }),
  rowsWritten: JOB_ENTRY.rowsWritten,
  rowsRead: JOB_ENTRY.rowsRead,
  ...STORED_ENTRY,
};

/** Pattern of the lives whose job the relay submits. */
const SUBMITTED = /^(?:submitted|queued)/;

/** Returns the price of a million tasks of each kind of life, by its name, with its single lines. */
export function lifeBills() {
  return Object.entries(LIVES).map(([name, meters]) => {
    const receiverMs = name.includes("hangs") ? TIMEOUT_MS : RECEIVER_MS;
    const usage = lifeUsage(meters, receiverMs);
    const entries = SUBMITTED.test(name) ? 1 : 0;
    return [name, billOf(withUsage(usage, STORED_ENTRY, entries), MILLION)] as const;
  });
}

function countedTable(): string {
  const head = [
    "life",
    "Worker requests",
    "object requests",
    "rows written",
    "rows read",
    "D1 rows written",
    "D1 rows read",
    "log lines",
    "subrequests",
    "polls",
    "index writes",
    "attempts",
  ];
  return table(
    head,
    Object.entries(LIVES).map(([name, meters]) => {
      const { workerRequests, objectRequests, rowsWritten, rowsRead, d1Written, d1Read } = meters;
      const { logLines, subrequests, polls, indexWrites, attempts } = meters;
      const objects = [workerRequests, objectRequests, rowsWritten, rowsRead, d1Written, d1Read];
      return [
        name,
        ...[...objects, logLines, subrequests, polls, indexWrites, attempts].map(String),
      ];
    }),
  );
}

/** Columns of the table of dollars, each with the billed operations that it sums. */
const COLUMNS: Readonly<Record<string, readonly Meter[]>> = {
  "Worker requests and CPU": ["workerRequests", "cpuMs"],
  "object requests": ["objectRequests"],
  duration: ["durationGbS"],
  "rows of objects": ["rowsWritten", "rowsRead"],
  "storage of objects": ["objectGbMonths"],
  D1: ["d1Written", "d1Read", "d1GbMonths"],
  "log lines": ["logLines"],
};

function dollarsTable(): string {
  const rows = lifeBills().map(([name, { lines, dollars }]) => {
    return [name, ...columnsOf(lines, COLUMNS), dollars.toFixed(2)];
  });
  return table(["life", ...Object.keys(COLUMNS), "sum"], rows);
}

function readersTable(): string {
  const names = Object.keys(READERS).filter(isReader);
  const rows = names.map((name) => {
    const { workerRequests, objectRequests } = READERS[name];
    const dollars = perMillion(readerUsage(READERS[name], STREAM_SECONDS[name]));
    return [name, `${workerRequests}`, `${objectRequests}`, money(dollars)];
  });
  return table(["reader", "Worker requests", "object requests", "a million readers"], rows);
}

function isReader(name: string): name is keyof typeof READERS {
  return Object.hasOwn(READERS, name);
}

function polledTable(): string {
  const jobs = [30, 110, 600].flatMap((jobS) =>
    [7, 20].map((lateness) => {
      const dollars = perMillion(lifeUsage(polledAlone(jobS, lateness)));
      const isCounted = lateness === 7 ? "counted" : "computed";
      const polls = `${pollsOf(jobS, lateness)}`;
      return [`${jobS} s, no hooks`, `${lateness}`, polls, money(dollars), isCounted];
    }),
  );
  const never = `never ends, hooks never come: fails after ${DEADLINE_HOURS * (1 + DEADLINE_EXTENSION)} h`;
  const dollars = perMillion(lifeUsage(endless()));
  return table(
    ["job", "`POLL_LATENESS`", "polls", "a million tasks", "how"],
    [...jobs, [never, "7", `${endless().polls}`, money(dollars), "computed"]],
  );
}

interface Addition {
  readonly title: string;
  readonly formula: string;
  readonly usage: Usage;
}

const OUTPUT: OutputUse = {
  outputs: 1,
  outputMb: 10,
  outputDays: 3,
  outputReads: 1,
  isChunked: false,
  copyMbPerSecond: ASSUMED.copyMbPerSecond,
};

/** Tasks with one output, by their description in the table. */
const OUTPUT_USES: Readonly<Record<string, OutputUse>> = {
  "3 MB for 3 days, read once": { ...OUTPUT, outputMb: 3 },
  "10 MB for 3 days, read once": OUTPUT,
  "10 MB of unknown length for 3 days, read once": { ...OUTPUT, isChunked: true },
  "10 MB for 3 days, read 20 times": { ...OUTPUT, outputReads: 20 },
  "10 MB for 28 days, read once": { ...OUTPUT, outputDays: 28 },
  "100 MB for 3 days, read once": { ...OUTPUT, outputMb: 100 },
};

/** Columns of the table of outputs, each with the billed operations that it sums. */
const OUTPUT_COLUMNS: Readonly<Record<string, readonly Meter[]>> = {
  "storage of R2": ["r2GbMonths"],
  "writes to R2": ["r2ClassA"],
  "reads of R2": ["r2ClassB"],
  "Worker requests and CPU": ["workerRequests", "cpuMs"],
  objects: ["objectRequests", "durationGbS", "rowsWritten", "objectGbMonths"],
  D1: ["d1Written"],
};

/** A video of 50 MB. */
const VIDEO: OutputUse = { ...OUTPUT, outputMb: 50 };
/** A job that is submitted for an account at a price, with a video that is kept and read once. */
const KEPT_JOB: Job = {
  life: "submitted",
  price: "fixed",
  hasAccount: true,
  retryRate: 0,
  receiverMs: RECEIVER_MS,
  polls: 0,
  pollLateness: null,
  jobS: 110,
  watchers: 0,
  isQueued: false,
  ...VIDEO,
};

/** Whole lives with an output, by their description in the table. */
const KEPT_JOBS: Readonly<Record<string, Job>> = {
  "50 MB kept for 3 days, read once": KEPT_JOB,
  "the same, at a price by usage": { ...KEPT_JOB, price: "usage" },
  "the same, the length not stated": { ...KEPT_JOB, isChunked: true },
  "the same, kept for 7 days": { ...KEPT_JOB, outputDays: 7 },
};

/** Heads of two sums: outputs come from the upstream at the assumed rate, or slowly. */
const RATE_HEADS = [
  `sum, at ${ASSUMED.copyMbPerSecond} MB/s`,
  `at ${ASSUMED.slowCopyMbPerSecond} MB/s`,
] as const;

function outputsTable(): string {
  const rows = Object.entries(OUTPUT_USES).map(([title, use]) => {
    const { lines, dollars } = billOf(outputUsage(use), MILLION);
    const slow = perMillion(outputUsage(slowly(use)));
    return [title, ...columnsOf(lines, OUTPUT_COLUMNS), dollars.toFixed(2), slow.toFixed(2)];
  });
  const head = ["output", ...Object.keys(OUTPUT_COLUMNS), ...RATE_HEADS];
  return `${table(head, rows)}\n\n${copyingText()}`;
}

/** Returns a use of outputs that come from a slow upstream. */
function slowly<Use extends OutputUse>(use: Use): Use {
  return { ...use, copyMbPerSecond: ASSUMED.slowCopyMbPerSecond };
}

/** Returns the price of a million whole lives with an output, by what it is, and that of the task in it. */
export function keptLives() {
  const relay = (job: Job) => perMillion(CONTENDERS["Task Relay"](job));
  const lives = Object.entries(KEPT_JOBS).map(([title, job]) => {
    return {
      title,
      task: relay({ ...job, outputs: 0 }),
      dollars: relay(job),
      slow: relay(slowly(job)),
    };
  });
  const title = "the same, [deleted](outputs.md#copies) on its first day";
  const job = { ...KEPT_JOB, outputDays: 1 };
  const deletion = perMillion(deletionUsage());
  const [dollars, slow] = [relay(job) + deletion, relay(slowly(job)) + deletion];
  return [...lives, { title, task: relay({ ...job, outputs: 0 }), dollars, slow }];
}

function keptLivesTable(): string {
  const rows = keptLives().map(({ title, task, dollars, slow }) => {
    return [title, ...[task, dollars - task, dollars, slow].map((one) => one.toFixed(2))];
  });
  return table(
    ["submitted for an account at a price, index", "task", "output", ...RATE_HEADS],
    rows,
  );
}

/** Returns what the deletion of the outputs of a task uses, with the write of its row. */
function deletionUsage(): Usage {
  const { workerRequests, objectRequests, rowsWritten, d1Written } = DELETION;
  const { durationGbS = 0, ...requests } = requestsUsage({ workerRequests, objectRequests });
  const written = ASSUMED.secondsPerIndexWrite * OBJECT_GB;
  return { ...requests, durationGbS: durationGbS + written, rowsWritten, d1Written };
}

/** Returns the prices of lives whose rows are first written after 30 and after 300 seconds. */
function firstRowsTable(): string {
  const names = ["registered, index", "Ark with hooks, index"] as const;
  const rows = names.map((name) => {
    const [early, late] = [LIVES[name], LATE_ROWS[name]];
    const [before, after] = [perMillion(lifeUsage(early)), perMillion(lifeUsage(late))];
    const writes = `${early.indexWrites} → ${late.indexWrites}`;
    const d1 = `${early.d1Written} → ${late.d1Written}`;
    const own = `${early.rowsWritten} → ${late.rowsWritten}`;
    return [
      name,
      writes,
      d1,
      own,
      before.toFixed(2),
      after.toFixed(2),
      (after - before).toFixed(2),
    ];
  });
  const head = ["life", "index writes", "D1 rows", "rows of objects", "30 s", "300 s", "saved"];
  return table(head, rows);
}

function copyingText(): string {
  const { task, output, chunkedOutput } = COPYING;
  return [
    `- For each task with outputs, ${task.objectRequests} object requests (the order, the alarm that copies, the report to the task, the expiry, the erasure) and ${task.rowsWritten} rows; ${output.rowsWritten} rows more for each output, and ${chunkedOutput.rowsWritten} for each that is stored in parts.`,
    `- An output whose length the upstream states is one Class A operation. Another one that has 8 MiB or more is one for each part of 8 MiB, and two that begin and end the upload. Deletions are free.`,
    "- With the index, as here, the report of the copies is one more write of the row of the task: a row of the object and one in D1, with an account two, one more for the entry of a task whose outputs are being copied, and one more when an output is lost (`test/index/outputs.test.ts`). The totals of copies add at most three written rows to each count of an hour, and none for a task.",
    `- A read is a request of the Worker and ${CALLS_PER_READ} Class B operation. A player asks for parts, so that one view may be several reads.`,
  ].join("\n");
}

/** Columns of the table of calls, each with the billed operations that it sums. */
const CALL_COLUMNS: Readonly<Record<string, readonly Meter[]>> = {
  "Worker requests and CPU": ["workerRequests", "cpuMs"],
  "object requests": ["objectRequests"],
  duration: ["durationGbS"],
  "rows of objects": ["rowsWritten"],
  "storage of objects": ["objectGbMonths"],
  "writes to R2": ["r2ClassA"],
  "reads of R2": ["r2ClassB"],
  "storage of R2": ["r2GbMonths"],
  "log lines": ["logLines"],
};

function callsTable(): string {
  const rows = [5, 60, 120].map((callS) => {
    const use = { callS, pictureMb: 3, outputDays: 3, receiverMs: RECEIVER_MS };
    const { lines, dollars } = billOf(callUsage(use), MILLION);
    return [`${callS} s`, ...columnsOf(lines, CALL_COLUMNS), dollars.toFixed(2)];
  });
  const { objectRequests, rowsWritten, stored, bucketReads } = CALLED;
  const { rowsOnce, rowsPerMib } = LARGE_BODY;
  const rowsOf20Mib = rowsOnce + 20 * rowsPerMib;
  return [
    table(["call", ...Object.keys(CALL_COLUMNS), "sum"], rows),
    "",
    `- Counted: ${objectRequests} requests and alarms of objects (one more where the receiver is slow, as it is in the table), ${rowsWritten} rows, ${stored} objects written to R2 (the answer without its picture, and the picture) and ${bucketReads} read.`,
    `- A body of 1 MiB or more adds ${rowsOnce} rows, and ${rowsPerMib} for each MiB: a form of 20 MiB ${money(perMillion({ rowsWritten: rowsOf20Mib }))}. No byte of it is in memory while the upstream works ([bench](../bench/README.md#memory-of-open-calls)).`,
    `- A second of the upstream costs ${money(perMillion({ durationGbS: OBJECT_GB }))}, because the object of the call is awake: this makes slow calls expensive.`,
  ].join("\n");
}

/** Returns the dollars in each column of a table, from the lines of a bill. */
function columnsOf(
  lines: readonly BillLine[],
  columns: Readonly<Record<string, readonly Meter[]>>,
): readonly string[] {
  return Object.values(columns).map((meters) =>
    lines
      .reduce((sum, { meter, dollars }) => sum + (meters.includes(meter) ? dollars : 0), 0)
      .toFixed(2),
  );
}

function additionsTable(): string {
  const rows = additions().map(({ title, formula, usage }) => [
    title,
    formula,
    money(perMillion(usage)),
  ]);
  return table(["what", "computed as", "a million"], [...rows, consoleRow()]);
}

function additions(): readonly Addition[] {
  const hooked = LIVES["Ark with hooks, index"];
  const alone = polledAlone(110, 7);
  const queued = { queueOperations: lifeUsage(hooked, RECEIVER_MS, true).queueOperations ?? 0 };
  const { connection, callback } = LISTENER;
  const requests = callback.objectRequests + callback.messages / MESSAGES_PER_REQUEST;
  const seconds = RECEIVER_MS / 1_000 + ASSUMED.secondsPerObjectRequest;
  return [
    {
      title: "`METRICS`, *Ark with hooks*",
      formula: "one point for each attempt and each poll",
      usage: { dataPoints: hooked.attempts + hooked.polls },
    },
    {
      title: "`METRICS`, 110 s polled without hooks",
      formula: "the same",
      usage: { dataPoints: alone.attempts + alone.polls },
    },
    {
      title: "`INDEX_QUEUE`, *Ark with hooks*",
      formula: "3 operations for each write to the index",
      usage: queued,
    },
    {
      title: "account key of a reader who holds a stream for 10 minutes",
      formula: `${KEY_CHECKS} object requests: a check of the key each minute, which all readers with this key share in an isolate`,
      usage: requestsUsage({ workerRequests: 0, objectRequests: KEY_CHECKS }),
    },
    ...readsOfJobs(),
    passedCall(),
    {
      title: "listener that connects",
      formula: `${connection.workerRequests} request of the Worker, ${connection.objectRequests} of objects; then nothing while it waits`,
      usage: requestsUsage(connection),
    },
    {
      title: "callback to a listener",
      formula: `${callback.objectRequests} object request, ${callback.messages} incoming message, ${seconds} s awake`,
      usage: { objectRequests: requests, durationGbS: seconds * OBJECT_GB },
    },
  ];
}

/** Returns what it costs that an object makes a call whose caller waits for the result. */
function passedCall(): Addition {
  const { objectRequests, rowsWithFiles } = PASSED_CALL;
  const seconds = PASSED_S + ASSUMED.secondsPerObjectRequest;
  return {
    title: `call that is [answered by the result](submit.md#what-comes-back) after ${PASSED_S} s, whose caller waits: the object that makes it`,
    formula: `${objectRequests} request of the object, awake for ${PASSED_S} s; ${rowsWithFiles} rows more where the answer has files, which are kept as [outputs](#outputs) are`,
    usage: { objectRequests, durationGbS: seconds * OBJECT_GB },
  };
}

/** Returns what it costs that clients can read the jobs that they have submitted. */
function readsOfJobs(): readonly Addition[] {
  return [
    {
      title: "entry by which SDKs read their job, contained in *submitted*",
      formula: `${JOB_ENTRY.objectRequests} requests of objects, ${JOB_ENTRY.rowsWritten} rows written, ${JOB_ENTRY.rowsRead} read, ${ASSUMED.jobEntryBytes} bytes for ${ASSUMED.objectDays} days`,
      usage: JOB_ENTRY_USAGE,
    },
    {
      title: "read of a job by its upstream's SDK, for which the upstream is asked",
      formula: `${JOB_READ.workerRequests} request of the Worker, ${JOB_READ.objectRequests} of objects, ${ASSUMED.secondsPerPoll} s awake as for a poll; less where the last answer is repeated`,
      usage: withUsage(
        requestsUsage(JOB_READ),
        { durationGbS: ASSUMED.secondsPerPoll * OBJECT_GB },
        1,
      ),
    },
  ];
}

/** Returns the usage of requests that do no work besides. */
function requestsUsage({ workerRequests, objectRequests }: Requests): Usage {
  return {
    workerRequests,
    cpuMs: workerRequests * ASSUMED.cpuMsPerRequest,
    objectRequests,
    durationGbS: objectRequests * ASSUMED.secondsPerObjectRequest * OBJECT_GB,
  };
}

type Requests = Pick<Meters, "workerRequests" | "objectRequests">;

function consoleRow(): readonly string[] {
  const minutes = CONSOLE_HOURS_PER_DAY * DAYS_PER_MONTH * 60;
  const { workerRequests, objectRequests, d1Read } = CONSOLE_MINUTE;
  const { dollars } = billOf({ ...requestsUsage(CONSOLE_MINUTE), d1Read }, minutes);
  const formula = `${minutes.toLocaleString("en-US")} minutes of ${workerRequests} requests of the Worker, ${objectRequests} of objects and ${d1Read.toLocaleString("en-US")} rows read in D1`;
  return [
    `console's overview open ${CONSOLE_HOURS_PER_DAY} h a day`,
    formula,
    `${money(dollars)} a month`,
  ];
}

function pricesTable(): string {
  const rows = Object.values(PRICES).map(({ title, dollars, unit, included, source, asOf }) => {
    const price = `$${dollars.toFixed(Number.isInteger(dollars * 100) ? 2 : 3)} per ${unit}`;
    const link = `[${source.name}](${source.url})`;
    return [title, price, included.toLocaleString("en-US"), link, asOf];
  });
  return table(["meter", "price", "included", "source", "as of"], rows);
}

function assumed(): string {
  const { cpuMsPerRequest, cpuMsPerAttempt, cpuMsPerComment, secondsPerObjectRequest } = ASSUMED;
  const { secondsPerPoll, secondsPerIndexWrite, objectBytes, objectDays } = ASSUMED;
  const { indexRowBytes, indexRowDays, copyMbPerSecond, slowCopyMbPerSecond } = ASSUMED;
  const requestDollars = perMillion({ durationGbS: secondsPerObjectRequest * OBJECT_GB });
  const pollDollars = perMillion({ durationGbS: secondsPerPoll * OBJECT_GB });
  const cpuDollars = perMillion({ cpuMs: cpuMsPerRequest });
  return [
    `- ${cpuMsPerRequest} ms of CPU per request to the Worker, ${cpuMsPerAttempt} ms per attempt of a callback, ${cpuMsPerComment} ms per comment that keeps a stream open;`,
    `- time for which an object is awake and billed: ${secondsPerObjectRequest * 1_000} ms per request or alarm, ${ANSWER_WAIT_MS / 1_000} s per attempt (the receiver takes ${RECEIVER_MS / 1_000} s), ${secondsPerPoll} s per poll, ${secondsPerIndexWrite} s per write to the index; the object that copies outputs also as long as they take at ${copyMbPerSecond} MB a second. This rate is the weakest assumption, so tables with outputs have both sums: an upstream on another continent may send ${slowCopyMbPerSecond} MB a second;`,
    `- storage: ${objectBytes.toLocaleString("en-US")} bytes per object for ${objectDays} days (an empty database of an object takes that much), ${indexRowBytes} bytes in D1 for ${indexRowDays} days.\n`,
    `Twice the time per request would add ${money(requestDollars)} to the price of a million tasks for each object request of a task, twice the time per poll ${money(pollDollars)} for each poll, and twice the CPU per request ${money(cpuDollars)} for each request to the Worker.`,
  ].join("\n");
}

/** Options with which the page shows `npm run cost`. */
const SHOWN = { tasks: "10M", "retry-rate": "0.1", "receiver-ms": "300", polls: "6" };

function example(): string {
  const options = Object.entries(SHOWN).map(([name, value]) => `--${name} ${value}`);
  const order = orderOf(
    { ...DEFAULTS, ...SHOWN },
    { account: false, chunked: false, queue: false },
  );
  return `\`\`\`text\n$ npm run cost -- ${options.join(" ")}\n\n${report(order)}\n\n$ npm run cost -- --help\n\n${USAGE}\n\`\`\``;
}

function money(dollars: number): string {
  return `$${dollars.toFixed(2)}`;
}
