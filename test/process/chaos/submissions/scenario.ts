import { createHash } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import pMap from "p-map";
import { seeded } from "../../../simulation/random.ts";
import { type BucketContent, inBucket } from "../../harness/bucket.ts";
import { LOCAL_VARS } from "../../harness/client.ts";
import { Receiver } from "../../harness/receiver.ts";
import { type StoredCall, storedCalls } from "../../harness/stored-calls.ts";
import { Workerd } from "../../harness/workerd.ts";
import {
  ARK_IMAGE_MODEL,
  ARK_IMAGES,
  ARK_MODEL,
  ARK_TASKS,
  FakeArk,
} from "../../submit/fake-ark.ts";
import { Counters } from "../counters.ts";
import { afterwards, killAgainAndAgain } from "../kills.ts";
import { countOf, type Entry, openWithKey, readLedger } from "../ledger.ts";
import { quiescence } from "../quiescence.ts";
import type { Recorded, Scenario } from "../scenario.ts";
import type { Stage } from "../stage.ts";
import { GenuinePosts, signatureCheckOf, strangePathsOf } from "../witnessed.ts";
import { faultsIn } from "./judge.ts";
import { type Order, ordersOf } from "./orders.ts";
import { PLANTED_FAULTS } from "./planted.ts";
import { type Evidence, linkOf, OUTPUTS_URL, type Recording, SubmittedTask } from "./recording.ts";
import { type Door, type FinalAnswer, submitUntilFinal } from "./submitting.ts";
import { isEnd, type JobRead, waitForJob } from "./waiting.ts";

const ORDERS = 650;
const ACCOUNT = "buyer";
const GRANT = 1_000_000;
const PRICE = 7;
const OFFERS = [
  { connection: "ark", path: ARK_TASKS, models: [ARK_MODEL], price: { credits: PRICE } },
  { connection: "ark", path: ARK_IMAGES, models: [ARK_IMAGE_MODEL], price: { credits: PRICE } },
];
/** Variables of a relay that takes the orders. */
export const ORDER_VARS = {
  OFFERS: JSON.stringify(OFFERS),
  OUTPUTS_URL,
  SUBMIT_TIMEOUT_S: "5",
  SUBMIT_UNKNOWN_MINUTES: "1",
};
const VARS = {
  ...LOCAL_VARS,
  ...ORDER_VARS,
  // Four attempts that a kill may interrupt end within the run.
  CALLBACK_SCHEDULE_S: "0,2,4,8",
};
/** Number of orders that may wait until the upstream receives them, each for so long in milliseconds. */
const MAX_UNSENT = 20;
const GIVE_WAY_AFTER_MS = 5_000;
/** Longest time in milliseconds from a restart to the next kill, and largest number of submissions between the two. */
const MAX_UP_MS = 6_000;
const MAX_SUBMITS = 30;
const LOOK_EVERY_MS = 100;
/** Number of kills after the last final answer, while tasks wait for hooks, fail and are called back. */
const KILLS_AFTERWARDS = 8;
/** Largest delay of a kill in milliseconds: about the time until the answer to a submission is stored. */
const MAX_STEP_MS = 80;
const READS_AT_ONCE = 12;

/** What the client of an order has got. */
interface Outcome {
  /** Null when the client never got a final answer. */
  readonly answer: FinalAnswer | null;
  /** Promise of all reads of the job, which resolves when the client no longer waits for it. */
  readonly reading: Promise<readonly JobRead[]>;
}

/**
 * Submits 650 orders through one relay while it is killed with `kill -9` and restarted. Some of the callers wait for their
 * jobs, which they read through the relay as SDKs do; others want images, and do not wait for the upstream's answer.
 * Callers, upstream, relay, ledger, bucket and receiver record what they know.
 */
export const SUBMISSIONS: Scenario<Recording> = {
  record,
  faultsIn,
  planted: PLANTED_FAULTS,
  least: {
    kills: 12,
    completed: 150,
    "answers after a repetition": 50,
    "answers of the upstream repeated": 2,
    "answers 400": 5,
    "found by a hook": 20,
    "lost without hooks": 10,
    refunds: 20,
    "ends that readers saw": 25,
    "readers interrupted": 20,
    "calls completed": 5,
    "calls interrupted": 5,
  },
};

async function record(seed: number): Promise<Recorded<Recording>> {
  const orders = ordersOf(seed, ORDERS);
  await using upstream = await upstreamOf(orders);
  const { ark } = upstream;
  await using relay = await Workerd.start({ vars: { ...VARS, ...ark.vars }, hasOutputs: true });
  return await recordOrders(orders, upstream, {
    url: relay.url,
    client: relay.client,
    disturb: (isOver, counters) =>
      killAgainAndAgain({
        relay,
        counters,
        moment: momentsToKill(ark, seeded(seed + 1)),
        isEnough: afterwards(isOver, KILLS_AFTERWARDS),
      }),
    settle: (meanwhile) => quiescence(relay, meanwhile),
    bucket: async () => inBucket(relay),
    storedCalls: () => storedCalls(relay.storage),
    log: () => relay.output,
  });
}

/** The upstream of orders. */
interface OrderUpstream extends AsyncDisposable {
  readonly ark: FakeArk;
  /** Returns a promise that resolves when the upstream has received a submission of the order. */
  readonly arrived: (order: Order) => Promise<void>;
}

/** A relay that takes orders. */
interface OrderStage extends Stage {
  /** Kills and restarts the relay, until all orders have their answers. */
  readonly disturb: (isOver: () => boolean, counters: Counters) => Promise<void>;
  /** What is left in the end. */
  readonly bucket: () => Promise<BucketContent>;
  readonly storedCalls: () => readonly StoredCall[];
}

/** Starts the upstream of these orders, whose connection is in its `vars`. */
export async function upstreamOf(orders: readonly Order[]): Promise<OrderUpstream> {
  const placed = new Map(
    orders.map((order) => [order.prompt, { order, arrival: Promise.withResolvers<void>() }]),
  );
  const ark = await FakeArk.start((prompt) => {
    const { order, arrival } = orderOf(placed, prompt);
    arrival.resolve();
    return order.conduct;
  }, linkOf);
  return {
    ark,
    arrived: ({ prompt }) => orderOf(placed, prompt).arrival.promise,
    [Symbol.asyncDispose]: () => ark[Symbol.asyncDispose](),
  };
}

/** Submits all orders while the relay is disturbed, waits until nothing is due any more, and records what all know. */
export async function recordOrders(
  orders: readonly Order[],
  { ark, arrived }: OrderUpstream,
  stage: OrderStage,
): Promise<Recorded<Recording>> {
  await using receiver = await Receiver.start();
  const door = {
    url: stage.url,
    key: await openWithKey(stage.client, ACCOUNT, GRANT),
    callbackUrlOf: ({ path }: Order) => receiver.at(path, { kind: "answer", status: 200 }),
  };
  const genuine = new GenuinePosts(receiver, await signatureCheckOf(stage.client, ACCOUNT));
  const counters = new Counters();
  let isOver = false;
  const [outcomes] = await Promise.all([
    submitAll(door, orders, arrived).finally(() => (isOver = true)),
    stage.disturb(() => isOver, counters),
  ]);
  const reads = await Promise.all(outcomes.map(({ reading }) => reading));
  await stage.settle(() => genuine.check());
  const evidence = await pMap(
    orders,
    async (order, nth): Promise<Evidence> => {
      const answer = outcomes[nth]?.answer ?? null;
      const submits = ark.submitsOf(order.prompt);
      const task = await readTask(stage, answer);
      return {
        order,
        answer,
        submits,
        reads: reads[nth] ?? [],
        upstreamReads: ark.reads.filter(({ jobId }) =>
          submits.some((each) => each.jobId === jobId),
        ),
        task,
        posts: receiver.postsAt(order.path),
        image: order.isCall ? await imageOf(stage, task) : null,
      };
    },
    { concurrency: READS_AT_ONCE },
  );
  const paths = new Set(orders.map(({ path }) => path));
  const recording: Recording = {
    evidence,
    ledger: await readLedger(stage.client, ACCOUNT),
    grant: GRANT,
    price: PRICE,
    genuine: genuine.all,
    strangePaths: strangePathsOf(receiver, (path) => paths.has(path)),
    refusedHooks: ark.refusedHooks,
    bucket: await stage.bucket(),
    storedCalls: stage.storedCalls(),
    log: stage.log(),
  };
  for (const each of evidence) addOrder(counters, each, recording.ledger.entries);
  return { recording, counters };
}

function orderOf<T>(placed: ReadonlyMap<string, T>, prompt: string): T {
  const found = placed.get(prompt);
  if (found === undefined) throw new Error(`nobody has ordered ${prompt}`);
  return found;
}

/**
 * Submits all orders. Begins only as many as the relay brings to the upstream, so that a busy machine does not let them
 * all wait for the relay when it is killed.
 * @param arrived promise that resolves when the upstream has received a submission of the order.
 */
async function submitAll(
  door: Door,
  orders: readonly Order[],
  arrived: (order: Order) => Promise<void>,
): Promise<readonly Outcome[]> {
  const outcomes: Promise<Outcome>[] = [];
  const begin = async (order: Order) => {
    const outcome = outcomeOf(door, order);
    outcomes[order.nth] = outcome;
    await Promise.race([arrived(order), outcome, sleep(GIVE_WAY_AFTER_MS)]);
  };
  await pMap(orders, begin, { concurrency: MAX_UNSENT });
  return Promise.all(outcomes);
}

async function outcomeOf(door: Door, order: Order): Promise<Outcome> {
  const answer = await submitUntilFinal(door, order);
  return { answer, reading: waitForJob(door, order, answer) };
}

/**
 * Returns a function that waits for the moment of a kill: every fourth time for some seconds, else until shortly after a
 * submission has reached the upstream. A slow machine gets as far as a fast one between two of these kills.
 */
function momentsToKill(ark: FakeArk, random: () => number) {
  return async (nth: number): Promise<void> => {
    const [share, stepMs] = [random(), random() ** 2 * MAX_STEP_MS];
    if (nth % 4 === 0) await sleep(share * MAX_UP_MS);
    else await furtherSubmits(ark, 1 + Math.floor(share * MAX_SUBMITS));
    await sleep(stepMs);
  };
}

/** Waits until the upstream has received so many further submissions, at most for `MAX_UP_MS`. */
async function furtherSubmits(ark: FakeArk, count: number): Promise<void> {
  const before = ark.submits.length;
  const giveUpAt = Date.now() + MAX_UP_MS;
  while (ark.submits.length < before + count && Date.now() < giveUpAt) {
    await Promise.race([ark.nextSubmit(), sleep(LOOK_EVERY_MS)]);
  }
}

/** Reads the task that an answer names; null when there is none. */
async function readTask({ client }: Stage, answer: FinalAnswer | null): Promise<Evidence["task"]> {
  if (answer === null) return null;
  const { status, json } = await client.ask("GET", `/v1/tasks/${answer.taskId}`);
  return status === 404 ? null : SubmittedTask.parse(json);
}

/** Opens the link to the image of a task. Returns the SHA-256 of what it gives; null without such a link. */
async function imageOf({ url }: Stage, task: Evidence["task"]): Promise<string | null> {
  const [link] = task?.output?.urls ?? [];
  if (link === undefined) return null;
  const response = await fetch(link.replace(OUTPUTS_URL, url));
  return createHash("sha256")
    .update(await response.bytes())
    .digest("hex");
}

/** Returns the figures about the end of an order. */
function endFigures({ order: { isCall, conduct }, task }: Evidence) {
  const isCompleted = task?.status === "completed";
  return {
    completed: !isCall && isCompleted,
    "calls completed": isCall && isCompleted,
    "calls refused": isCall && conduct.answer === "refusal",
    "calls interrupted": isCall && conduct.answer === "id" && !isCompleted,
  };
}

function addOrder(counters: Counters, each: Evidence, entries: readonly Entry[]): void {
  const { order, answer, submits, reads, upstreamReads, posts } = each;
  const answered = reads.flatMap((read) => read.answer ?? []);
  const isInterrupted = reads.length > answered.filter(({ status }) => status === 200).length;
  const isRepeat = answer?.isRepeat === true;
  const isLost = answer?.status === 424 && submits.some(({ jobId }) => jobId !== null);
  const own = entries.filter(({ task_id }) => task_id === answer?.taskId);
  const figures: Readonly<Record<string, number | boolean>> = {
    orders: 1,
    [`answers ${answer?.status}`]: 1,
    submits: submits.length,
    POSTs: posts.length,
    reads: reads.length,
    "reads without an answer": reads.length - answered.length,
    "reads of the upstream": upstreamReads.length,
    "readers interrupted": isInterrupted,
    "ends that readers saw": answered.some(isEnd),
    refunds: countOf(own, "refund"),
    ...endFigures(each),
    "never sent": submits.length === 0,
    "answers after a repetition": isRepeat,
    "answers of the upstream repeated": isRepeat && answer.status === 200,
    "found by a hook": isLost && order.conduct.sendsHooks,
    "lost without hooks": isLost && !order.conduct.sendsHooks,
  };
  for (const [name, count] of Object.entries(figures)) counters.add(name, Number(count));
}
