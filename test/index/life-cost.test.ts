import { expect, it, vi } from "vitest";
import COST_PAGE from "../../docs/cost.md?raw";
import * as z from "zod";
import { rollUp } from "../../src/index-db/rollups.ts";
import type { IndexRow } from "../../src/core/views/index-row.ts";
import { TimeBudget } from "../../src/time-budget.ts";
import { pass, START } from "../worker/clock.ts";
import { anOutside, answering, type Site } from "../worker/outside.ts";
import { never } from "../worker/receiver.ts";
import { aCompletion, CALLBACK_URL, VIDEO } from "../worker/tasks.ts";
import { MeteredLife, type Meters } from "./life-meters.ts";
import { metered } from "./bindings.ts";
import { aRow, DAY, db, insert, useIndex } from "./support.ts";

useIndex();

const SECOND = 1_000;
const END = START + 110 * SECOND;
/** End of a job without hooks: between its fifth and its sixth poll, whatever the id of the task is. */
const POLLED_END = START + 136.5 * SECOND;
const JOB = "cgt-20261122120000-abcde";

interface Life {
  /** How such a task begins and ends, for titles: continues "a task that ". */
  readonly kind: string;
  readonly hasIndex: boolean;
  readonly live: (life: MeteredLife) => Promise<unknown>;
  /** End of the job; Unix milliseconds. */
  readonly endAt?: number;
  readonly receiver?: Site;
}

const created = { model: "m", callback_url: CALLBACK_URL };

const LIVES: Readonly<Record<string, Life>> = {
  "event, no index": {
    kind: "an event creates and ends in a relay without an index",
    hasIndex: false,
    live: (life) => report(life, created),
  },
  "event, index": {
    kind: "an event creates and ends in a relay with an index",
    hasIndex: true,
    live: (life) => report(life, created),
  },
  "registered, index": {
    kind: "is registered, and ended by an event, in a relay with an index",
    hasIndex: true,
    live: liveRegistered,
  },
  "Ark polled six times, index": {
    kind: "ends by the sixth poll of the provider ark, which sends no hooks, in a relay with an index",
    hasIndex: true,
    live: livePolled,
    endAt: POLLED_END,
  },
  "Ark with hooks, index": {
    kind: "ends by a hook of the provider ark in a relay with an index",
    hasIndex: true,
    live: liveHooked,
  },
  "Ark with hooks, index, receiver hangs 3 times": {
    kind: "ends by a hook of ark, and whose receiver hangs three times, in a relay with an index",
    hasIndex: true,
    live: liveHooked,
    receiver: (_, signal) => {
      pass(10 * SECOND);
      return never(signal);
    },
  },
};

/** The meters of each life, in the order of the columns of docs/cost.md. */
const METERS = [
  "workerRequests",
  "objectRequests",
  "rowsWritten",
  "rowsRead",
  "d1Written",
  "d1Read",
  "logLines",
  "subrequests",
  "polls",
  "publications",
  "attempts",
] as const;

const COUNTED: Readonly<Record<string, readonly number[]>> = {
  "event, no index": [2, 3, 4, 8, 0, 0, 1, 3, 0, 0, 1],
  "event, index": [2, 3, 5, 10, 4, 25, 1, 4, 0, 1, 1],
  "registered, index": [3, 5, 9, 14, 6, 28, 1, 6, 0, 2, 1],
  "Ark polled six times, index": [3, 12, 19, 35, 8, 31, 1, 13, 6, 3, 1],
  "Ark with hooks, index": [6, 8, 15, 20, 6, 28, 1, 10, 1, 2, 1],
  "Ark with hooks, index, receiver hangs 3 times": [6, 12, 25, 36, 11, 34, 4, 14, 1, 4, 3],
};

async function report(life: MeteredLife, fields: object = {}): Promise<void> {
  await life.send("/v1/events", { body: aCompletion(life.id, fields) });
  await life.settle();
}

async function liveRegistered(life: MeteredLife): Promise<void> {
  await life.send("/v1/tasks", { body: { id: life.id, ...created } });
  await life.liveUntil(END);
  await report(life);
}

/** Registers a task, attaches a job of Ark one second later, and returns the hook URL. */
async function attached(life: MeteredLife): Promise<string> {
  const body = { id: life.id, ...created, provider: "ark" };
  const Registered = z.object({ hook_url: z.string() });
  const registered = await life.send("/v1/tasks", { body });
  await life.liveUntil(START + SECOND);
  await life.send(`/v1/tasks/${life.id}/upstream`, { body: { provider: "ark", id: JOB } });
  return Registered.parse(await registered.json()).hook_url;
}

async function livePolled(life: MeteredLife): Promise<void> {
  await attached(life);
  await life.liveUntil(POLLED_END + 60 * SECOND);
}

/** Lives through a job of Ark that ends after 110 s and sends three hooks. */
async function liveHooked(life: MeteredLife): Promise<void> {
  const hookUrl = await attached(life);
  const hook = async (status: string, at: number) => {
    await life.liveUntil(at);
    await life.send(new URL(hookUrl).pathname, { body: { id: JOB, status }, key: null });
    await life.settle();
  };
  await hook("queued", START + 2 * SECOND);
  await hook("running", START + 10 * SECOND);
  await hook("succeeded", END);
}

function ark(endAt: number) {
  if (Date.now() >= endAt) return { id: JOB, status: "succeeded", content: { video_url: VIDEO } };
  return { id: JOB, status: Date.now() < START + 10 * SECOND ? "queued" : "running" };
}

/** Lets the time limit of an attempt be up at once. */
function hurry(): void {
  const start = globalThis.setTimeout;
  vi.spyOn(globalThis, "setTimeout").mockImplementation((run, delay, ...values) =>
    start(run, delay === 10 * SECOND ? 0 : delay, ...values),
  );
}

/** Answers after the time that an answer takes. */
function after(ms: number, body: () => object): Site {
  return (sent, signal) => {
    const answer = body();
    pass(ms);
    return answering(answer)(sent, signal);
  };
}

/** Counts the hour again in which the task was created, and returns the rows that this reads. */
async function countHour(other: IndexRow): Promise<number> {
  await insert(other);
  const { rows, INDEX_DB } = metered(db);
  await rollUp(INDEX_DB, 7 * DAY, Date.now(), new TimeBudget(DAY));
  return rows.read;
}

async function count({ hasIndex, live, receiver, endAt = END }: Life): Promise<Meters> {
  const outside = anOutside();
  outside.on(
    "https://ark.",
    after(400, () => ark(endAt)),
  );
  outside.on(CALLBACK_URL, receiver ?? after(300, () => ({})));
  hurry();
  vi.spyOn(Math, "random").mockReturnValue(0);
  // Another task of the same hour, so that only what this task adds is counted.
  const other = aRow();
  await countHour(other);
  const before = await countHour({ ...other, version: other.version + 1 });
  await insert({ ...other, version: other.version + 2 });
  const life = new MeteredLife(outside, hasIndex, { ARK_API_KEY: "test-only-ark-key" });
  await live(life);
  await life.liveUntil(Date.now() + 900 * SECOND);
  await life.send(`/v1/tasks/${life.id}`);
  const counted = hasIndex
    ? (await countHour({ ...other, version: other.version + 3 })) - before
    : 0;
  await life.liveUntil(Date.now() + 28 * DAY);
  expect(await life.isErased()).toBe(true);
  if (hasIndex) await life.sweep();
  const meters = await life.meters();
  return { ...meters, d1Read: meters.d1Read + counted };
}

const KINDS = Object.entries(LIVES).map(([name, life]) => [life.kind, name, life] as const);

it.each(KINDS)(
  "a task that %s uses exactly the requests, rows and log lines that this test lists for it",
  async (_, name, life) => {
    const meters = await count(life);
    expect(METERS.map((meter) => meters[meter])).toEqual(COUNTED[name]);
  },
);

/** Seconds of an object, as docs/cost.md assumes them. */
const SECONDS = { request: 0.02, poll: 0.4, publication: 0.15, callback: 0.3, timeout: 10 };

/** Returns the price of a million lives in dollars, by the prices and assumptions of docs/cost.md. */
function pricesOf(counts: readonly number[], { hasIndex, receiver }: Life): readonly string[] {
  const of = (meter: (typeof METERS)[number]) => counts[METERS.indexOf(meter)] ?? 0;
  const seconds =
    of("objectRequests") * SECONDS.request +
    of("polls") * SECONDS.poll +
    of("publications") * SECONDS.publication +
    of("attempts") * (receiver === undefined ? SECONDS.callback : SECONDS.timeout);
  const prices = [
    of("workerRequests") * (0.3 + 3 * 0.02),
    of("objectRequests") * 0.15,
    seconds * 1.6,
    of("rowsWritten") + of("rowsRead") * 0.001,
    2.29,
    of("d1Written") + of("d1Read") * 0.001 + (hasIndex ? 0.05 : 0),
    of("logLines") * 0.6,
  ];
  return [...prices, prices.reduce((sum, price) => sum + price)].map((price) => price.toFixed(2));
}

it.each(KINDS)(
  "docs/cost.md states the requests, rows and log lines that were counted, and the price they make, for a task that %s",
  (_, name, life) => {
    const counts = COUNTED[name] ?? [];
    const lines = COST_PAGE.split("\n");
    expect(lines).toContain(`| ${name} | ${counts.join(" | ")} |`);
    expect(lines).toContain(`| ${name} | ${pricesOf(counts, life).join(" | ")} |`);
  },
);
