import { env } from "cloudflare:workers";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import * as z from "zod";
import {
  ENDLESS_HOUR,
  FAILED_CALLBACK,
  IDLE_POLL,
  JOB_ENTRY,
  KEPT_LIFE,
  LATE_ROWS,
  LIVES as COUNTED,
  type Meters,
  plus,
  POLLED_ALONE,
  POLLED_ONCE,
  PROGRESS_CALLBACK,
  READERS,
  REPEATED_ATTEMPT,
  withAccount,
} from "../../scripts/cost/lives.ts";
import { outputMeters } from "../../scripts/cost/outputs.ts";
import { countHours } from "../../src/index-db/count-hours.ts";
import { ANSWER_WAIT_MS } from "../../src/core/policy.ts";
import { TimeBudget } from "../../src/lib/time-budget.ts";
import { anAccount, grant } from "../worker/accounts.ts";
import { HTML, logIn } from "../worker/browser.ts";
import { pass, realMs, START, until } from "../worker/clock.ts";
import { anOutside, answering, type Outside, type Site } from "../worker/outside.ts";
import { never } from "../worker/receiver.ts";
import { ARK_PATH, MODEL, sentToArk } from "../worker/submitted.ts";
import { aCompletion, CALLBACK_URL, VIDEO } from "../worker/tasks.ts";
import { type IndexKind, MeteredLife } from "./life-meters.ts";
import { metered } from "./bindings.ts";
import { DAY, db, rowsOfTask, useIndex } from "./support.ts";

useIndex();

/** Reference that keeps its value: otherwise the collection of garbage would decide how often a record is read. */
class StrongRef<T> {
  readonly #value: T;

  constructor(value: T) {
    this.#value = value;
  }

  deref(): T {
    return this.#value;
  }
}

beforeEach(() => void vi.stubGlobal("WeakRef", StrongRef));
afterEach(() => void vi.unstubAllGlobals());

const SECOND = 1_000;
const END = START + 110 * SECOND;
/** End times of jobs without hooks, by the number of the poll that finds the end. */
const POLLED_ENDS = {
  first: START + 20 * SECOND,
  sixth: START + 330 * SECOND,
  seventh: START + 390 * SECOND,
};
const JOB = "cgt-20261122120000-abcde";
/** A connection with one place. */
const LIMITED = "ark-limited";
const LIMITED_ENTRY = { provider: "ark", key: "test-only-ark-key", in_flight: 1 };

/** The output of the life in which one is kept. */
const KEPT_OUTPUT = {
  outputs: 1,
  outputMb: 1,
  isChunked: false,
  outputDays: 3,
  copyMbPerSecond: 10,
};

interface Life {
  /** Words for titles that follow "a task that": the beginning and the end of such a task. */
  readonly kind: string;
  readonly index: IndexKind;
  readonly live: (life: MeteredLife, facts: Facts) => Promise<unknown>;
  /** End of the job; Unix milliseconds. */
  readonly endAt?: number;
  readonly hasAccount?: boolean;
  readonly variables?: Readonly<Record<string, unknown>>;
  /** Connection at which the job runs; by default that of Ark. */
  readonly connection?: string;
  readonly receiver?: Site;
  /** True when the relay keeps the output of the task, whose copy expires before the task. */
  readonly isOutputKept?: true;
  /** True when the receiver never answers, so that the time limit of an attempt is to pass soon. */
  readonly isTimedOut?: boolean;
  /** Consumption of the task as docs/cost.md and `npm run cost` state it. */
  readonly meters: Meters;
}

/** Facts on which a life depends besides its kind. */
interface Facts {
  readonly endAt: number;
  /** Account of the task; null when it has none. */
  readonly account: string | null;
  readonly outside: Outside;
}

const created = { model: "m", callback_url: CALLBACK_URL };

const hooked = COUNTED["Ark with hooks, index"];
const submitted = COUNTED["submitted, Ark with hooks, index"];
const priced = COUNTED["submitted for an account at a price, index"];
const event = COUNTED["event, index"];
const registered = COUNTED["registered, index"];
const LIVES: readonly Life[] = [
  failing(1, plus(event, REPEATED_ATTEMPT)),
  failing(2, plus(event, REPEATED_ATTEMPT, 2)),
  failing(3, plus(plus(event, REPEATED_ATTEMPT, 2), FAILED_CALLBACK)),
  {
    meters: COUNTED["event, no index"],
    kind: "an event creates and ends in a relay without an index",
    index: "none",
    live: (life) => report(life, created),
  },
  {
    meters: event,
    kind: "an event creates and ends in a relay with an index",
    index: "works",
    live: (life) => report(life, created),
  },
  {
    meters: registered,
    kind: "is registered, and ended by an event, in a relay with an index",
    index: "works",
    live: liveRegistered,
  },
  {
    meters: COUNTED["registered with an account, index"],
    kind: "is registered for an account, and ended by an event, in a relay with an index",
    index: "works",
    hasAccount: true,
    live: liveRegistered,
  },
  polled("sixth", COUNTED["Ark polled six times, index"]),
  {
    meters: hooked,
    kind: "ends by a hook of the provider ark in a relay with an index",
    index: "works",
    live: liveHooked,
  },
  {
    meters: plus(hooked, PROGRESS_CALLBACK),
    kind: "tells its receiver that its job runs, and ends by a hook of the provider ark, in a relay with an index,",
    index: "works",
    live: liveTold,
  },
  {
    meters: submitted,
    kind: "is submitted to ark by the relay and ends by a hook, in a relay with an index",
    index: "works",
    live: liveSubmitted,
  },
  {
    meters: COUNTED["queued, Ark with hooks, index"],
    kind: "is submitted to a connection whose only place is taken, waits for it, and ends by a hook, in a relay with an index,",
    index: "works",
    live: liveQueued,
    connection: LIMITED,
    variables: { CONNECTIONS: JSON.stringify({ [LIMITED]: { ...LIMITED_ENTRY } }) },
  },
  {
    meters: priced,
    kind: "is submitted to ark for an account at a price and ends by a hook, in a relay with an index",
    index: "works",
    hasAccount: true,
    live: livePriced,
  },
  {
    meters: KEPT_LIFE,
    kind: "is submitted to ark for an account at a price and ends by a hook with an output that is kept, in a relay with an index",
    index: "works",
    hasAccount: true,
    live: liveKept,
    variables: { OUTPUTS: Reflect.get(env, "FILES") },
    isOutputKept: true,
  },
  {
    meters: LATE_ROWS["registered, index"],
    kind: "is registered, and ended by an event, in a relay with an index whose first rows are written after 300 s",
    index: "works",
    live: liveRegistered,
    variables: { INDEX_DELAY_S: "300" },
  },
  {
    meters: LATE_ROWS["Ark with hooks, index"],
    kind: "ends by a hook of ark in a relay with an index whose first rows are written after 300 s",
    index: "works",
    live: liveHooked,
    variables: { INDEX_DELAY_S: "300" },
  },
  {
    meters: COUNTED["Ark with hooks, index, job of 300 s"],
    kind: "ends by a hook of ark after 300 s in a relay with an index",
    index: "works",
    live: liveHooked,
    endAt: START + 300 * SECOND,
  },
  {
    meters: COUNTED["Ark with hooks, index, job of 900 s"],
    kind: "ends by a hook of ark after 900 s in a relay with an index",
    index: "works",
    live: liveHooked,
    endAt: START + 900 * SECOND,
  },
  {
    meters: COUNTED["Ark with hooks, index, receiver refuses 3 times"],
    kind: "ends by a hook of ark, with a receiver that refuses three times, in a relay with an index",
    index: "works",
    live: liveHooked,
    receiver: slow(500),
  },
  {
    meters: COUNTED["Ark with hooks, index, receiver hangs 3 times"],
    kind: "ends by a hook of ark, with a receiver that hangs three times, in a relay with an index",
    index: "works",
    live: liveHooked,
    isTimedOut: true,
    receiver: (_, signal) => {
      pass(10 * SECOND);
      return never(signal);
    },
  },
  {
    meters: COUNTED["Ark with hooks, index away for 28 days"],
    kind: "ends by a hook of ark in a relay whose index fails at each write for 28 days",
    index: "away",
    live: liveHooked,
  },
  ...Object.entries(POLLED_ALONE).map(([seconds, meters]) => polledAlone(Number(seconds), meters)),
  {
    meters: ENDLESS_HOUR,
    kind: "fails at a deadline of one hour because its job of ark never ends, in a relay with an index,",
    index: "works",
    live: liveEndless,
    endAt: Infinity,
    variables: { TASK_DEADLINE_HOURS: "1" },
  },
  polled("first", POLLED_ONCE),
  polled("seventh", plus(COUNTED["Ark polled six times, index"], IDLE_POLL)),
];

async function report(life: MeteredLife, fields: object = {}): Promise<void> {
  await life.send("/v1/events", { body: aCompletion(life.id, fields) });
  await life.settle();
}

async function liveRegistered(life: MeteredLife, { endAt, account }: Facts): Promise<void> {
  await life.send("/v1/tasks", { body: { id: life.id, ...created, account } });
  await life.liveUntil(endAt);
  await report(life);
}

/** Registers a task, attaches a job one second later, and returns the hook URL; null for a provider without hooks. */
async function attached(
  life: MeteredLife,
  provider: string,
  fields: object = {},
): Promise<string | null> {
  const body = { id: life.id, ...created, provider, ...fields };
  const Registered = z.object({ hook_url: z.string().optional() });
  const answer = await life.send("/v1/tasks", { body });
  await life.liveUntil(START + SECOND);
  await life.send(`/v1/tasks/${life.id}/upstream`, { body: { provider, id: JOB } });
  return Registered.parse(await answer.json()).hook_url ?? null;
}

async function livePolled(life: MeteredLife): Promise<void> {
  await attached(life, "ark");
  await life.liveUntil(POLLED_ENDS.seventh + 60 * SECOND);
}

async function livePolledAlone(life: MeteredLife, { endAt }: Facts): Promise<void> {
  expect(await attached(life, "xai")).toBeNull();
  await life.liveUntil(endAt + 60 * SECOND);
}

/** Lets the deadline of the task pass, and the polls that follow it. */
async function liveEndless(life: MeteredLife): Promise<void> {
  await attached(life, "ark");
  await life.liveUntil(START + 2 * DAY);
}

async function liveHooked(life: MeteredLife, { endAt }: Facts): Promise<void> {
  await sendHooks(life, (await attached(life, "ark")) ?? "", endAt);
}

async function liveTold(life: MeteredLife, { endAt }: Facts): Promise<void> {
  const fields = { callback_events: ["completed", "failed", "progress"] };
  await sendHooks(life, (await attached(life, "ark", fields)) ?? "", endAt);
}

/** Submits a job to Ark through the relay, and lets the job send its hooks. */
async function liveSubmitted(life: MeteredLife, facts: Facts): Promise<void> {
  const headers = { "Relay-Task-Id": life.id, "Relay-Callback-Url": CALLBACK_URL };
  await life.send(`/v1/submit/ark${ARK_PATH}`, { body: { model: MODEL }, headers });
  await sendHooksOfSubmission(life, facts);
}

/** Submits a job for an account that pays a price, and lets the job send its hooks. */
async function livePriced(life: MeteredLife, facts: Facts): Promise<void> {
  await submitPriced(life, facts);
  await sendHooksOfSubmission(life, facts);
}

/** Does the same in a relay that keeps the output. */
async function liveKept(life: MeteredLife, facts: Facts): Promise<void> {
  await submitPriced(life, facts);
  await life.meterOutputs();
  await sendHooksOfSubmission(life, facts);
  await life.workOnOutputs();
  await life.settle();
}

async function submitPriced(life: MeteredLife, { account }: Facts): Promise<void> {
  if (account === null) throw new Error("this life has no account");
  await grant(account, 100);
  await life.meterLedger(account);
  const task = { "Relay-Task-Id": life.id, "Relay-Callback-Url": CALLBACK_URL };
  const headers = { ...task, "Relay-Account": account, "Relay-Credits": "60" };
  await life.send(`/v1/submit/ark${ARK_PATH}`, { body: { model: MODEL }, headers });
}

/** Does the same as for a submission at a connection whose place becomes free a second after the submission. */
async function liveQueued(life: MeteredLife, facts: Facts): Promise<void> {
  await life.occupy();
  const named = { "Relay-Task-Id": life.id, "Relay-Callback-Url": CALLBACK_URL };
  const headers = { ...named, Prefer: "respond-async" };
  await life.send(`/v1/submit/${LIMITED}${ARK_PATH}`, { body: { model: MODEL }, headers });
  const call = await life.queuedCall();
  expect(facts.outside.sentTo("https://ark.")).toEqual([]);
  await life.liveUntil(START + SECOND);
  await life.freePlace(call);
  await life.makeCall(call);
  await sendHooksOfSubmission(life, facts);
}

async function sendHooksOfSubmission(life: MeteredLife, { endAt, outside }: Facts): Promise<void> {
  const Sent = z.object({ callback_url: z.string() });
  const { callback_url: hookUrl } = Sent.parse(JSON.parse(sentToArk(outside).body));
  await sendHooks(life, hookUrl, endAt);
}

/** Lets a job of Ark send three hooks, the last of them at its end. */
async function sendHooks(life: MeteredLife, hookUrl: string, endAt: number): Promise<void> {
  const hook = async (status: string, at: number) => {
    await life.liveUntil(at);
    await life.send(new URL(hookUrl).pathname, { body: { id: JOB, status }, key: null });
    await life.settle();
  };
  await hook("queued", START + 2 * SECOND);
  await hook("running", START + 10 * SECOND);
  await hook("succeeded", endAt);
}

function ark(endAt: number) {
  if (Date.now() >= endAt) return { id: JOB, status: "succeeded", content: { video_url: VIDEO } };
  return { id: JOB, status: Date.now() < START + 10 * SECOND ? "queued" : "running" };
}

function xai(endAt: number) {
  return Date.now() >= endAt ? { status: "done", video: { url: VIDEO } } : { status: "pending" };
}

/** Lets the time limit of an attempt pass soon after its sender has ceased to keep the object waiting. */
function hurry(): void {
  const start = globalThis.setTimeout;
  vi.spyOn(globalThis, "setTimeout").mockImplementation((run, delay, ...values) =>
    start(run, delay === 10 * SECOND ? LONGER_MS : delay, ...values),
  );
}

/** Real time in milliseconds after which the sender of an attempt no longer keeps the object waiting. */
const LONGER_MS = 2 * ANSWER_WAIT_MS;

/** Builds a receiver that takes as long as receivers are assumed to, so that the end of the attempt is reported. */
function slow(status = 200): Site {
  return async (sent, signal) => {
    pass(300);
    await realMs(LONGER_MS);
    return answering({}, status)(sent, signal);
  };
}

/** Builds an upstream that answers after `ms` milliseconds. */
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
  INSERT INTO index_rows (id, COLUMNS) SELECT ?1 || '-' || ?2 || n, COLUMNS FROM index_rows, number WHERE id = ?1`;

/** Returns the rows that D1 reads to count one further task like this one in the hour in which it was created. */
async function readByCount(id: string): Promise<number> {
  const [row] = await rowsOfTask(id);
  const columns = Object.keys(row ?? {}).filter((name) => name !== "id");
  const copy = COPY.replaceAll("COLUMNS", columns.join(", "));
  const reads: number[] = [];
  for (const copies of ["a", "b"]) {
    await db.prepare(copy).bind(id, copies).run();
    const { rows, INDEX_DB } = metered(db);
    await countHours(INDEX_DB, 7 * DAY, Date.now(), new TimeBudget(DAY));
    reads.push(rows.read);
  }
  await db.prepare("DELETE FROM index_rows WHERE id LIKE ?").bind(`${id}-%`).run();
  const [first = 0, second = 0] = reads;
  return Math.round((second - first) / COPIES);
}

/** Row that each run writes with the ids of all tasks whose rows it removes, up to 5,000 at a time. */
const LIST_OF_REMOVED = 1;

async function count(of: Life): Promise<Meters> {
  const { index, live, receiver, endAt = END, hasAccount, variables, connection = "ark" } = of;
  const outside = anOutside();
  outside.on(
    "https://ark.",
    after(400, () => ark(endAt)),
  );
  outside.on(
    "https://api.x.ai",
    after(400, () => xai(endAt)),
  );
  outside.on(
    VIDEO,
    () => new Response(new Uint8Array(1_000), { headers: { "Content-Length": "1000" } }),
  );
  outside.on(CALLBACK_URL, receiver ?? slow());
  if (of.isTimedOut === true) hurry();
  vi.spyOn(Math, "random").mockReturnValue(0);
  const account = hasAccount === true ? await anAccount() : null;
  const keys = { ARK_API_KEY: "test-only-ark-key", XAI_API_KEY: "test-only-xai-key" };
  const life = new MeteredLife(outside, index, { ...keys, ...variables }, JOB, connection);
  await live(life, { endAt, account, outside });
  await life.liveUntil(Date.now() + 900 * SECOND);
  await life.send(`/v1/tasks/${life.id}`);
  const hasRow = index === "works";
  const counted = hasRow ? await readByCount(life.id) : 0;
  if (of.isOutputKept === true) await life.workOnOutputs();
  await life.liveUntil(Date.now() + 28 * DAY);
  expect(await life.isErased()).toBe(true);
  if (hasRow) await life.sweep();
  const meters = await life.meters();
  const d1Written = meters.d1Written - (hasRow ? LIST_OF_REMOVED : 0);
  return { ...meters, d1Written, d1Read: meters.d1Read + counted };
}

/** Returns a life that an event ends, whose receiver answers 500 to the first attempts. */
function failing(times: number, meters: Meters): Life {
  let left = times;
  const receiver: Site = (sent, signal) => slow(left-- > 0 ? 500 : 200)(sent, signal);
  const kind = `ends by an event, with ${times} failed callback ${times === 1 ? "attempt" : "attempts"}, in a relay with an index`;
  return { kind, index: "works", live: (life) => report(life, created), receiver, meters };
}

/** Returns a life in a relay with an index whose job sends no hook and is found by a poll. */
function polled(poll: keyof typeof POLLED_ENDS, meters: Meters): Life {
  const kind = `ends by the ${poll} poll of ark, in a relay with an index,`;
  return { kind, index: "works", live: livePolled, endAt: POLLED_ENDS[poll], meters };
}

/** Returns a life in a relay with an index whose provider has no hooks, and whose job takes so many seconds. */
function polledAlone(seconds: number, meters: Meters): Life {
  const kind = `ends after ${seconds} s by a poll of a provider without hooks, in a relay with an index,`;
  const endAt = START + (seconds + 1) * SECOND;
  return { kind, index: "works", live: livePolledAlone, endAt, meters };
}

interface ReaderLife {
  readonly name: keyof typeof READERS;
  /** Time from the registration to the end of the task. */
  readonly seconds: number;
  /** Reads the task, by its id or its status link, from the registration on. */
  readonly read: (life: MeteredLife, statusUrl: URL) => Promise<unknown>;
}

const READER_LIVES: readonly ReaderLife[] = [
  {
    name: "`?wait=30`, no result by then",
    seconds: 110,
    read: (life) => life.send(`/v1/tasks/${life.id}?wait=30`),
  },
  {
    name: "`?wait=60`, until the result",
    seconds: 50,
    read: (life) => life.send(`/v1/tasks/${life.id}?wait=60`),
  },
  { name: "stream of 110 s", seconds: 110, read: readStream },
  { name: "stream of 10 minutes", seconds: 600, read: readStream },
  { name: "status page open for 110 s", seconds: 110, read: keepStatusPageOpen },
  { name: "status page open for 10 minutes", seconds: 600, read: keepStatusPageOpen },
  {
    name: "console's page of the task open for 110 s",
    seconds: 110,
    read: async (life) => keepOpen(life, `/tasks/${life.id}`, { Cookie: await logIn() }),
  },
];

async function readStream(life: MeteredLife, { pathname, search }: URL): Promise<void> {
  const stream = await life.send(`${pathname}/events${search}`, { key: null });
  expect(await stream.text()).toContain('"callback":{"status":"delivered"}');
}

async function keepStatusPageOpen(life: MeteredLife, { pathname, search }: URL): Promise<void> {
  await keepOpen(life, pathname + search, {});
}

/** Opens a page and refreshes it as its script does, until the page says that nothing more is to come soon. */
async function keepOpen(life: MeteredLife, path: string, headers: Headers): Promise<void> {
  const get = async (more: Headers) => {
    const page = await life.send(path, { key: null, headers: { ...HTML, ...headers, ...more } });
    return page.text();
  };
  let html = await get({});
  for (;;) {
    const waits = Array.from(html.matchAll(/data-refresh="(\d+)"/g), ([, s]) => Number(s));
    const waitS = Math.min(...waits);
    if (waitS > 60) return;
    await scheduler.wait(waitS * SECOND);
    const [, version = "none"] = /data-version="([^"]*)"/.exec(html) ?? [];
    html = await get({ "X-Refresh": version });
  }
}

type Headers = Readonly<Record<string, string>>;

/** Returns the life of a task that is registered, followed by a reader, and ended by an event. */
function followed({ name, seconds, read }: ReaderLife): Life {
  /** The life, once its end was reported while the reader waited, with the number of reads before. */
  let ended: { readonly life: MeteredLife; readonly reads: number } | null = null;
  const live = async (life: MeteredLife, { endAt }: Facts) => {
    const answer = await life.send("/v1/tasks", { body: { id: life.id, ...created } });
    const { status_url } = z.object({ status_url: z.string() }).parse(await answer.json());
    const waits = letWaitsPass(life, endAt, async () => {
      ended = { life, reads: life.reads() };
      await life.send("/v1/events", { body: aCompletion(life.id) });
    });
    await read(life, new URL(status_url));
    waits.mockRestore();
    if (ended !== null) return life.settle();
    await life.liveUntil(endAt);
    return report(life);
  };
  // An attempt takes longer than a reader needs to be told the end.
  const receiver: Site = async (sent, signal) => {
    await until(() => ended === null || ended.life.reads() > ended.reads);
    return slow()(sent, signal);
  };
  const endAt = START + seconds * SECOND;
  const meters = plus(registered, READERS[name]);
  return { kind: "is read", index: "works", live, endAt, receiver, meters };
}

/** Lets time pass with the alarms of the task while the Worker or a page waits, and calls `end` at the end. */
function letWaitsPass(life: MeteredLife, endAt: number, end: () => Promise<void>) {
  let hasEnded = false;
  return vi.spyOn(scheduler, "wait").mockImplementation(async (ms, options) => {
    const told = new Promise<void>((resolve) => {
      options?.signal?.addEventListener("abort", () => resolve());
    });
    const wakesAt = Date.now() + ms;
    if (!hasEnded && wakesAt >= endAt) {
      hasEnded = true;
      await life.liveUntil(endAt);
      await end();
    }
    if (!hasEnded) await life.liveUntil(wakesAt);
    // A Worker is told each change from the end on; a page is not.
    else if (options?.signal !== undefined) await told;
    else await life.settle();
  });
}

it.each(LIVES.map((life) => [life.kind, life] as const))(
  "a task that %s uses exactly the requests, rows and log lines that docs/cost.md and `npm run cost` state",
  async (_, life) => {
    expect(await count(life)).toEqual(life.meters);
  },
);

it("a task that the relay submits costs no more than a registered task with an attached job but for 2 requests to Durable Objects, 2 rows written, 2 read and 3 subrequests", () => {
  const differences = Object.entries(plus(submitted, hooked, -1));
  expect(differences.filter(([, more]) => more > 0)).toEqual([
    ...Object.entries(JOB_ENTRY),
    ["subrequests", 3],
  ]);
});

it("a task of an account writes a row more in D1 at each write of its row, and an output that is kept adds to a task with an index exactly what docs/cost.md and `npm run cost` state", () => {
  expect(withAccount(registered)).toEqual(COUNTED["registered with an account, index"]);
  const { objectRequests, rowsWritten, d1Written, indexWrites } = withAccount(
    outputMeters({ ...KEPT_OUTPUT, outputReads: 0 }),
  );
  const added = { objectRequests, rowsWritten, d1Written, indexWrites };
  expect(plus(KEPT_LIFE, priced, -1)).toMatchObject(added);
});

it("a submission to a connection without a limit calls no queue and no object of a call, and uses what it used before there were limits", () => {
  // Counted at the last commit without queues, and the sender and its report of the attempt since. The meters above
  // count each call of a queue or of the object of a call.
  const before = { objectRequests: 10 + 1, rowsWritten: 12, rowsRead: 8, subrequests: 13 + 2 };
  expect(submitted).toMatchObject({ ...before, workerRequests: 5, d1Written: 5, logLines: 1 });
});

it.each(READER_LIVES.map((life) => [life.name, life] as const))(
  "following a registered task adds exactly the requests and rows that docs/cost.md states for it: %s",
  async (_, life) => {
    expect(await count(followed(life))).toEqual(plus(registered, READERS[life.name]));
  },
);
