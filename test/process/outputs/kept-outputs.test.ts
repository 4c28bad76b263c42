import { createHash } from "node:crypto";
import { globSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import pMap from "p-map";
import { expect, it, vi } from "vitest";
import * as z from "zod";
import { seeded } from "../../simulation/random.ts";
import { completedEvent, LOCAL_VARS } from "../harness/client.ts";
import { Receiver } from "../harness/receiver.ts";
import { readCopy } from "../harness/stored-record.ts";
import { WranglerDev } from "../harness/wrangler-dev.ts";
import { OutputSource } from "./output-source.ts";
import { endsOf, MAX_OUTPUT_MB, type OutputEnd, planOf, type TaskPlan } from "./test-tasks.ts";

const TASKS = 300;
const PARALLEL = { concurrency: 12 };
const OUTPUTS_URL = "https://outputs.example.com";
const VARS = { ...LOCAL_VARS, OUTPUTS_URL, MAX_OUTPUT_MB: String(MAX_OUTPUT_MB) };
const SEED = Number(process.env["CHAOS_SEED"] ?? 20_261_127);
/** Smallest number of kills while tasks with outputs arrive and are copied, and the largest, for a slow machine. */
const KILLS = 9;
const MOST_KILLS = 12;
const MIN_UP_MS = 400;
const MAX_UP_MS = 4_000;
/** Time in milliseconds within which the bucket changes as a kill awaits it, before the relay is killed in any case. */
const CHANGE_WITHIN_MS = 8_000;
const REPEAT_AFTER_MS = 200;
/** Time in milliseconds within which all copies end. A try that a kill has cut off makes the next one wait longer. */
const ENDED_WITHIN_MS = 600_000;

/** A task of the test with the links that its upstream has reported. */
interface TestTask extends TaskPlan {
  readonly callbackUrl: string;
  readonly sources: readonly string[];
}

const Read = z.looseObject({
  outputs: z.array(z.looseObject({ kept: z.boolean(), reason: z.string().optional() })),
});
const Callback = z.looseObject({ output: z.looseObject({ urls: z.array(z.string()) }) });
const Key = z.object({ key: z.string() });
const Count = z.object({ count: z.int() });

function testTask(nth: number, source: OutputSource, receiver: Receiver): TestTask {
  const plan = planOf(SEED, nth);
  const { id, files } = plan;
  const sources = files.map((file, index) => source.serve(`/${id}/${index}.mp4`, file));
  return { ...plan, callbackUrl: receiver.at(`/${id}`, { kind: "answer", status: 204 }), sources };
}

/** Sends a request again and again until the relay answers with one of these statuses. */
async function insist(
  { client }: WranglerDev,
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

async function report(relay: WranglerDev, { id, callbackUrl, sources }: TestTask): Promise<void> {
  const event = { ...completedEvent(id, callbackUrl), output: { urls: sources, metadata: {} } };
  await insist(relay, "POST", "/v1/events", [202, 200], event);
}

/** Orders the deletion that is planned for a task. */
async function orderDeletion(relay: WranglerDev, { id, deletion }: TestTask): Promise<void> {
  if (deletion === null) return;
  await sleep(deletion.pauseMs);
  const path = deletion.of === "task" ? `/v1/tasks/${id}` : `/v1/tasks/${id}/outputs/1`;
  // The task is not there any more when the answer to its erasure was lost.
  await insist(relay, "DELETE", path, deletion.of === "task" ? [204, 404] : [204]);
}

interface Kills {
  readonly count: number;
  /** Number of kills that have left parts of an upload in the bucket. */
  readonly inUploads: number;
}

/** Kills the relay again and again and restarts it, until all tasks are reported and it was killed often enough. */
async function killAgainAndAgain(relay: WranglerDev, isOver: () => boolean): Promise<Kills> {
  const random = seeded(SEED);
  let [count, inUploads] = [0, 0];
  for (; count < KILLS || (count < MOST_KILLS && !isOver()); count++) {
    await momentToKill(relay, count, random);
    await relay.kill9();
    if (inBucket(relay).parts > 0) inUploads++;
    await relay.restart();
  }
  return { count, inUploads };
}

/**
 * Waits for the moment of a kill: in turns a random one, a random one after copies have been stored, and one at which an
 * upload has parts in the bucket.
 */
async function momentToKill(relay: WranglerDev, nth: number, random: () => number): Promise<void> {
  const { keys } = inBucket(relay);
  if (nth % 3 === 1) await awaitChange(() => inBucket(relay).keys.length > keys.length);
  if (nth % 3 === 2) return awaitChange(() => inBucket(relay).parts > 0);
  await sleep(MIN_UP_MS + random() ** 2 * (MAX_UP_MS - MIN_UP_MS));
}

/** Waits until the condition holds, or for so long that it seems not to come. */
async function awaitChange(isThere: () => boolean): Promise<void> {
  const giveUpAt = Date.now() + CHANGE_WITHIN_MS;
  while (!isThere() && Date.now() < giveUpAt) await sleep(50);
}

/** Tells whether each output of a task is kept or said not to be kept, as the plan has it. */
async function hasEnded({ client }: WranglerDev, task: TestTask): Promise<boolean> {
  const ends = endsOf(task);
  const { status, json } = await client.ask("GET", `/v1/tasks/${task.id}`);
  if (ends === null) return status === 404;
  const { outputs } = Read.parse(json);
  const found = outputs.map(({ kept, reason }) => (kept ? "kept" : reason));
  return found.join() === ends.join();
}

/** Returns the links of the relay in the callback of a task, whose posts are all equal. */
function linksIn(receiver: Receiver, { id }: TestTask): readonly string[] {
  const bodies = new Set(receiver.postsAt(`/${id}`).map(({ body }) => body));
  expect(bodies.size).toBe(1);
  return Callback.parse(JSON.parse([...bodies][0] ?? "")).output.urls;
}

/** Opens a link of the relay without following a redirect. */
function openLink(
  { url }: WranglerDev,
  link: string,
  headers: Readonly<Record<string, string>> = {},
) {
  expect(link.startsWith(`${OUTPUTS_URL}/outputs/`)).toBe(true);
  return fetch(link.replace(OUTPUTS_URL, url), { headers, redirect: "manual" });
}

/** Statuses of the links to outputs that are not kept: the upstream's link is not known to have died yet. */
const STATUS_OF: Readonly<Record<Exclude<OutputEnd, "kept">, number>> = {
  too_large: 302,
  deleted: 410,
};

/** Expects that the links of a task open the outputs that are kept, as a whole and in parts, and no others. */
async function expectReadable(relay: WranglerDev, receiver: Receiver, task: TestTask) {
  const links = linksIn(receiver, task);
  expect(links).toHaveLength(task.files.length);
  for (const [index, end] of (endsOf(task) ?? []).entries()) {
    const link = links[index] ?? "";
    const whole = await openLink(relay, link);
    if (end !== "kept") {
      expect(whole.status).toBe(STATUS_OF[end]);
      continue;
    }
    const bytes = task.files[index]?.bytes ?? new Uint8Array();
    expect([whole.status, whole.headers.get("Content-Type")]).toEqual([200, "video/mp4"]);
    expect(digest(new Uint8Array(await whole.arrayBuffer()))).toBe(digest(bytes));
    const part = await openLink(relay, link, { Range: "bytes=-7" });
    expect([part.status, new Uint8Array(await part.arrayBuffer())]).toEqual([
      206,
      new Uint8Array(bytes.subarray(-7)),
    ]);
  }
}

function digest(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}

/** Reads the keys of the stored copies, and the number of parts of unfinished uploads, from the file of the bucket. */
function inBucket({ buckets }: WranglerDev): { keys: readonly string[]; parts: number } {
  const files = globSync("**/*.sqlite", { cwd: buckets }).filter(
    (file) => !file.endsWith("metadata.sqlite"),
  );
  const found = files.map((file) =>
    readCopy(join(buckets, file), (database) => {
      const rows = database.prepare("SELECT key FROM _mf_objects").all();
      const parts = database
        .prepare("SELECT COUNT(*) AS count FROM _mf_multipart_parts WHERE object_key IS NULL")
        .get();
      return { keys: rows.map((row) => Key.parse(row).key), parts: Count.parse(parts).count };
    }),
  );
  return {
    keys: found.flatMap((each) => each?.keys ?? []).toSorted(),
    parts: found.reduce((sum, each) => sum + (each?.parts ?? 0), 0),
  };
}

/** Returns the task and the number of each output that must be kept. */
function keptOutputs(tasks: readonly TestTask[]): readonly string[] {
  const kept = tasks.flatMap((task) =>
    (endsOf(task) ?? []).flatMap((end, index) => (end === "kept" ? `${task.id} ${index + 1}` : [])),
  );
  return kept.toSorted();
}

/** Returns the task and the number of an output by the key of its copy. */
function outputAt(key: string): string {
  const [, id, , number] = key.split("/");
  return `${id} ${number}`;
}

it("while the relay is killed with kill -9 again and again, each output of 300 tasks is kept once, or is too large or deleted and said so; links work when those of the upstream have died, until their tasks are erased; and no upload or erased task leaves anything", async () => {
  await using source = await OutputSource.start();
  await using receiver = await Receiver.start();
  await using relay = await WranglerDev.start({ vars: VARS, hasIndex: false, hasOutputs: true });
  const tasks = Array.from({ length: TASKS }, (_, nth) => testTask(nth, source, receiver));
  let isOver = false;
  const deletions: Promise<void>[] = [];
  const live = async (task: TestTask) => {
    await report(relay, task);
    deletions.push(orderDeletion(relay, task));
  };
  const [kills] = await Promise.all([
    killAgainAndAgain(relay, () => isOver),
    pMap(tasks, live, PARALLEL).finally(() => (isOver = true)),
  ]);
  await Promise.all(deletions);

  const killedLastAt = Date.now();
  let open = [...tasks];
  await vi.waitUntil(
    async () => {
      const ended = await pMap(open, (task) => hasEnded(relay, task), PARALLEL);
      open = open.filter((_, index) => ended[index] === false);
      return open.length === 0;
    },
    { timeout: ENDED_WITHIN_MS, interval: 1_000 },
  );
  const kept = keptOutputs(tasks);
  const figures = `${kills.count} kills, ${kills.inUploads} in uploads, ${source.requests} downloads for ${kept.length} copies`;
  console.log(`seed ${SEED}: ${figures}, ${Date.now() - killedLastAt} ms after the last kill`);
  expect(kills.inUploads).toBeGreaterThan(0);

  source.isDead = true;
  const living = tasks.filter((task) => endsOf(task) !== null);
  await pMap(living, (task) => expectReadable(relay, receiver, task), { concurrency: 4 });
  const stored = inBucket(relay);
  expect(stored.keys.map(outputAt).toSorted()).toEqual(kept);
  expect(stored.parts).toBe(0);

  const links = living.slice(0, 1).flatMap((task) => linksIn(receiver, task));
  await pMap(living, ({ id }) => insist(relay, "DELETE", `/v1/tasks/${id}`, [204, 404]), PARALLEL);
  expect(inBucket(relay)).toEqual({ keys: [], parts: 0 });
  for (const link of links) expect((await openLink(relay, link)).status).toBe(404);
}, 1_200_000);
