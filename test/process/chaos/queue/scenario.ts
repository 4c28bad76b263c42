import { setTimeout as sleep } from "node:timers/promises";
import pMap from "p-map";
import * as z from "zod";
import { seeded } from "../../../simulation/random.ts";
import { LOCAL_VARS } from "../../harness/client.ts";
import { type Post, Receiver } from "../../harness/receiver.ts";
import { hastenCalls, storedCalls } from "../../harness/stored-calls.ts";
import { Workerd } from "../../harness/workerd.ts";
import { ARK_MODEL, ARK_TASKS, type Conduct, FakeArk } from "../../submit/fake-ark.ts";
import { Caller } from "../caller.ts";
import { Counters } from "../counters.ts";
import { killAgainAndAgain, upFor } from "../kills.ts";
import { countOf, type Entry, openAccount, readLedger } from "../ledger.ts";
import { quiescence } from "../quiescence.ts";
import type { Recorded, Scenario } from "../scenario.ts";
import { linkOf, SubmittedTask } from "../submissions/recording.ts";
import { GenuinePosts, strangePathsOf } from "../witnessed.ts";
import { type Outcome, outcomeOf } from "./clients.ts";
import { faultsIn } from "./judge.ts";
import {
  type Account,
  ACCOUNTS,
  type ConnectionName,
  MEMBERS,
  orderOf,
  PLACES,
  POOL,
  taskIdOf,
} from "./orders.ts";
import { PLANTED_FAULTS } from "./planted.ts";
import { type Evidence, leftRows, type QueuedSubmit, type Recording } from "./recording.ts";

const GRANT = 1_000_000;
const PRICE = 7;
const NAMES = ["solo", "member-a", "member-b"] as const satisfies readonly ConnectionName[];
const KEYS = NAMES.map((name) => `process-test-ark-key-of-${name}`);
const VARS = {
  ...LOCAL_VARS,
  OFFERS: JSON.stringify(
    ["solo", POOL].map((connection) => {
      return { connection, path: ARK_TASKS, models: [ARK_MODEL], price: { credits: PRICE } };
    }),
  ),
  SUBMIT_TIMEOUT_S: "5",
  SUBMIT_UNKNOWN_MINUTES: "1",
  // Four attempts that a kill may interrupt end within the run.
  CALLBACK_SCHEDULE_S: "0,2,4,8",
};
/** Number of clients, of which each has one order at a time. */
const CLIENTS = 40;
/** Longest time in milliseconds for which a client waits for the callback, after the last kill. */
const CALLED_WITHIN_MS = 240_000;
/** The same at a relay that is broken, and the time after which it counts as quiet: an unknown outcome fails before. */
const BROKEN_CALLED_WITHIN_MS = 10_000;
const BROKEN_QUIET_MS = 150_000;
/** Shortest and longest time in milliseconds from a restart to the next kill. */
const MIN_UP_MS = 100;
const MAX_UP_MS = 2_500;
/** Longest time in milliseconds for which a kill waits for a submission, or for the end of a job. */
const MAX_WAIT_MS = 10_000;
/** Largest number of submissions between two kills, and largest delay of a kill after one, in milliseconds. */
const MAX_SUBMITS = 4;
const MAX_STEP_MS = 120;
/** Number of kills after the last submission, while tasks wait, end and are called back. */
const KILLS_AFTERWARDS = 3;
const READS_AT_ONCE = 12;

const AccountKey = z.object({ key: z.string() });

/** A part of the relay that a control breaks (entries/broken-queue.ts). */
export type QueueBug = "release_lost" | "places_forgotten" | "call_repeated";

/**
 * Submits jobs of two accounts over a connection and a pool with limits of jobs in flight, through one relay that is
 * killed with `kill -9` and restarted so many times. Most submissions wait for their places; clients cancel some, and
 * let others wait for a short time only. Clients, upstream, relay, ledgers and receiver record what they know.
 * @param bug part of the relay that is broken; null for the relay as it is.
 */
export function queueScenario(kills: number, bug: QueueBug | null = null): Scenario<Recording> {
  return {
    record: (seed) => record(seed, kills, bug),
    faultsIn,
    planted: PLANTED_FAULTS,
    least: { kills, completed: kills, "submissions that have waited": kills, refunds: kills / 4 },
  };
}

async function record(
  seed: number,
  kills: number,
  bug: QueueBug | null,
): Promise<Recorded<Recording>> {
  const submitsOf = new Map<string, number>();
  await using ark = await FakeArk.start(
    (prompt) => conductAt(seed, prompt, submitsOf),
    linkOf,
    KEYS,
  );
  const called = new Map<string, PromiseWithResolvers<void>>();
  await using receiver = await Receiver.start((path) => called.get(path)?.resolve());
  const entry = bug === null ? {} : { entry: "broken-queue.ts" };
  const vars = { ...VARS, CONNECTIONS: connectionsAt(ark.origin), BUG: bug ?? "" };
  await using relay = await Workerd.start({ vars, ...entry });
  const keys = await openAccounts(relay);
  const genuine = new GenuinePosts(receiver, await signatureCheck(relay));
  const counters = new Counters();
  const outcomes: Outcome[] = [];
  let nextNth = 0;
  const enough = new AbortController();
  const over = Promise.withResolvers<void>();
  const clientOf = async () => {
    while (!enough.signal.aborted) {
      const order = orderOf(seed, nextNth++);
      const callback = Promise.withResolvers<void>();
      called.set(order.path, callback);
      const callbackUrl = receiver.at(order.path, { kind: "answer", status: 200 });
      const door = { url: relay.url, key: keys[order.account], callbackUrl };
      const calledOrOver = Promise.race([callback.promise, over.promise]);
      outcomes.push(await outcomeOf(door, order, calledOrOver));
    }
  };
  const momentOf = momentsToKill(ark, seeded(seed + 1));
  const moment = async (nth: number) => {
    await momentOf(nth);
    // A signature is valid for five minutes, and many kills take longer.
    genuine.check();
  };
  const killed = killAgainAndAgain({
    relay,
    counters,
    moment,
    isEnough: (count) => {
      if (count >= kills - KILLS_AFTERWARDS) enough.abort();
      return count >= kills;
    },
  });
  const clients = Promise.all(Array.from({ length: CLIENTS }, clientOf));
  await killed;
  const waitMs = bug === null ? CALLED_WITHIN_MS : BROKEN_CALLED_WITHIN_MS;
  await Promise.race([clients, sleep(waitMs, undefined, { ref: false })]);
  over.resolve();
  await clients;
  await quiescence(relay, () => genuine.check(), bug === null ? undefined : BROKEN_QUIET_MS);

  const postsAt = Map.groupBy(receiver.posts, ({ path }) => path);
  const submits = Map.groupBy(ark.submits, ({ prompt }) => prompt);
  const evidence = await pMap(
    outcomes,
    async (outcome): Promise<Evidence> => {
      const taskId = await taskIdOf(outcome.order);
      return {
        ...outcome,
        taskId,
        submits: (submits.get(outcome.order.prompt) ?? []).map(withConnection),
        task: await readTask(relay, taskId),
        posts: postsAt.get(outcome.order.path) ?? [],
      };
    },
    { concurrency: READS_AT_ONCE },
  );
  const recording: Recording = {
    evidence,
    ledgers: await Promise.all(ACCOUNTS.map((account) => readLedger(relay.client, account))),
    grant: GRANT,
    price: PRICE,
    mostInFlight: new Map(
      NAMES.map((name, i) => [name, ark.mostInFlight.get(KEYS[i] ?? "") ?? 0] as const),
    ),
    genuine: genuine.all,
    strangePaths: strangePathsOf(receiver, (path) => called.has(path)),
    refusedHooks: ark.refusedHooks,
    leftRows: leftRows(relay.storage),
    storedCalls: bug === null ? await callsLeftLater(relay) : [],
    log: relay.output,
  };
  const entries = Map.groupBy(
    recording.ledgers.flatMap((ledger) => ledger.entries),
    ({ task_id }) => task_id,
  );
  for (const each of evidence) addOrder(counters, each, entries.get(each.taskId) ?? []);
  for (const [name, most] of recording.mostInFlight) counters.add(`most in flight: ${name}`, most);
  return { recording, counters };
}

/**
 * Returns what objects of calls store when their alarms have come: one whose task was ended while it waited looks after
 * some minutes.
 */
async function callsLeftLater(relay: Workerd): Promise<Recording["storedCalls"]> {
  await relay.kill9();
  hastenCalls(relay.storage);
  await relay.restart();
  await quiescence(relay, () => {});
  return storedCalls(relay.storage);
}

/** Returns `CONNECTIONS` with a key of the upstream for each connection. */
function connectionsAt(origin: string): string {
  const connection = (name: ConnectionName, i: number) => {
    const entry = { provider: "ark", key: KEYS[i], base_url: origin, in_flight: PLACES[name] };
    return [name, entry] as const;
  };
  const pool = { provider: "pool", of: MEMBERS[POOL] };
  return JSON.stringify({ ...Object.fromEntries(NAMES.map(connection)), [POOL]: pool });
}

/** Returns what the upstream does with a submission, which it may refuse before. */
function conductAt(seed: number, prompt: string, submitsOf: Map<string, number>): Conduct {
  const { conduct, refusals } = orderOf(seed, Number(prompt.split(" ")[1]));
  const before = submitsOf.get(prompt) ?? 0;
  submitsOf.set(prompt, before + 1);
  return before < refusals ? { ...conduct, answer: "busy" } : conduct;
}

function withConnection(submit: FakeArk["submits"][number]): QueuedSubmit {
  const connection = NAMES[KEYS.indexOf(submit.key)];
  if (connection === undefined) throw new Error(`nobody has the key ${submit.key}`);
  return { ...submit, connection };
}

/** Creates the accounts. @returns the API key of each. */
async function openAccounts({ client }: Workerd): Promise<Readonly<Record<Account, string>>> {
  const open = async (account: Account) => {
    await openAccount(new Caller(client), account, GRANT);
    return AccountKey.parse((await client.ask("POST", `/v1/accounts/${account}/keys`, {})).json)
      .key;
  };
  return { x: await open("x"), y: await open("y") };
}

/** Returns a function that tells whether a post has a valid signature of the account that its path names. */
async function signatureCheck({ client }: Workerd): Promise<(post: Post) => boolean> {
  const verifiers = new Map<string | undefined, (post: Post) => unknown>();
  for (const account of ACCOUNTS) {
    verifiers.set(account, await client.verifier(`/v1/accounts/${account}`));
  }
  return (post) => {
    try {
      return verifiers.get(post.path.split("/")[1])?.(post) !== undefined;
    } catch {
      return false;
    }
  };
}

/**
 * Returns a function that waits for the moment of a kill: in turn for a random time, until shortly after submissions
 * have reached the upstream, and until shortly after a job has ended.
 */
function momentsToKill(ark: FakeArk, random: () => number) {
  return async (nth: number): Promise<void> => {
    const [share, stepMs] = [random(), random() ** 2 * MAX_STEP_MS];
    if (nth % 3 === 0) return upFor(random, MIN_UP_MS, MAX_UP_MS);
    const next = nth % 3 === 1 ? () => ark.nextSubmit() : () => ark.nextEnd();
    const count = nth % 3 === 1 ? 1 + Math.floor(share * MAX_SUBMITS) : 1;
    const giveUp = sleep(MAX_WAIT_MS);
    for (let i = 0; i < count; i++) await Promise.race([next(), giveUp]);
    await sleep(stepMs);
  };
}

/** Reads a task; null when there is none. */
async function readTask({ client }: Workerd, taskId: string): Promise<Evidence["task"]> {
  const { status, json } = await client.ask("GET", `/v1/tasks/${taskId}`);
  return status === 404 ? null : SubmittedTask.parse(json);
}

function addOrder(counters: Counters, each: Evidence, entries: readonly Entry[]): void {
  const { order, answer, submits, task, posts, cancelStatus } = each;
  const isStarted = submits.some(({ jobId }) => jobId !== null);
  const figures: Readonly<Record<string, number | boolean>> = {
    orders: 1,
    [`answers ${answer?.status}`]: 1,
    [`ends: ${endOf(task)}`]: 1,
    completed: task?.status === "completed",
    "answers after a repetition": answer?.isRepeat === true,
    "submissions that have waited": !order.isWaiting && isStarted,
    "sent again after a refusal": isStarted && submits.length > 1,
    "unknown, and never received": endOf(task) === "submit_unknown" && submits.length === 0,
    [`cancellations answered ${cancelStatus}`]: cancelStatus !== null,
    submits: submits.length,
    POSTs: posts.length,
    refunds: countOf(entries, "refund"),
  };
  for (const [name, count] of Object.entries(figures)) counters.add(name, Number(count));
}

/** Returns the error code of a failed task, or the status of another one. */
function endOf(task: Evidence["task"]): string {
  return task?.error?.code ?? task?.status ?? "no task";
}
