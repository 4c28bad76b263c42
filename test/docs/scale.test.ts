import { expect, it } from "vitest";
import SCALE_PAGE from "../../docs/scale.md?raw";
import SELF_HOST_PAGE from "../../docs/self-host.md?raw";
import README from "../../README.md?raw";
import { LIVES } from "../../scripts/cost/lives.ts";
import { ASSUMED, billOf, gbMonths, usageOf } from "../../scripts/cost/usage.ts";
import { PRICES } from "../../scripts/cost/prices.ts";
import { DEADLINE_EXTENSION } from "../../src/core/policy.ts";
import { MAX_ENDED_BYTES } from "../../src/core/plans/stored-size.ts";
import { STEPS } from "../../src/cron/cron.ts";
import { MAX_INDEX_BYTES } from "../../src/index-db/limits.ts";
import { CopySlots, STATED_UNITS } from "../../src/objects/output/copy-slots.ts";
import { ROUND_QUERIES, ROWS_AT_ONCE, SWEEP_QUERIES } from "../../src/index-db/sweep.ts";

const LINES = SCALE_PAGE.split("\n");
const HOUR_S = 3_600;
const DAY_S = 24 * HOUR_S;
const MONTH_S = 30 * DAY_S;
const MILLION = 1_000_000;
const { rowsWritten, indexWrites, logLines } = LIVES["Ark with hooks, index"];
/** Part of a database that the tasks of one span of time may fill: docs/index.md recommends 6 of 10 GB. */
const SPAN_BYTES = 0.6 * MAX_INDEX_BYTES.paid;
const DEADLINE_DAYS = 3;
/** Limits of the platform, as the page's first table has them. */
const PLATFORM = {
  objectPerS: 1_000,
  messagesPerS: 5_000,
  logLinesPerDay: 5e9,
  accountBytes: 1e12,
};
/** Size of an index row until its task is erased, in bytes times days: 22 bytes stay after the row. */
const ROW_BYTE_DAYS =
  ASSUMED.indexRowBytes * ASSUMED.indexRowDays + 22 * (ASSUMED.objectDays - ASSUMED.indexRowDays);

/**
 * Returns the number of databases that an index needs for so many tasks per second, in the words of the page.
 */
function databases(tasksPerS: number): string {
  if (tasksPerS * DAY_S * ROW_BYTE_DAYS <= MAX_INDEX_BYTES.paid) return "1";
  const hours = Math.floor(SPAN_BYTES / (ASSUMED.indexRowBytes * tasksPerS * HOUR_S));
  if (hours === 0) return "more than one an hour";
  const least = (ASSUMED.indexRowDays + DEADLINE_DAYS * (1 + DEADLINE_EXTENSION)) * 24 + 1;
  return `${Math.ceil(Math.floor(least) / hours)}, ${hours} h each`;
}

/** Tasks per second from which the page requires the queue, whose price its table then contains. */
const QUEUE_FROM = 80;

it("README.md, self-host.md and scale.md state the same tasks per second for one workerd, and README.md and scale.md also for BullMQ", () => {
  const [, relay, bullmq] =
    /one workerd on a disk carries (.+?) per second, BullMQ ([\d,]+)/.exec(README) ?? [];
  expect(SCALE_PAGE).toContain(`One workerd on a disk carried ${relay} tasks per second`);
  expect(SELF_HOST_PAGE).toContain(`(${relay} tasks per second on a disk, `);
  expect(SCALE_PAGE).toContain(`on the same disk BullMQ carried ${bullmq}, `);
});

it.each([1, 10, 100, 300, 1_000, 2_500, 5_000, 10_000])(
  "docs/scale.md states the rows, databases, log lines and price for %i tasks per second, as computed from those of one task",
  (tasksPerS) => {
    const isQueued = tasksPerS >= QUEUE_FROM;
    const usage = usageOf(LIVES["Ark with hooks, index"], { receiverMs: 300, isQueued });
    const { dollars } = billOf(usage, tasksPerS * MONTH_S);
    const lines = ((tasksPerS * logLines * DAY_S) / MILLION).toFixed(1);
    const cells = [
      tasksPerS.toLocaleString("en-US"),
      (tasksPerS * rowsWritten).toLocaleString("en-US"),
      (tasksPerS * indexWrites).toLocaleString("en-US"),
      databases(tasksPerS),
      `${lines} M`,
      `$${Number(dollars.toPrecision(2)).toLocaleString("en-US")}`,
    ];
    expect(LINES).toContain(`| ${cells.join(" | ")} |`);
  },
);

/** Time of one direct write to D1, as the page states it at most, in seconds. */
const DIRECT_WRITE_S = 0.005;
/** Time in which D1 counts one row of an hour, as the page states it, in seconds. */
const COUNT_S = 5.6e-6;
const COUNTING_S = (STEPS.find(({ name }) => name === "counts")?.maxMs ?? 0) / 1_000;
const removal = STEPS.find(({ name }) => name === "expired")?.maxQueries.paid ?? 0;

/** Returns the rows that the cron trigger deletes in a second, on average, from an index for this load. */
function removedPerS(tasksPerS: number): number {
  // Each database takes a round, and the database with the expired rows may be at any place in the order.
  const others = (Number.parseInt(databases(tasksPerS), 10) - 1) / 2;
  const queries = removal - SWEEP_QUERIES - others * (SWEEP_QUERIES + ROUND_QUERIES);
  return ((queries / ROUND_QUERIES) * ROWS_AT_ONCE) / 600;
}

/** Returns how many outputs of stated length an isolate copies for one account at the same time. */
function copiesAtOnce(): number {
  const slots = new CopySlots();
  const claim = { name: "one", host: "cdn.example", account: "acme", units: STATED_UNITS };
  let taken = 0;
  while (slots.take(claim, 0).slot !== null) taken += 1;
  return taken;
}

it.each([
  ["46", "size of one D1 database", MAX_INDEX_BYTES.paid / (DAY_S * ROW_BYTE_DAYS)],
  [`${QUEUE_FROM}`, "D1 works on one query at a time", 0.8 / (DIRECT_WRITE_S * indexWrites)],
  [
    "31 on one connection",
    "the object of the connection, where `polls_per_minute` is set, no hook comes and each job takes 100 s, which are 32 polls",
    PLATFORM.objectPerS / 32,
  ],
  ["420", "deletion of expired rows from the index", removedPerS(420)],
  [
    "5,950",
    "the count of the index rows of an hour takes two minutes",
    COUNTING_S / (HOUR_S * COUNT_S),
  ],
  [
    "2,500",
    "the messages of one queue, at two index writes per task",
    PLATFORM.messagesPerS / indexWrites,
  ],
  [
    "13 with an output of 50 MB at 10 MB per second, in each isolate",
    `copies: ${copiesAtOnce()} at a time for one account`,
    copiesAtOnce() / (50 / 10),
  ],
  ["4,600", "1 TB of D1 in one account", PLATFORM.accountBytes / (DAY_S * ROW_BYTE_DAYS)],
  ["5,260", "5 billion log lines a day", PLATFORM.logLinesPerDay / DAY_S / 11],
])(
  "docs/scale.md states the computed number of tasks per second (%s) at which the following limit is reached: %s",
  (from, limit, rate) => {
    const row = LINES.find((line) => line.startsWith(`| ${from} | ${limit}`)) ?? "";
    const stated = Number(/[\d,]+/.exec(row)?.[0].replaceAll(",", ""));
    expect(Math.abs(stated - rate) / rate).toBeLessThan(0.02);
  },
);

it("docs/scale.md states the largest size of a stored task", () => {
  expect(SCALE_PAGE).toContain(`a stored task ${MAX_ENDED_BYTES / MILLION} MB`);
});

it.each([1, 16, 64, 256])(
  "docs/scale.md states what a million tasks cost in storage and how many tasks fit into the memory of one isolate, for payloads of %i KB",
  (kb) => {
    const bytes = kb * 1_024;
    const stored = gbMonths(ASSUMED.objectBytes + bytes, ASSUMED.objectDays) * MILLION;
    const dollars = stored * PRICES.objectGbMonths.dollars;
    const inIsolate = Math.floor((128 * MILLION) / (5 * bytes));
    const cells = [`${kb} KB`, `$${dollars.toFixed(2)}`, inIsolate.toLocaleString("en-US")];
    expect(LINES).toContain(`| ${cells.join(" | ")} |`);
  },
);
