import { expect, it, vi } from "vitest";
import * as z from "zod";
import {
  FAILED_CALLBACK,
  IDLE_POLL,
  LIVES as COUNTED,
  type Meters,
  plus,
  POLLED_ONCE,
  REPEATED_ATTEMPT,
} from "../../scripts/cost/lives.ts";
import { rollUp } from "../../src/index-db/rollups.ts";
import { TimeBudget } from "../../src/time-budget.ts";
import { pass, START } from "../worker/clock.ts";
import { anOutside, answering, type Site } from "../worker/outside.ts";
import { never } from "../worker/receiver.ts";
import { aCompletion, CALLBACK_URL, VIDEO } from "../worker/tasks.ts";
import { MeteredLife } from "./life-meters.ts";
import { metered } from "./bindings.ts";
import { DAY, db, rowsOfTask, useIndex } from "./support.ts";

useIndex();

const SECOND = 1_000;
const END = START + 110 * SECOND;
/** End times of jobs without hooks, by the number of the poll that finds the end. */
const POLLED_ENDS = {
  first: START + 20 * SECOND,
  sixth: START + 330 * SECOND,
  seventh: START + 390 * SECOND,
};
const JOB = "cgt-20261122120000-abcde";

interface Life {
  /** Words for titles that follow "a task that": the beginning and the end of such a task. */
  readonly kind: string;
  readonly hasIndex: boolean;
  readonly live: (life: MeteredLife) => Promise<unknown>;
  /** End of the job; Unix milliseconds. */
  readonly endAt?: number;
  readonly receiver?: Site;
  /** Consumption of the task as docs/cost.md and `npm run cost` state it. */
  readonly meters: Meters;
}

const created = { model: "m", callback_url: CALLBACK_URL };

const event = COUNTED["event, index"];
const LIVES: readonly Life[] = [
  {
    meters: COUNTED["event, no index"],
    kind: "an event creates and ends in a relay without an index",
    hasIndex: false,
    live: (life) => report(life, created),
  },
  {
    meters: COUNTED["event, index"],
    kind: "an event creates and ends in a relay with an index",
    hasIndex: true,
    live: (life) => report(life, created),
  },
  {
    meters: COUNTED["registered, index"],
    kind: "is registered, and ended by an event, in a relay with an index",
    hasIndex: true,
    live: liveRegistered,
  },
  polled("sixth", COUNTED["Ark polled six times, index"]),
  {
    meters: COUNTED["Ark with hooks, index"],
    kind: "ends by a hook of the provider ark in a relay with an index",
    hasIndex: true,
    live: liveHooked,
  },
  {
    meters: COUNTED["Ark with hooks, index, receiver hangs 3 times"],
    kind: "ends by a hook of ark, with a receiver that hangs three times, in a relay with an index",
    hasIndex: true,
    live: liveHooked,
    receiver: (_, signal) => {
      pass(10 * SECOND);
      return never(signal);
    },
  },
  polled("first", POLLED_ONCE),
  polled("seventh", plus(COUNTED["Ark polled six times, index"], IDLE_POLL)),
  failing(1, plus(event, REPEATED_ATTEMPT)),
  failing(2, plus(event, REPEATED_ATTEMPT, 2)),
  failing(3, plus(plus(event, REPEATED_ATTEMPT, 2), FAILED_CALLBACK)),
];

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
  await life.liveUntil(POLLED_ENDS.seventh + 60 * SECOND);
}

/** Lets a job of Ark end after 110 s and send three hooks. */
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

/** Lets the time limit of an attempt pass at once. */
function hurry(): void {
  const start = globalThis.setTimeout;
  vi.spyOn(globalThis, "setTimeout").mockImplementation((run, delay, ...values) =>
    start(run, delay === 10 * SECOND ? 0 : delay, ...values),
  );
}

/** Builds a site that answers after `ms` milliseconds. */
function after(ms: number, body: () => object): Site {
  return (sent, signal) => {
    const answer = body();
    pass(ms);
    return answering(answer)(sent, signal);
  };
}

/** Tasks that are added to an hour, so that only what each further task adds is counted. */
const COPIES = 100;
const COPY = `
  WITH RECURSIVE number (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM number WHERE n < ${COPIES})
  INSERT INTO tasks (id, COLUMNS) SELECT ?1 || '-' || ?2 || n, COLUMNS FROM tasks, number WHERE id = ?1`;

/** Returns the rows that D1 reads to count one further task like this one in the hour in which it was created. */
async function readByCount(id: string): Promise<number> {
  const [row] = await rowsOfTask(id);
  const columns = Object.keys(row ?? {}).filter((name) => name !== "id");
  const copy = COPY.replaceAll("COLUMNS", columns.join(", "));
  const reads: number[] = [];
  for (const copies of ["a", "b"]) {
    await db.prepare(copy).bind(id, copies).run();
    const { rows, INDEX_DB } = metered(db);
    await rollUp(INDEX_DB, 7 * DAY, Date.now(), new TimeBudget(DAY));
    reads.push(rows.read);
  }
  await db.prepare("DELETE FROM tasks WHERE id LIKE ?").bind(`${id}-%`).run();
  const [first = 0, second = 0] = reads;
  return Math.round((second - first) / COPIES);
}

/** Row that each run writes with the ids of all tasks whose rows it removes, up to 5,000 at a time. */
const LIST_OF_REMOVED = 1;

async function count({ hasIndex, live, receiver, endAt = END }: Life): Promise<Meters> {
  const outside = anOutside();
  outside.on(
    "https://ark.",
    after(400, () => ark(endAt)),
  );
  outside.on(CALLBACK_URL, receiver ?? after(300, () => ({})));
  hurry();
  vi.spyOn(Math, "random").mockReturnValue(0);
  const life = new MeteredLife(outside, hasIndex, { ARK_API_KEY: "test-only-ark-key" });
  await live(life);
  await life.liveUntil(Date.now() + 900 * SECOND);
  await life.send(`/v1/tasks/${life.id}`);
  const counted = hasIndex ? await readByCount(life.id) : 0;
  await life.liveUntil(Date.now() + 28 * DAY);
  expect(await life.isErased()).toBe(true);
  if (hasIndex) await life.sweep();
  const meters = await life.meters();
  const d1Written = meters.d1Written - (hasIndex ? LIST_OF_REMOVED : 0);
  return { ...meters, d1Written, d1Read: meters.d1Read + counted };
}

/** Returns a life that an event ends, whose receiver answers 500 to the first attempts. */
function failing(times: number, meters: Meters): Life {
  let left = times;
  const receiver: Site = (sent, signal) => {
    pass(300);
    return answering({}, left-- > 0 ? 500 : 200)(sent, signal);
  };
  const kind = `ends by an event, with ${times} failed callback ${times === 1 ? "attempt" : "attempts"}, in a relay with an index`;
  return { kind, hasIndex: true, live: (life) => report(life, created), receiver, meters };
}

/** Returns a life in a relay with an index whose job sends no hook and is found by a poll. */
function polled(poll: keyof typeof POLLED_ENDS, meters: Meters): Life {
  const kind = `ends by the ${poll} poll of ark, in a relay with an index,`;
  return { kind, hasIndex: true, live: livePolled, endAt: POLLED_ENDS[poll], meters };
}

it.each(LIVES.map((life) => [life.kind, life] as const))(
  "a task that %s uses exactly the requests, rows and log lines that docs/cost.md and `npm run cost` state",
  async (_, life) => {
    expect(await count(life)).toEqual(life.meters);
  },
);
