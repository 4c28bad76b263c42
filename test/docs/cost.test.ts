import { expect, it } from "vitest";
import COST_PAGE from "../../docs/cost.md?raw";
import README from "../../README.md?raw";
import { CONTENDERS, type Job, JOB_LIVES } from "../../scripts/cost/job.ts";
import { IDLE_POLL, LIVES, type Meters, plus, POLLED_ALONE } from "../../scripts/cost/lives.ts";
import { DEFAULTS, type Order, orderOf, USAGE, WrongOption } from "../../scripts/cost/options.ts";
import { outputUsage } from "../../scripts/cost/outputs.ts";
import { DEADLINE_HOURS, POLL_LATENESS, polledAlone, pollsOf } from "../../scripts/cost/polls.ts";
import { PRICES } from "../../scripts/cost/prices.ts";
import { streamUsage } from "../../scripts/cost/readers.ts";
import { report } from "../../scripts/cost/report.ts";
import {
  ASSUMED,
  billOf,
  OBJECT_GB,
  OPERATIONS_PER_MESSAGE,
  usageOf,
} from "../../scripts/cost/usage.ts";
import { JOB_ENTRY_USAGE, keptLives, lifeBills } from "../../scripts/docs/cost.ts";
import { VARIABLE_DESCRIPTIONS } from "../../scripts/docs/variables.ts";

const MILLION = 1_000_000;
const hooked = LIVES["Ark with hooks, index"];
/** Runs of the cron trigger that count an hour in which tasks change all the time, and one after its end. */
const COUNTS_PER_HOUR = 7;
/** Rows that one count reads for each task of the hour, at most (test/index/sweep-cost.test.ts). */
const ROWS_PER_COUNT = 9;
/** Returns the price of a million tasks with this consumption, in dollars. */
const dollarsOf = (meters: Meters, isQueued = false) =>
  billOf(usageOf(meters, { receiverMs: 300, isQueued }), MILLION).dollars;
/** Returns the price of a million times so many seconds in which an object is awake, in dollars. */
const awakeFor = (seconds: number) => seconds * OBJECT_GB * PRICES.durationGbS.dollars;

it.each([
  [
    "a poll of a job that still runs",
    "costs $%.2 per million.",
    dollarsOf(plus(hooked, IDLE_POLL)) - dollarsOf(hooked),
  ],
  [
    "counting the tasks of a busy hour",
    "at most 9 rows each: $%.2 per million tasks",
    COUNTS_PER_HOUR * ROWS_PER_COUNT * PRICES.d1Read.dollars,
  ],
  ["an object that waits for 10 s", "10 seconds would cost $%.0.", awakeFor(10)],
  [
    "the report of a slow attempt",
    "for $%.2 per million attempts",
    awakeFor(ASSUMED.secondsPerObjectRequest) + PRICES.objectRequests.dollars,
  ],
  [
    "an index that cannot be reached",
    "costs $%.2 more per million tasks (*index away*)",
    dollarsOf(LIVES["Ark with hooks, index away for 28 days"]) - dollarsOf(hooked),
  ],
  ["a D1 that hangs", "hangs for 30 seconds costs $%.0 per million writes", awakeFor(30)],
  [
    "two index writes per task through a queue",
    "so two writes per task cost $%.2 per million tasks",
    2 * OPERATIONS_PER_MESSAGE * PRICES.queueOperations.dollars,
  ],
])("docs/cost.md states the price that scripts/cost gives for %s", (_, text, dollars) => {
  const stated = text.replace(/%\.(\d)/, (__, digits: string) => dollars.toFixed(Number(digits)));
  expect(COST_PAGE).toContain(stated);
});

it("by scripts/cost, what lets SDKs read their submitted jobs costs at most $3 per million submissions", () => {
  expect(billOf(JOB_ENTRY_USAGE, MILLION).dollars).toBeLessThanOrEqual(3);
});

it("by scripts/cost, a stream of a task's events costs at most $2 per million tasks, for tasks of 110 s and of 10 minutes", () => {
  for (const seconds of [110, 600]) {
    expect(billOf(streamUsage(seconds), MILLION).dollars).toBeLessThanOrEqual(2);
  }
});

it("by scripts/cost, a stream of a task's events, which is opened again every 15 minutes, costs each time one request to the Worker and two to Durable Objects more", () => {
  const [once, twice, often] = [900, 901, 2_701].map(streamUsage);
  expect(twice?.workerRequests).toBe((once?.workerRequests ?? NaN) + 1);
  expect(often?.workerRequests).toBe((once?.workerRequests ?? NaN) + 3);
  expect(often?.objectRequests).toBe((once?.objectRequests ?? NaN) + 6);
});

it.each(Object.entries(POLLED_ALONE))(
  "by scripts/cost, a job of %s s for which no hooks come takes as many polls as were counted on workerd",
  (seconds, { polls }) => {
    expect(pollsOf(Number(seconds), POLL_LATENESS.fallback)).toBe(polls);
  },
);

it("by scripts/cost, a job polled with POLL_LATENESS=50 takes fewer requests to Durable Objects than with 7, and no billed amount is negative", () => {
  for (const jobS of [30, 31, 110, 600, 7_200]) {
    const [near, far] = [7, 50].map((lateness) => polledAlone(jobS, lateness));
    expect(far?.objectRequests).toBeLessThan(near?.objectRequests ?? NaN);
    for (const amount of Object.values(far ?? {})) expect(amount).toBeGreaterThanOrEqual(0);
  }
});

it("scripts/cost has the same default and range of POLL_LATENESS and the same default of TASK_DEADLINE_HOURS as the configuration", () => {
  const { POLL_LATENESS: lateness, TASK_DEADLINE_HOURS: hours } = VARIABLE_DESCRIPTIONS;
  const { fallback, ...range } = POLL_LATENESS;
  expect(lateness).toMatchObject({ fallback: `${fallback}`, values: range });
  expect(hours?.fallback).toBe(`${DEADLINE_HOURS}`);
});

const PRICES_IN_README = README.split("\n").find((line) => line.startsWith("At the list")) ?? "";

it("the README rounds the prices of docs/cost.md to dollars", () => {
  const stated = [...PRICES_IN_README.matchAll(/\$(\d+)/g)].map(([, dollars]) => Number(dollars));
  const named: readonly (keyof typeof LIVES)[] = [
    "event, no index",
    "event, index",
    "registered, index",
    "Ark with hooks, index",
    "Ark polled six times, index",
    "Ark with hooks, index, receiver hangs 3 times",
  ];
  const bills = new Map(lifeBills());
  const [kept = NaN] = keptLives().map(({ dollars }) => dollars);
  const prices = [...named.map((name) => bills.get(name)?.dollars ?? NaN), kept];
  expect(stated).toEqual(prices.map(Math.round));
});

it("`npm run cost` gives, with the options that the README names beside a price, this price", () => {
  const commands = [...PRICES_IN_README.matchAll(/\$(\d+)[^$]*?\(`(?:npm run cost|(--[^`]*))`\)/g)];
  expect(commands).toHaveLength(5);
  for (const [, dollars, options = ""] of commands) {
    const bill = billOf(CONTENDERS["Task Relay"](orderOf(...given(options))), MILLION);
    expect([options, Math.round(bill.dollars)]).toEqual([options, Number(dollars)]);
  }
});

it("`npm run cost` gives for each life that it names the price of docs/cost.md", () => {
  const bills = new Map(lifeBills());
  for (const [life, name] of Object.entries(JOB_LIVES)) {
    const order = orderOf(...given(`--life ${life}`));
    const { dollars } = billOf(CONTENDERS["Task Relay"](order), MILLION);
    expect([life, dollars]).toEqual([life, expect.closeTo(bills.get(name)?.dollars ?? NaN)]);
  }
});

/** Returns the values of a command line in the form that `npm run cost` gets from its parser. */
function given(options: string) {
  const pairs = [...options.matchAll(/--([\w-]+) (-?[\w.]+)/g)].map(([, name, text]) => [
    name,
    text,
  ]);
  const [account, chunked, queue] = ["--account", "--chunked", "--queue"].map((name) =>
    options.includes(name),
  );
  const switches = { account: account === true, chunked: chunked === true, queue: queue === true };
  return [{ ...DEFAULTS, ...Object.fromEntries(pairs) }, switches] as const;
}

const JOB: Job = {
  life: "registered",
  price: "none",
  retryRate: 0,
  receiverMs: 300,
  polls: 0,
  pollLateness: null,
  jobS: 110,
  watchers: 0,
  outputs: 0,
  outputMb: 10,
  outputDays: 3,
  outputReads: 1,
  copyMbPerSecond: 10,
  isChunked: false,
  hasAccount: false,
  isQueued: false,
};

it.each<readonly [string, readonly number[], Job]>([
  ["without polls and failures", [17.8, 20.33, 2.97, 11.68], JOB],
  ["with one poll", [19.63, 20.39, 4.26, 22.04], { ...JOB, polls: 1 }],
  ["with six polls", [36.87, 20.81, 7.69, 94.56], { ...JOB, polls: 6 }],
  ["whose attempts all fail", [36.54, 22.25, 5.75, 33.48], { ...JOB, retryRate: 1 }],
  [
    "whose index writes go through the queue",
    [20.21, 20.33, 2.97, 11.68],
    { ...JOB, isQueued: true },
  ],
  ["of accounts", [19.8, 20.33, 2.97, 11.68], { ...JOB, hasAccount: true }],
  ["that only report their end", [11.83, 19.97, 2.61, 11.32], { ...JOB, life: "event" }],
  ["with hooks", [23.07, 21.47, 5.34, 23.12], { ...JOB, life: "hooks" }],
  ["each read by two streams", [20.12, 20.33, 2.97, 11.68], { ...JOB, watchers: 2 }],
  [
    "without hooks whose jobs of 600 s are polled at POLL_LATENESS 20",
    [84.22, 22.37, 20.43, 363.92],
    { ...JOB, polls: 34, pollLateness: 20, jobS: 600 },
  ],
  ["whose receivers hang", [17.8, 20.33, 2.97, 11.68], { ...JOB, receiverMs: 10_000 }],
])(
  "by scripts/cost, a million tasks %s cost, in dollars, with the relay, Cloudflare Workflows, Cloudflare Queues and QStash: %j",
  (_, prices, job) => {
    const bills = Object.values(CONTENDERS).map((usage) => billOf(usage(job), MILLION).dollars);
    expect(bills.map((dollars) => Number(dollars.toFixed(2)))).toEqual(prices);
  },
);

it("by scripts/cost, the bill for usage beyond the paid plan charges each type of operation only above what the plan includes", () => {
  expect(
    billOf({ logLines: 2, queueOperations: 3, objectGbMonths: 0.000_001 }, 11 * MILLION),
  ).toEqual({
    lines: [
      { meter: "objectGbMonths", units: 11, dollars: 2.2 },
      { meter: "logLines", units: 22 * MILLION, dollars: 13.2 },
      { meter: "queueOperations", units: 33 * MILLION, dollars: 13.2 },
    ].map((line) => ({
      ...line,
      units: expect.closeTo(line.units),
      dollars: expect.closeTo(line.dollars),
    })),
    dollars: expect.closeTo(28.6),
    dollarsBeyondPlan: expect.closeTo(1.2 + 1.2 + 12.8),
  });
});

it.each<readonly [string, string, Partial<Order>]>([
  ["without options", "", {}],
  [
    "with a number of tasks and a rate of retries",
    "--tasks 1.5M --retry-rate 0.25",
    { tasks: 1_500_000, retryRate: 0.25 },
  ],
  [
    "with four options, one of them without a value (--queue)",
    "--tasks 2k --receiver-ms 24000 --polls 3 --queue",
    { tasks: 2_000, receiverMs: 24_000, polls: 3, isQueued: true },
  ],
  [
    "with outputs",
    "--outputs 4 --output-mb 2.5 --output-days 28 --output-reads 30 --chunked",
    { outputs: 4, outputMb: 2.5, outputDays: 28, outputReads: 30, isChunked: true },
  ],
  [
    "with POLL_LATENESS, the time that a job takes, readers and an account",
    "--poll-lateness 20 --job-s 600 --watchers 64 --account",
    { polls: 34, pollLateness: 20, jobS: 600, watchers: 64, hasAccount: true },
  ],
  [
    "with a life, a price and a rate of copies",
    "--life submitted --account --price usage --copy-mb-s 0.5",
    { life: "submitted", hasAccount: true, price: "usage", copyMbPerSecond: 0.5 },
  ],
])(
  "`npm run cost` reads its options, and takes the defaults of those left out, when called %s",
  (_what, options, order) => {
    expect(orderOf(...given(options))).toEqual({ ...JOB, tasks: MILLION, ...order });
  },
);

it.each([
  ["--tasks 10X", '--tasks must be a number of tasks such as 500k or 10M, not "10X"'],
  ["--tasks 0", '--tasks must be a number of tasks such as 500k or 10M, not "0"'],
  ["--tasks 1.0001k", '--tasks must be a number of tasks such as 500k or 10M, not "1.0001k"'],
  ["--retry-rate 1.5", '--retry-rate must be a number from 0 to 1, not "1.5"'],
  ["--receiver-ms 30000", '--receiver-ms must be a whole number from 0 to 24000, not "30000"'],
  ["--polls 1.5", '--polls must be a whole number from 0 to 10000, not "1.5"'],
  ["--poll-lateness 2", '--poll-lateness must be a whole number from 3 to 50, not "2"'],
  ["--poll-lateness x", '--poll-lateness must be a whole number from 3 to 50, not "x"'],
  ["--poll-lateness 7 --polls 6", "--poll-lateness decides the number of polls: leave --polls out"],
  ["--life x", '--life must be one of event, registered, hooks, submitted, not "x"'],
  [
    "--life hooks --polls 6",
    "--polls and --poll-lateness are lives of their own: leave --life out",
  ],
  ["--price fixed", "--price needs --account"],
  ["--copy-mb-s 0", '--copy-mb-s must be a number from 0.1 to 100, not "0"'],
  ["--job-s 0", '--job-s must be a whole number from 1 to 259200, not "0"'],
  ["--watchers 65", '--watchers must be a whole number from 0 to 64, not "65"'],
  ["--watchers 1.5", '--watchers must be a whole number from 0 to 64, not "1.5"'],
  ["--outputs 33", '--outputs must be a whole number from 0 to 32, not "33"'],
  ["--output-mb 5000", '--output-mb must be a number from 1 to 4096, not "5000"'],
  ["--output-days 0", '--output-days must be a whole number from 1 to 365, not "0"'],
  ["--output-reads x", '--output-reads must be a number from 0 to 10000, not "x"'],
  ["--polls -1", '--polls must be a whole number from 0 to 10000, not "-1"'],
])("`npm run cost` refuses the option `%s` and names it", (options, message) => {
  expect(() => orderOf(...given(options))).toThrow(
    expect.objectContaining({ constructor: WrongOption, message }),
  );
});

it("scripts/cost bills for an output its storage for OUTPUT_DAYS, one call for each read, and one write or, in parts of 8 MiB, a write for each part and two more", () => {
  const size = { outputs: 1, outputMb: 10, isChunked: false };
  const use = { ...size, outputDays: 15, outputReads: 3, copyMbPerSecond: 10 };
  const [one, chunked] = [outputUsage(use), outputUsage({ ...use, isChunked: true })];
  expect(one).toMatchObject({ r2ClassA: 1, r2ClassB: 3, r2GbMonths: 0.005, workerRequests: 3 });
  expect(chunked).toMatchObject({ r2ClassA: 4, r2ClassB: 3, r2GbMonths: 0.005 });
  expect(outputUsage({ ...use, outputs: 2 })).toMatchObject({ r2ClassA: 2, r2ClassB: 6 });
  const small = { ...use, outputMb: 8, isChunked: true };
  expect(outputUsage(small).r2ClassA).toBe(1);
});

it("`npm run cost` adds the cost of outputs to the bill of the relay alone, not to those of other services, and describes the outputs in its first line", () => {
  const [plain, withOutputs] = ["", "--outputs 2 --output-mb 10"].map((options) =>
    report(orderOf(...given(options))).split("\n"),
  );
  expect(withOutputs?.[0]).toContain("2 outputs of 10 MB kept for 3 days and read once, index");
  expect(withOutputs?.join("\n")).toContain("storage of R2");
  expect(withOutputs?.find((line) => line.startsWith("Queues"))).toBe(
    plain?.find((line) => line.startsWith("Queues")),
  );
});

it("`npm run cost` states in its first line how many polls and streams a job of its bill has, and whether the tasks belong to accounts", () => {
  const [line] = report(
    orderOf(...given("--poll-lateness 20 --job-s 600 --watchers 2 --account")),
  ).split("\n");
  expect(line).toBe(
    "1,000,000 tasks of accounts, 34 polls of a job of 600 s at POLL_LATENESS 20, 0 % of the attempts fail, receivers take 300 ms, 2 streams of 600 s ($2.98 per million tasks), index",
  );
});

it("the help of `npm run cost` names every option", () => {
  for (const option of [...Object.keys(DEFAULTS), "account", "chunked", "queue"]) {
    expect(USAGE).toContain(`  --${option} `);
  }
});
