import { createHash } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import pMap from "p-map";
import * as z from "zod";
import { Child } from "../../harness/child.ts";
import { completedEvent, isSettled, Task } from "../../harness/client.ts";
import { type Behaviour, type Post, Receiver } from "../../harness/receiver.ts";
import { OutputSource, videoBytes } from "../../outputs/output-source.ts";
import type { Node } from "../../self-host/cluster.ts";
import { Caller } from "../caller.ts";
import { Counters } from "../counters.ts";
import { runInLanes } from "../lanes.ts";
import { openWithKey } from "../ledger.ts";
import { linksIn } from "../outputs/judge.ts";
import type { Recorded } from "../scenario.ts";
import type { Stage } from "../stage.ts";
import { OUTPUTS_URL } from "../submissions/recording.ts";
import { GenuinePosts, signatureCheckOf } from "../witnessed.ts";

const ACCOUNT = "listening";
/** Start of the ids of all tasks that listeners wait for, and of no other task's. */
const ID_PREFIX = "00000000-0000-4000-8000-";
const REPORT_EVERY_MS = 1_000;
const OUTPUT_BYTES = 500_000;
const OK: Behaviour = { kind: "answer", status: 204 };
const CONNECTED = "Connected to";
const LOOK_EVERY_MS = 500;
/** Time in milliseconds from a failed callback to the order to send it again, in which listeners may connect again. */
const REDELIVER_AFTER_MS = 4_000;
/** Time in milliseconds for which a task is read; longer than the pauses between the tries of listeners and of copies. */
const GIVE_UP_AFTER_MS = 240_000;
const READS_AT_ONCE = 12;

const Read = z.looseObject({ outputs: z.array(z.looseObject({ kept: z.boolean() })) });

/** A task with an output, whose callbacks go to listeners, as it is in the end. */
export interface ListenedTask {
  readonly id: string;
  readonly callback: Task["callback"];
  /** Number of redeliveries that were ordered, each of one attempt. */
  readonly orders: number;
  /** Requests of all listeners to their receivers, each of which has the path of one listener. */
  readonly posts: readonly Post[];
  /** SHA-256 in hex of what the link in the callback has given when the upstream's link had died; null without a link. */
  readonly digest: string | null;
}

export interface ListenedRecording {
  readonly evidence: readonly ListenedTask[];
  readonly genuine: ReadonlySet<Post>;
  /** Keys of the copies of their outputs in the bucket. */
  readonly copies: readonly string[];
}

/** A relay that keeps outputs. */
interface ListenedStage extends Stage {
  readonly nodes: readonly Node[];
  readonly disturb: () => Promise<void>;
  /** Returns the keys in the bucket of outputs. */
  readonly keptKeys: () => Promise<readonly string[]>;
}

/**
 * Reports tasks with an output, whose callbacks go to listeners, one at each node, while the cluster is disturbed. Then
 * orders each callback again that no listener has got, until one has, and waits until all outputs are kept.
 */
export async function recordListened(stage: ListenedStage): Promise<Recorded<ListenedRecording>> {
  const { client, nodes, disturb } = stage;
  const caller = new Caller(client);
  const key = await openWithKey(client, ACCOUNT, 1);
  await using source = await OutputSource.start();
  await using receiver = await Receiver.start();
  const genuine = new GenuinePosts(receiver, await signatureCheckOf(client, ACCOUNT));
  await using running = new AsyncDisposableStack();
  const listeners = nodes.map(({ name, url }) => {
    return running.adopt(listener(receiver.at(`/${name}`, OK), url, key), (it) => it.kill9());
  });
  await Promise.all(listeners.map((each) => each.printed(CONNECTED)));

  let [reported, isOver] = [0, false];
  const reportNext = async () => {
    const body = eventOf(reported++, source);
    await caller.ask({ method: "POST", path: "/v1/events", body }, [202], [200]);
    genuine.check();
    await sleep(REPORT_EVERY_MS);
    return body.id;
  };
  const [ids] = await Promise.all([
    runInLanes(1, () => isOver, reportNext),
    disturb().finally(() => (isOver = true)),
  ]);
  const ends = await pMap(ids, (id) => endOf(caller, id), { concurrency: READS_AT_ONCE });
  genuine.check();
  source.isDead = true;
  const posts = Map.groupBy(receiver.posts, ({ headers }) => headers["x-task-id"]);
  const evidence = await pMap(
    ends,
    async (end): Promise<ListenedTask> => {
      const own = posts.get(end.id) ?? [];
      return { ...end, posts: own, digest: await opened(own[0], stage.url) };
    },
    { concurrency: READS_AT_ONCE },
  );
  const copies = (await stage.keptKeys()).filter(isListened);
  const recording = { evidence, genuine: genuine.all, copies };
  const counters = countersOf(recording);
  for (const { output } of listeners)
    counters.add("listeners connected again", output.split(CONNECTED).length - 2);
  return { counters, recording };
}

function countersOf({ evidence, copies }: ListenedRecording): Counters {
  const counters = new Counters();
  counters.add("tasks to listeners", evidence.length);
  counters.add("copies", copies.length);
  for (const { callback, posts } of evidence) {
    counters.add("POSTs of listeners", posts.length);
    for (const { outcome = "open" } of callback?.attempts ?? [])
      counters.add(`attempts to listeners ${outcome}`);
  }
  return counters;
}

/** Returns the event of a task that has completed. The source breaks every second output off when it is first read. */
function eventOf(nth: number, source: OutputSource) {
  const id = ID_PREFIX + String(nth).padStart(12, "0");
  const firstAnswer = nth % 2 === 0 ? "whole" : "cut off";
  const url = source.serve(`/${id}.mp4`, {
    bytes: outputBytes(id),
    isLengthStated: true,
    firstAnswer,
  });
  const output = { urls: [url], metadata: {} };
  return { ...completedEvent(id, "listen:"), account: ACCOUNT, output };
}

/** Returns the output of a task. */
export function outputBytes(id: string): Uint8Array {
  return videoBytes(id, OUTPUT_BYTES);
}

/** Returns the task that a key in the bucket belongs to. */
export function taskOf(key: string): string {
  return key.split("/")[1] ?? "";
}

/** Tells whether a key in the bucket belongs to a task whose callbacks go to listeners. */
export function isListened(key: string): boolean {
  return taskOf(key).startsWith(ID_PREFIX);
}

/** Starts `npm run listen`, which connects to the relay at `url` and passes callbacks on. */
function listener(to: string, url: string, key: string): Child {
  const args = ["client/src/listen/main.ts", "listen", "--to", to, "--relay", url];
  return new Child(process.execPath, args, { ...process.env, TASK_RELAY_KEY: key });
}

/** Waits until the callback of a task is delivered, ordering it again when it has failed, and its output kept. */
async function endOf(
  caller: Caller,
  id: string,
): Promise<Pick<ListenedTask, "id" | "callback" | "orders">> {
  const path = `/v1/tasks/${id}`;
  const giveUpAt = Date.now() + GIVE_UP_AFTER_MS;
  for (let orders = 0; ; await sleep(LOOK_EVERY_MS)) {
    const { json } = await caller.ask({ method: "GET", path }, [200]);
    const task = Task.parse(json);
    const { callback } = task;
    const isKept = Read.parse(json).outputs.every(({ kept }) => kept);
    const isEnd = callback?.status === "delivered" && isKept;
    if (isEnd || Date.now() > giveUpAt) return { id, callback, orders };
    if (!isSettled(task) || callback?.status === "delivered") continue;
    await sleep(REDELIVER_AFTER_MS);
    const order = { body: { attempts: 1 }, headers: { "Idempotency-Key": `${id}-${orders}` } };
    await caller.ask({ method: "POST", path: `${path}/redeliver`, ...order }, [202]);
    orders++;
  }
}

/** Opens the link in a callback. @returns the SHA-256 in hex of what it gives. */
async function opened(post: Post | undefined, url: string): Promise<string | null> {
  const [link] = post === undefined ? [] : linksIn(post.body);
  if (link === undefined) return null;
  const answer = await fetch(link.replace(OUTPUTS_URL, url), { redirect: "manual" });
  return createHash("sha256")
    .update(await answer.bytes())
    .digest("hex");
}
