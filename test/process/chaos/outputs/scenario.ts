import { createHash } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import pMap from "p-map";
import * as z from "zod";
import { OPEN_CALLBACK_STATUSES } from "../../../../src/core/record/callback.ts";
import { seeded } from "../../../simulation/random.ts";
import type { BucketContent } from "../../harness/bucket.ts";
import { completedEvent, LOCAL_VARS } from "../../harness/client.ts";
import { Receiver } from "../../harness/receiver.ts";
import { OutputSource } from "../../outputs/output-source.ts";
import { Counters } from "../counters.ts";
import { killAgainAndAgain, upFor } from "../kills.ts";
import type { Recorded, Scenario } from "../scenario.ts";
import { faultsIn, keptOutputs, linksIn } from "./judge.ts";
import { type KilledRelay, type Place, startWithR2, startWithS3 } from "./place.ts";
import { endsOf, MAX_OUTPUT_MB, planOf, type TaskPlan } from "./plan.ts";
import { PLANTED_FAULTS } from "./planted.ts";
import {
  type Content,
  type Evidence,
  type ExpectedOutput,
  type OpenedLink,
  OUTPUTS_URL,
  type Recording,
} from "./recording.ts";

const TASKS = 300;
const PARALLEL = { concurrency: 12 };
const VARS = { ...LOCAL_VARS, OUTPUTS_URL, MAX_OUTPUT_MB: String(MAX_OUTPUT_MB) };
/** Smallest number of kills while tasks with outputs arrive and are copied, and the largest, for a slow machine. */
const KILLS = 9;
const MOST_KILLS = 12;
const MIN_UP_MS = 400;
const MAX_UP_MS = 4_000;
/** Time in milliseconds within which the bucket changes as a kill awaits it, before the relay is killed in any case. */
const CHANGE_WITHIN_MS = 8_000;
const REPEAT_AFTER_MS = 200;
const LOOK_EVERY_MS = 1_000;
/** Number of bytes at the end of a copy that are also read alone. */
const TAIL_BYTES = 7;
/**
 * Time in milliseconds within which all copies and callbacks end. A try or attempt that a kill has cut off makes the
 * next one wait longer.
 */
const ENDED_WITHIN_MS = 600_000;

/** A task of the test with the links that its upstream has reported. */
interface TestTask extends TaskPlan {
  readonly callbackUrl: string;
  readonly sources: readonly string[];
}

const OPEN_CALLBACKS: ReadonlySet<string> = new Set(OPEN_CALLBACK_STATUSES);
const Read = z.looseObject({
  callback: z.looseObject({ status: z.string() }),
  outputs: z.array(z.looseObject({ kept: z.boolean(), reason: z.string().optional() })),
});

function testTask(seed: number, nth: number, source: OutputSource, receiver: Receiver): TestTask {
  const plan = planOf(seed, nth);
  const { id, files } = plan;
  const sources = files.map((file, index) => source.serve(`/${id}/${index}.mp4`, file));
  return { ...plan, callbackUrl: receiver.at(`/${id}`, { kind: "answer", status: 204 }), sources };
}

/** Sends a request again and again until the relay answers with one of these statuses. */
async function insist(
  { client }: KilledRelay,
  method: string,
  path: string,
  statuses: readonly number[],
  body?: object,
): Promise<void> {
  for (;;) {
    const answer = await client.ask(method, path, body).catch(() => null);
    if (answer !== null && statuses.includes(answer.status)) return;
    await sleep(REPEAT_AFTER_MS);
  }
}

async function report(relay: KilledRelay, { id, callbackUrl, sources }: TestTask): Promise<void> {
  const event = { ...completedEvent(id, callbackUrl), output: { urls: sources, metadata: {} } };
  await insist(relay, "POST", "/v1/events", [202, 200], event);
}

/** Orders the deletion that is planned for a task. */
async function orderDeletion(relay: KilledRelay, { id, deletion }: TestTask): Promise<void> {
  if (deletion === null) return;
  await sleep(deletion.pauseMs);
  const path = deletion.of === "task" ? `/v1/tasks/${id}` : `/v1/tasks/${id}/outputs/1`;
  // The task is not there any more when the answer to its erasure was lost.
  await insist(relay, "DELETE", path, deletion.of === "task" ? [204, 404] : [204]);
}

/**
 * Waits for the moment of a kill: in turns a random one, a random one after copies have been stored, and one at which an
 * upload has parts in the bucket.
 */
async function momentToKill({ content }: Place, nth: number, random: () => number): Promise<void> {
  const { keys } = await content();
  if (nth % 3 === 1) await awaitChange(async () => (await content()).keys.length > keys.length);
  if (nth % 3 === 2) return awaitChange(async () => (await content()).parts > 0);
  await upFor(random, MIN_UP_MS, MAX_UP_MS);
}

/** Waits until the condition holds, or for so long that it seems not to come. */
async function awaitChange(isThere: () => Promise<boolean>): Promise<void> {
  const giveUpAt = Date.now() + CHANGE_WITHIN_MS;
  while (!(await isThere()) && Date.now() < giveUpAt) await sleep(50);
}

/**
 * Tells whether each output of a task is kept or said not to be kept, as the plan has it, and no attempt of its callback
 * is due any more.
 */
async function hasEnded({ client }: KilledRelay, task: TestTask): Promise<boolean> {
  const ends = endsOf(task);
  const { status, json } = await client.ask("GET", `/v1/tasks/${task.id}`);
  if (ends === null) return status === 404;
  const { callback, outputs } = Read.parse(json);
  const found = outputs.map(({ kept, reason }) => (kept ? "kept" : reason));
  return found.join() === ends.join() && !OPEN_CALLBACKS.has(callback.status);
}

/**
 * Waits until each output of the tasks is kept or said not to be kept, as their plans have it, and their callbacks have
 * ended.
 * @returns the tasks that have not got there in time.
 */
async function awaitEnds(
  relay: KilledRelay,
  tasks: readonly TestTask[],
): Promise<readonly TestTask[]> {
  const giveUpAt = Date.now() + ENDED_WITHIN_MS;
  for (let open = tasks; ; await sleep(LOOK_EVERY_MS)) {
    const ended = await pMap(open, (task) => hasEnded(relay, task), PARALLEL);
    open = open.filter((_, index) => ended[index] === false);
    if (open.length === 0 || Date.now() > giveUpAt) return open;
  }
}

const EMPTY: BucketContent = { keys: [], parts: 0 };
const NOTHING: Omit<Recording, "open"> = {
  evidence: [],
  bucket: EMPTY,
  bucketAfterErasure: EMPTY,
  statusAfterErasure: null,
};

/** Records what has become of the outputs: at first with all tasks that were not erased, and then with none. */
async function recordingOf(
  { relay, content }: Place,
  receiver: Receiver,
  open: readonly TestTask[],
  tasks: readonly TestTask[],
): Promise<Recording> {
  if (open.length > 0) return { ...NOTHING, open: open.map(({ id }) => id) };
  const living = tasks.filter((task) => endsOf(task) !== null);
  const evidenceOfTask = (task: TestTask) => evidenceOf(relay, receiver, task);
  const evidence = await pMap(living, evidenceOfTask, { concurrency: 4 });
  const bucket = await content();
  await pMap(living, ({ id }) => insist(relay, "DELETE", `/v1/tasks/${id}`, [204, 404]), PARALLEL);
  const [link] = evidence.flatMap(({ bodies }) => bodies.slice(0, 1).flatMap(linksIn));
  const statusAfterErasure = link === undefined ? null : (await openLink(relay, link)).status;
  const bucketAfterErasure = await content();
  return { open: [], evidence, bucket, bucketAfterErasure, statusAfterErasure };
}

async function evidenceOf(
  relay: KilledRelay,
  receiver: Receiver,
  task: TestTask,
): Promise<Evidence> {
  const { id } = task;
  const bodies = receiver.postsAt(`/${id}`).map(({ body }) => body);
  const links = bodies.slice(0, 1).flatMap(linksIn);
  return { id, outputs: expectedOutputs(task), bodies, opened: await openAll(relay, links) };
}

/** Opens links as a whole and, where that succeeds, their last bytes alone. */
function openAll(relay: KilledRelay, links: readonly string[]): Promise<OpenedLink[]> {
  return pMap(links, async (link) => {
    const { status, headers, content } = await opened(relay, link);
    const mediaType = headers.get("Content-Type");
    if (status !== 200) return { status, mediaType, ...content, partStatus: null };
    const part = await opened(relay, link, { Range: `bytes=-${TAIL_BYTES}` });
    const { tail } = part.content;
    return { status, mediaType, digest: content.digest, partStatus: part.status, tail };
  });
}

/** Opens a link and reads the answer to its end. */
async function opened(
  relay: KilledRelay,
  link: string,
  given: Readonly<Record<string, string>> = {},
) {
  const answer = await openLink(relay, link, given);
  const { status, headers } = answer;
  return { status, headers, content: contentOf(await answer.bytes()) };
}

/** Opens a link of the relay without following a redirect. */
function openLink(
  { url }: KilledRelay,
  link: string,
  headers: Readonly<Record<string, string>> = {},
) {
  return fetch(link.replace(OUTPUTS_URL, url), { headers, redirect: "manual" });
}

/** Returns the outputs of a task as its plan has them; none for an erased task. */
function expectedOutputs(task: TestTask): readonly ExpectedOutput[] {
  const ends = endsOf(task) ?? [];
  return task.files.flatMap(({ bytes }, index) => {
    const end = ends[index];
    return end === undefined ? [] : [{ end, ...contentOf(bytes) }];
  });
}

function contentOf(bytes: Uint8Array): Content {
  const tail = Buffer.from(bytes.subarray(-TAIL_BYTES)).toString("hex");
  return { digest: createHash("sha256").update(bytes).digest("hex"), tail };
}

/** Reports 300 tasks with outputs while the relay is killed with `kill -9`. Recorded is what has become of each output. */
function outputsScenario(start: (vars: typeof VARS) => Promise<Place>): Scenario<Recording> {
  return {
    record: (seed) => record(seed, start),
    faultsIn,
    planted: PLANTED_FAULTS,
    least: { "kills that left parts of an upload": 1 },
  };
}

export const OUTPUTS = outputsScenario(startWithR2);
/** The same with the bucket in an S3 server. */
export const S3_OUTPUTS = outputsScenario(startWithS3);

async function record(
  seed: number,
  start: (vars: typeof VARS) => Promise<Place>,
): Promise<Recorded<Recording>> {
  await using source = await OutputSource.start();
  await using receiver = await Receiver.start();
  await using place = await start(VARS);
  const { relay } = place;
  const tasks = Array.from({ length: TASKS }, (_, nth) => testTask(seed, nth, source, receiver));
  const counters = new Counters();
  let isOver = false;
  const deletions: Promise<void>[] = [];
  const live = async (task: TestTask) => {
    await report(relay, task);
    deletions.push(orderDeletion(relay, task));
  };
  const random = seeded(seed);
  const restart = async () => {
    if ((await place.content()).parts > 0) counters.add("kills that left parts of an upload");
    return relay.restart();
  };
  await Promise.all([
    killAgainAndAgain({
      relay: { kill9: () => relay.kill9(), restart },
      counters,
      moment: (nth) => momentToKill(place, nth, random),
      isEnough: (kills) => kills >= (isOver ? KILLS : MOST_KILLS),
    }),
    pMap(tasks, live, PARALLEL).finally(() => (isOver = true)),
  ]);
  await Promise.all(deletions);

  const open = await awaitEnds(relay, tasks);
  counters.add("tasks", tasks.length);
  counters.add("downloads", source.requests);
  source.isDead = true;
  const recording = await recordingOf(place, receiver, open, tasks);
  counters.add("copies", keptOutputs(recording.evidence).length);
  return { recording, counters };
}
