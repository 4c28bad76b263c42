import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import { type Client, completedEvent, SECRETS, Task } from "./client.ts";
import { IndexedRelay, type Listed } from "./index-relay.ts";
import { inParallel } from "./parallel.ts";
import { type Behaviour, Receiver } from "./receiver.ts";
import { seeded } from "./seeded.ts";

/** Any other run is as good; this one can be had again with CRASH_SEED. */
const SEED = Number(process.env["CRASH_SEED"] ?? Math.floor(Math.random() * 1e9));
const VARS = {
  ...SECRETS,
  CALLBACK_SCHEDULE_S: "0,1,1",
  CALLBACK_TIMEOUT_S: "2",
  ALLOW_LOCAL_CALLBACKS: "true",
};
const PARALLEL = 8;
const KILLS = 3;
const BATCH = 40;
const MODEL = "seedance-1-pro";
const DAY_S = 86_400;

const Described = Task.extend({
  model: z.string(),
  created_at: z.int(),
  completed_at: z.int().optional(),
});

/** The row that the list should show of a task, told from what the task itself says. */
function rowOf(task: z.infer<typeof Described>): Listed {
  const { id, status, model, created_at, completed_at, callback } = task;
  const last = callback?.attempts.at(-1);
  const shown = callback && {
    status: callback.status,
    host: new URL(callback.url).hostname,
    attempts: last?.number ?? 0,
    ...(last?.outcome !== undefined && { last_outcome: last.outcome }),
    ...(last?.status_code !== undefined && { last_status_code: last.status_code }),
  };
  const head = { id, status, model, created_at };
  return { ...head, ...(completed_at !== undefined && { completed_at }), callback: shown };
}

async function described(client: Client, id: string): Promise<Listed> {
  const { json } = await client.ask("GET", `/v1/tasks/${id}`);
  return rowOf(Described.parse(json));
}

const byId = (rows: readonly Listed[]) => rows.toSorted((a, b) => (a.id < b.id ? -1 : 1));

/** Waits until what `look` sees is as expected. @throws the difference when it never is. */
async function within(ms: number, look: () => Promise<void>): Promise<void> {
  const giveUpAt = Date.now() + ms;
  for (;;) {
    try {
      return await look();
    } catch (error) {
      if (Date.now() > giveUpAt) throw error;
      await sleep(500);
    }
  }
}

describe("kill -9 of the relay and its index, again and again", () => {
  it("leaves every task and its row in agreement within a minute, row for row", async () => {
    console.log(`seed ${SEED}`);
    const random = seeded(SEED);
    await using receiver = await Receiver.start();
    await using relay = await IndexedRelay.start(VARS);
    const { client } = relay;
    const ids: string[] = [];
    let isUp = true;

    const begin = async () => {
      await sleep(random() * 800);
      if (!isUp) return;
      const id = randomUUID();
      ids.push(id);
      const callbackUrl = receiver.at(`/${id}`, ...aScript(random));
      const life = aLife(random);
      try {
        if (life !== "event") {
          const body = {
            id,
            model: MODEL,
            ...(life !== "uncalled" && { callback_url: callbackUrl }),
          };
          await client.ask("POST", "/v1/tasks", body);
        }
        if (life === "working")
          await client.ask("POST", "/v1/events", { id, status: "processing" });
        if (life === "event" || life === "whole" || life === "uncalled") {
          await client.ask("POST", "/v1/events", completedEvent(id, callbackUrl));
        }
      } catch {
        // Cut off: the relay has it, or never heard of it.
      }
    };
    for (let kills = 0; kills <= KILLS; kills++) {
      const load = inParallel(PARALLEL, Array.from({ length: BATCH }), begin);
      await (kills < KILLS ? sleep(500 + random() * 3_000) : load);
      if (kills === KILLS) break;
      isUp = false;
      await relay.kill9();
      await load;
      await relay.restart();
      isUp = true;
    }

    const startedAt = Date.now();
    await within(180_000, async () => {
      const rows = await relay.list();
      const known = await inParallel(PARALLEL, ids, async (id) => {
        const { status } = await client.ask("GET", `/v1/tasks/${id}`);
        return status === 404 ? [] : [await described(client, id)];
      });
      expect(byId(rows)).toEqual(byId(known.flat()));
    });
    const rows = await relay.list();
    const states = Map.groupBy(rows, ({ status, callback }) => `${status} ${callback?.status}`);
    const counts = [...states].map(([state, same]) => `${state} ${same.length}`).join(", ");
    console.log(
      `${rows.length} of ${ids.length} tasks, in agreement after ${Date.now() - startedAt} ms: ${counts}`,
    );
    expect(rows.length).toBeGreaterThan(KILLS * 10);
    expect(states.size).toBeGreaterThanOrEqual(5);
    expect(rows.some(({ callback }) => callback?.last_outcome === "interrupted")).toBe(true);
  });
});

/** Fails none, some or all of the times; every answer takes its time. */
function aScript(random: () => number): Behaviour[] {
  const failures = Math.floor(random() * 4);
  return [0, 1, 2].map((i) => ({
    kind: "answer",
    status: i < failures ? 500 : 200,
    afterMs: 50 + random() * 1_450,
  }));
}

type Life = "event" | "whole" | "uncalled" | "registered" | "working";

function aLife(random: () => number): Life {
  const lives: readonly Life[] = ["event", "event", "whole", "uncalled", "registered", "working"];
  return lives[Math.floor(random() * lives.length)] ?? "event";
}

describe("a receiver that was broken", () => {
  it("gets all that it missed in a day with two commands, each once, and nobody else anything", async () => {
    await using receiver = await Receiver.start();
    await using relay = await IndexedRelay.start(VARS);
    const { client } = relay;
    const broken: Behaviour[] = [1, 2, 3].map(() => ({ kind: "answer", status: 503 }));
    const well: Behaviour = { kind: "answer", status: 200 };
    const begin = async (host: string, ...behaviours: Behaviour[]) => {
      const id = randomUUID();
      const url = receiver.at(`/${id}`, ...behaviours).replace("127.0.0.1", host);
      return client.finish(url, id);
    };
    const several = (count: number, work: () => Promise<string>) =>
      inParallel(PARALLEL, Array.from({ length: count }), work);
    const missed = await several(30, () => begin("localhost", ...broken, well));
    const others = [
      ...(await several(10, () => begin("127.0.0.1", ...broken))),
      ...(await several(10, () => begin("localhost", well))),
    ];
    await inParallel(PARALLEL, [...missed, ...others], (id) => client.settled(id));
    const postsBefore = others.map((id) => receiver.postsAt(`/${id}`).length);

    const since = String(Math.floor(Date.now() / 1000) - DAY_S);
    const filters = { host: "localhost", callback: "failed", since };
    await within(60_000, async () => {
      const found = (await relay.list(filters)).map(({ id }) => id);
      expect(found.toSorted()).toEqual(missed.toSorted());
    });
    const done = { matched: 30, started: 30, skipped: 0, next_cursor: null };
    expect(await relay.redeliver(filters, "repair-1")).toEqual(done);

    for (const { callback } of await inParallel(PARALLEL, missed, (id) => client.settled(id))) {
      expect(callback).toMatchObject({ status: "delivered" });
      expect(callback?.attempts.map(({ series }) => series)).toEqual([1, 1, 1, 2]);
    }
    await within(60_000, async () => expect(await relay.list(filters)).toEqual([]));
    const nothing = { ...done, matched: 0, started: 0 };
    expect(await relay.redeliver(filters, "repair-1")).toEqual(nothing);
    expect(missed.map((id) => receiver.postsAt(`/${id}`).length)).toEqual(missed.map(() => 4));
    expect(others.map((id) => receiver.postsAt(`/${id}`).length)).toEqual(postsBefore);
  });
});
