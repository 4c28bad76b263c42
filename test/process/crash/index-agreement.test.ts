import pMap from "p-map";
import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, it, vi } from "vitest";
import * as z from "zod";
import { type Client, completedEvent, LOCAL_VARS, Task } from "../harness/client.ts";
import { type Behaviour, type Post, Receiver } from "../harness/receiver.ts";
import { seeded } from "../../simulation/random.ts";
import { Workerd } from "../harness/workerd.ts";
import { WranglerDev } from "../harness/wrangler-dev.ts";

const SEED = Number(process.env["CRASH_SEED"] ?? 20_261_121);
const VARS = { ...LOCAL_VARS, CALLBACK_SCHEDULE_S: "0,1,1", CALLBACK_TIMEOUT_S: "2" };
const PARALLEL = { concurrency: 8 };
const KILLS = 3;
const BATCH = 40;
const MODEL = "seedance-1-pro";
const WITHIN_MS = 180_000;
const COURSES = ["event", "event", "whole", "uncalled", "registered", "working"] as const;

type Row = z.infer<typeof Row>;
const Row = z.object({
  id: z.string(),
  status: z.string(),
  callback: z
    .object({ status: z.string(), attempts: z.int(), last_outcome: z.string().optional() })
    .nullable(),
});

it.each([
  ["D1", () => WranglerDev.start({ vars: VARS })],
  ["an object on plain workerd", () => Workerd.start({ vars: VARS })],
])(
  "after the relay and its index in %s were killed repeatedly, each task and its row in the search index agree",
  async (_, start) => {
    console.log(`seed ${SEED}`);
    const random = seeded(SEED);
    await using receiver = await Receiver.start();
    await using relay = await start();
    const { client } = relay;
    const ids: string[] = [];
    let isUp = true;

    const begin = async () => {
      await sleep(random() * 800);
      const id = randomUUID();
      const callbackUrl = receiver.at(`/${id}`, ...behaviours(random));
      const course = COURSES[Math.floor(random() * COURSES.length)] ?? "event";
      if (!isUp) return;
      ids.push(id);
      // A request that the kill cuts off was either stored or never received.
      await create(client, id, course, callbackUrl).catch(() => undefined);
    };
    for (let kills = 0; kills <= KILLS; kills++) {
      const load = pMap(Array.from({ length: BATCH }), begin, PARALLEL);
      await (kills < KILLS ? sleep(500 + random() * 3_000) : load);
      if (kills === KILLS) break;
      if (kills === KILLS - 1)
        await vi.waitUntil(() => receiver.posts.some(isLastUnderWay), WITHIN_MS);
      isUp = false;
      await relay.kill9();
      await load;
      await relay.restart();
      isUp = true;
    }

    const differing = async () =>
      difference(await client.list("/v1/tasks", Row), await readTasks(client, ids));
    await expect.poll(differing, { timeout: WITHIN_MS, interval: 500 }).toEqual([]);
    const rows = await client.list("/v1/tasks", Row);
    const states = new Set(rows.map(({ status, callback }) => `${status} ${callback?.status}`));
    console.log(`${rows.length} of ${ids.length} tasks: ${[...states].join(", ")}`);
    expect(rows.length).toBeGreaterThan(KILLS * 10);
    expect(states.size).toBeGreaterThanOrEqual(5);
    expect(rows.some(({ callback }) => callback?.last_outcome === "interrupted")).toBe(true);
  },
);

/** Tells whether a last attempt is running, which a kill would interrupt now. */
function isLastUnderWay({ headers, closedAt }: Post): boolean {
  return headers["x-attempt"] === "3" && closedAt === null;
}

async function create(
  client: Client,
  id: string,
  course: (typeof COURSES)[number],
  callbackUrl: string,
): Promise<void> {
  const callback_url = course === "uncalled" ? null : callbackUrl;
  if (course !== "event") await client.ask("POST", "/v1/tasks", { id, model: MODEL, callback_url });
  if (course === "working") await client.ask("POST", "/v1/events", { id, status: "processing" });
  if (course === "registered" || course === "working") return;
  await client.ask("POST", "/v1/events", completedEvent(id, callbackUrl));
}

/**
 * Returns answers of the receiver that fail none, some or all of the attempts; every answer takes some time.
 */
function behaviours(random: () => number): Behaviour[] {
  const failures = Math.floor(random() * 4);
  return [0, 1, 2].map((i) => {
    return { kind: "answer", status: i < failures ? 500 : 200, afterMs: 50 + random() * 1_450 };
  });
}

/** Reads the tasks that exist, each in the form of the row that the list should show for it. */
async function readTasks(client: Client, ids: readonly string[]): Promise<readonly Row[]> {
  const read = async (id: string) => {
    const { status, json } = await client.ask("GET", `/v1/tasks/${id}`);
    if (status === 404) return [];
    const task = Task.parse(json);
    const last = task.callback?.attempts.at(-1);
    const shown = { attempts: last?.number ?? 0, last_outcome: last?.outcome };
    const callback = task.callback && { status: task.callback.status, ...shown };
    return [Row.parse({ ...task, callback })];
  };
  return (await pMap(ids, read, PARALLEL)).flat();
}

/** Returns the rows that only one of the two lists contains. */
function difference(left: readonly Row[], right: readonly Row[]): readonly string[] {
  const texts = [...left, ...right].map((row) => JSON.stringify(row));
  return texts.filter((text) => texts.indexOf(text) === texts.lastIndexOf(text));
}
