import { expect, it } from "vitest";
import COST_PAGE from "../../docs/cost.md?raw";
import README from "../../README.md?raw";
import { CONTENDERS, type Job } from "../../scripts/cost/job.ts";
import { LIVES } from "../../scripts/cost/lives.ts";
import { DEFAULTS, type Order, orderOf, WrongOption } from "../../scripts/cost/options.ts";
import { type Meter, PRICES } from "../../scripts/cost/prices.ts";
import { report } from "../../scripts/cost/report.ts";
import { ASSUMED, billOf, usageOf } from "../../scripts/cost/usage.ts";

const LINES = COST_PAGE.split("\n");
const MILLION = 1_000_000;

/** Names of the billed operations, in the order of the columns of the page's table of dollars. */
const COLUMNS: readonly (readonly Meter[])[] = [
  ["workerRequests", "cpuMs"],
  ["objectRequests"],
  ["durationGbS"],
  ["rowsWritten", "rowsRead"],
  ["objectGbMonths"],
  ["d1Written", "d1Read", "d1GbMonths"],
  ["logLines"],
];

const BILLS = Object.entries(LIVES).map(([name, meters]) => {
  const receiverMs = name.includes("hangs") ? 10_000 : 300;
  return [name, meters, billOf(usageOf(meters, { receiverMs, isQueued: false }), MILLION)] as const;
});

it.each(BILLS)(
  'docs/cost.md has a row with counts of operations and a row with prices for the kind of task that it calls "%s"',
  (name, meters, bill) => {
    const columns = COLUMNS.map((column) =>
      bill.lines.reduce(
        (sum, { meter, dollars }) => sum + (column.includes(meter) ? dollars : 0),
        0,
      ),
    );
    const dollars = [...columns, bill.dollars].map((price) => price.toFixed(2));
    const { workerRequests, objectRequests, rowsWritten, rowsRead, d1Written, d1Read } = meters;
    const { logLines, subrequests, polls, indexWrites, attempts } = meters;
    const objects = [workerRequests, objectRequests, rowsWritten, rowsRead];
    const others = [d1Written, d1Read, logLines, subrequests, polls, indexWrites, attempts];
    expect(LINES).toContain(`| ${name} | ${[...objects, ...others].join(" | ")} |`);
    expect(LINES).toContain(`| ${name} | ${dollars.join(" | ")} |`);
  },
);

it("docs/cost.md lists the price of every meter with its source and its date", () => {
  const listed = LINES.filter((line) => / \| \[[\w\s]+\]\(https:\/\/\S+\) \| /.test(line));
  const existing = Object.values(PRICES).map(({ title, dollars, unit, included, source, asOf }) => {
    const { name, url } = source;
    const price = `$${dollars.toFixed(Number.isInteger(dollars * 100) ? 2 : 3)} per ${unit}`;
    return `| ${title} | ${price} | ${included.toLocaleString("en-US")} | [${name}](${url}) | ${asOf} |`;
  });
  expect(listed).toEqual(existing);
});

it("docs/cost.md states what the prices assume and do not count", () => {
  const { cpuMsPerRequest, secondsPerObjectRequest, secondsPerPoll, secondsPerIndexWrite } =
    ASSUMED;
  const { objectBytes, objectDays, indexRowBytes, indexRowDays } = ASSUMED;
  for (const text of [
    `- ${cpuMsPerRequest} ms of CPU per request`,
    `${secondsPerObjectRequest * 1000} ms per request or alarm`,
    `${secondsPerPoll} s per poll, ${secondsPerIndexWrite} s per write`,
    `${objectBytes.toLocaleString("en-US")} bytes per object for ${objectDays} days`,
    `${indexRowBytes} bytes in D1 for ${indexRowDays} days`,
  ])
    expect(COST_PAGE).toContain(text);
});

it("docs/cost.md shows what `npm run cost` prints for the options that it names", () => {
  const [, options = "", output = ""] =
    /```text\n\$ npm run cost -- (.*)\n\n([^`]*)\n```/.exec(COST_PAGE) ?? [];
  expect(output).toBe(report(orderOf(...given(options))));
});

it("the README rounds the prices of docs/cost.md to dollars", () => {
  const sentence = README.split("\n").find((line) => line.startsWith("At the list prices")) ?? "";
  const stated = [...sentence.matchAll(/\$(\d+)/g)].map(([, dollars]) => Number(dollars));
  const named = BILLS.filter(([name]) => !name.includes("polled"));
  expect(stated).toEqual(named.map(([, , bill]) => Math.round(bill.dollars)));
});

/** Returns the values of a command line in the form that `npm run cost` gets from its parser. */
function given(options: string) {
  const pairs = [...options.matchAll(/--([\w-]+) (-?[\w.]+)/g)].map(([, name, text]) => [
    name,
    text,
  ]);
  return [{ ...DEFAULTS, ...Object.fromEntries(pairs) }, options.includes("--queue")] as const;
}

const JOB: Job = { retryRate: 0, receiverMs: 300, polls: 0, isQueued: false };

it.each<readonly [string, readonly number[], Job]>([
  ["without polls and failures", [17.92, 20.33, 2.97, 11.68], JOB],
  ["with one poll", [19.74, 20.39, 4.26, 22.04], { ...JOB, polls: 1 }],
  ["with six polls", [36.99, 20.81, 7.69, 94.56], { ...JOB, polls: 6 }],
  ["whose attempts all fail", [36.9, 22.25, 5.75, 33.48], { ...JOB, retryRate: 1 }],
  [
    "whose index writes go through the queue",
    [20.33, 20.33, 2.97, 11.68],
    { ...JOB, isQueued: true },
  ],
  ["whose receivers hang", [33.44, 20.33, 2.97, 11.68], { ...JOB, receiverMs: 10_000 }],
])(
  "a million tasks %s cost, in dollars, with the relay, Cloudflare Workflows, Cloudflare Queues and QStash: %j",
  (_, prices, job) => {
    const bills = Object.values(CONTENDERS).map((usage) => billOf(usage(job), MILLION).dollars);
    expect(bills.map((dollars) => Number(dollars.toFixed(2)))).toEqual(prices);
  },
);

it("the bill for usage beyond the paid plan leaves out, for each kind of operation, the amount that the plan includes", () => {
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
    "--tasks 2k --receiver-ms 25000 --polls 3 --queue",
    { tasks: 2_000, receiverMs: 25_000, polls: 3, isQueued: true },
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
  ["--receiver-ms 30000", '--receiver-ms must be a whole number from 0 to 25000, not "30000"'],
  ["--polls 1.5", '--polls must be a whole number from 0 to 10000, not "1.5"'],
  ["--polls -1", '--polls must be a whole number from 0 to 10000, not "-1"'],
])("`npm run cost` refuses `%s` and names the option", (options, message) => {
  expect(() => orderOf(...given(options))).toThrow(
    expect.objectContaining({ constructor: WrongOption, message }),
  );
});
