import { createHash, randomUUID } from "node:crypto";
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
import { type FirstAnswer, OutputSource, videoBytes } from "./output-source.ts";

const TASKS = 300;
const PARALLEL = { concurrency: 12 };
const OUTPUTS_URL = "https://outputs.example.com";
const VARS = { ...LOCAL_VARS, OUTPUTS_URL };
const SEED = 20_261_127;
/** Smallest number of kills while tasks with outputs arrive and are copied. */
const KILLS = 8;
const MIN_UP_MS = 400;
const MAX_UP_MS = 4_000;
const KEPT_WITHIN_MS = 240_000;
const SMALL_BYTES = 200_000;
/** Length of an output that is stored in two parts. */
const LARGE_BYTES = 9 * 1024 * 1024;
/** One of this number of tasks has an output of this kind. */
const EVERY = { large: 15, cutOff: 10, unavailable: 12 };

/** A task of the test with the outputs that its source has. */
interface TestTask {
  readonly id: string;
  readonly callbackUrl: string;
  readonly links: readonly string[];
  readonly bytes: readonly Uint8Array[];
}

const Read = z.looseObject({ outputs: z.array(z.looseObject({ kept: z.boolean() })) });
const Callback = z.looseObject({ output: z.looseObject({ urls: z.array(z.string()) }) });
const Key = z.object({ key: z.string() });
const Count = z.object({ count: z.int() });

/** Builds a task with one or two outputs; some are large, or fail at first. */
function testTask(nth: number, source: OutputSource, receiver: Receiver): TestTask {
  const id = randomUUID();
  const isLarge = nth % EVERY.large === 0;
  const files = Array.from({ length: 1 + (nth % 2) }, (_, index) => {
    const name = `/${id}/${index}.mp4`;
    const bytes = videoBytes(name, isLarge ? LARGE_BYTES : SMALL_BYTES + nth);
    const file = { bytes, isLengthStated: !isLarge, firstAnswer: firstAnswerOf(nth) };
    return { bytes, link: source.serve(name, file) };
  });
  const callbackUrl = receiver.at(`/${id}`, { kind: "answer", status: 204 });
  return {
    id,
    callbackUrl,
    links: files.map(({ link }) => link),
    bytes: files.map(({ bytes }) => bytes),
  };
}

function firstAnswerOf(nth: number): FirstAnswer {
  if (nth % EVERY.cutOff === 1) return "cut off";
  return nth % EVERY.unavailable === 2 ? "unavailable" : "whole";
}

/** Reports the end of a task again and again until the relay has answered. */
async function report({ client }: WranglerDev, { id, callbackUrl, links }: TestTask) {
  const event = { ...completedEvent(id, callbackUrl), output: { urls: links, metadata: {} } };
  for (;;) {
    const answer = await client.ask("POST", "/v1/events", event).catch(() => null);
    if (answer?.status === 202 || answer?.status === 200) return;
    await sleep(200);
  }
}

/** Kills the relay at random moments, and restarts it, until all tasks are reported and it was killed often enough. */
async function killAgainAndAgain(relay: WranglerDev, isOver: () => boolean): Promise<number> {
  const random = seeded(SEED);
  let kills = 0;
  for (; kills < KILLS || !isOver(); kills++) {
    await sleep(MIN_UP_MS + random() ** 2 * (MAX_UP_MS - MIN_UP_MS));
    await relay.restart();
  }
  return kills;
}

async function areKept({ client }: WranglerDev, { id, links }: TestTask): Promise<boolean> {
  const { json } = await client.ask("GET", `/v1/tasks/${id}`);
  const { outputs } = Read.parse(json);
  return outputs.length === links.length && outputs.every(({ kept }) => kept);
}

/** Returns the links of the relay in the callback of a task, whose posts are all equal. */
function linksIn(receiver: Receiver, { id }: TestTask): readonly string[] {
  const bodies = new Set(receiver.postsAt(`/${id}`).map(({ body }) => body));
  expect(bodies.size).toBe(1);
  return Callback.parse(JSON.parse([...bodies][0] ?? "")).output.urls;
}

/** Fetches an output by its link of the relay. */
function openLink(
  { url }: WranglerDev,
  link: string,
  headers: Readonly<Record<string, string>> = {},
) {
  expect(link.startsWith(`${OUTPUTS_URL}/outputs/`)).toBe(true);
  return fetch(link.replace(OUTPUTS_URL, url), { headers });
}

/** Expects that the links of a task open its outputs as a whole, and in parts. */
async function expectReadable(relay: WranglerDev, receiver: Receiver, task: TestTask) {
  const links = linksIn(receiver, task);
  expect(links).toHaveLength(task.bytes.length);
  for (const [index, bytes] of task.bytes.entries()) {
    const link = links[index] ?? "";
    const whole = await openLink(relay, link);
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

it("while the relay is killed with kill -9 again and again, it loses and doubles none of the outputs of 300 tasks; their links work when those of the upstream have died, until their tasks are erased", async () => {
  await using source = await OutputSource.start();
  await using receiver = await Receiver.start();
  await using relay = await WranglerDev.start({ vars: VARS, hasIndex: false, hasOutputs: true });
  const tasks = Array.from({ length: TASKS }, (_, nth) => testTask(nth, source, receiver));
  let isOver = false;
  const [kills] = await Promise.all([
    killAgainAndAgain(relay, () => isOver),
    pMap(tasks, (task) => report(relay, task), PARALLEL).finally(() => (isOver = true)),
  ]);

  const keptAfter = Date.now();
  let copying = [...tasks];
  await vi.waitUntil(
    async () => {
      const kept = await pMap(copying, (task) => areKept(relay, task), PARALLEL);
      copying = copying.filter((_, index) => kept[index] === false);
      return copying.length === 0;
    },
    { timeout: KEPT_WITHIN_MS, interval: 1_000 },
  );
  console.log(`${kills} kills; all copies are there ${Date.now() - keptAfter} ms after the last`);

  source.isDead = true;
  await pMap(tasks, (task) => expectReadable(relay, receiver, task), { concurrency: 4 });
  const count = tasks.reduce((sum, { links }) => sum + links.length, 0);
  const stored = inBucket(relay);
  expect(stored.keys).toHaveLength(count);
  expect(stored.parts).toBe(0);

  const [first] = tasks;
  const links = first === undefined ? [] : linksIn(receiver, first);
  await pMap(tasks, async ({ id }) => relay.client.ask("DELETE", `/v1/tasks/${id}`), PARALLEL);
  expect(inBucket(relay)).toEqual({ keys: [], parts: 0 });
  for (const link of links) expect((await openLink(relay, link)).status).toBe(404);
});
