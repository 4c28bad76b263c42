import { evictDurableObject, runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { describe, expect, it, vi } from "vitest";
import { queueObject } from "../../src/objects/object-names.ts";
import type { PlaceQuestion } from "../../src/objects/queue/job-queue.ts";
import { env } from "../../src/startup.ts";
import { grantsByRule, jobsOfTwo } from "../core/fair-jobs.ts";
import { pass, START, until, useClock } from "./clock.ts";
import { loggedBy } from "./logged.ts";
import { lose } from "./lost-calls.ts";
import { stubOf } from "./objects.ts";
import { aReceiver } from "./receiver.ts";
import { started } from "./started.ts";
import { submitted } from "./submitted-tasks.ts";
import { aCompletion, finish } from "./tasks.ts";

useClock();

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const WAITING = { kind: "waiting" };

type Told = readonly [submissionId: string, place: object];

/** A queue of a connection that only one test uses, with calls that answer as the test says. */
class Kept {
  readonly name = `queue-${crypto.randomUUID().slice(0, 8)}`;
  readonly told: Told[] = [];
  /** Answers a call that is told of its place. */
  grant: () => Promise<string> = async () => "taken";
  /** Members of the entry in `CONNECTIONS`; null when the connection was removed. */
  entry: object | null = { in_flight: 1 };
  tasks: object = env.TASKS;

  get stub() {
    return queueObject(env, this.name);
  }

  /** Replaces the instance by one with the present bindings, as a deployment or a crash does. */
  async restart(): Promise<void> {
    // Only a running object can be evicted.
    await runInDurableObject(this.stub, () => undefined);
    await evictDurableObject(this.stub);
    const entry = { provider: "ark", key: "test-only-ark-key", ...this.entry };
    const CONNECTIONS = this.entry === null ? undefined : JSON.stringify({ [this.name]: entry });
    const call = (id: string) => ({
      grant: (place: object) => {
        this.told.push([id, place]);
        return this.grant();
      },
    });
    const bindings = { ...env, CONNECTIONS, CALLS: { getByName: call }, TASKS: this.tasks };
    const value = await started(bindings);
    await runInDurableObject(this.stub, (instance) => {
      Object.defineProperty(instance, "env", { value });
    });
  }

  ask(submissionId: string, changes: Partial<PlaceQuestion> = {}) {
    const order = { submissionId, taskId: crypto.randomUUID(), account: null, via: this.name };
    return this.stub.ask({ ...order, attempt: 1, since: Date.now(), mayWait: true, ...changes });
  }

  /** Runs the alarm at its time. @returns the wait before it. */
  async wake(): Promise<number> {
    const waitMs = await this.alarmMs();
    pass(waitMs);
    expect(await runDurableObjectAlarm(this.stub)).toBe(true);
    return waitMs;
  }

  /** Returns the time until the alarm. */
  async alarmMs(): Promise<number> {
    const alarm = await runInDurableObject(this.stub, (_, { storage }) => storage.getAlarm());
    return (alarm ?? NaN) - Date.now();
  }

  async untilTold(count: number): Promise<void> {
    await until(() => this.told.length === count);
  }
}

async function aQueue(changes: Partial<Pick<Kept, "grant" | "entry" | "tasks">> = {}) {
  const kept = Object.assign(new Kept(), changes);
  await kept.restart();
  return kept;
}

/** Returns a queue in which `a` has the only place, and `b` waits. */
async function aFullQueue(changes: Parameters<typeof aQueue>[0] = {}) {
  const kept = await aQueue(changes);
  expect([await kept.ask("a"), await kept.ask("b")]).toEqual([{ kind: "granted" }, WAITING]);
  return kept;
}

describe("the queue of a connection", () => {
  it("tells the object of a call once that the call has a place, with the connection and the attempt", async () => {
    const kept = await aFullQueue();
    expect(await kept.stub.position("b")).toEqual({ position: 1, cause: "no_place" });
    await kept.stub.leave("a");
    await kept.untilTold(1);
    expect(kept.told).toEqual([["b", { connection: kept.name, attempt: 1 }]]);
    expect(await kept.stub.position("b")).toBe(null);
    await kept.wake();
    await kept.restart();
    expect(await kept.stub.state()).toMatchObject({ held: 1, waiting: 0 });
  });

  it("gives five places to 200 jobs of two accounts in turn, though one has asked for 150 before the other", async () => {
    const jobs = jobsOfTwo(150, 50);
    const kept = await aQueue({ entry: { in_flight: 5 } });
    for (const { id, account, since } of jobs) {
      await kept.ask(id, { account, since: Date.now() + since });
    }
    expect(await kept.stub.state()).toMatchObject({
      held: 5,
      waiting: 195,
      byAccount: [
        { account: "x", held: 5, waiting: 145 },
        { account: "y", held: 0, waiting: 50 },
      ],
    });
    const granted = jobs.slice(0, 5).map(({ id }) => id);
    for (const id of granted) {
      await kept.stub.leave(id);
      if (granted.length === jobs.length) continue;
      await kept.untilTold(granted.length - 5 + 1);
      granted.push(kept.told.at(-1)?.[0] ?? "");
    }
    expect(granted).toEqual(grantsByRule(jobs, 5));
    expect(await kept.stub.state()).toMatchObject({ held: 0, waiting: 0 });
  });

  it("gives the next place to an account that asks once, after another has asked 500 times", async () => {
    const kept = await aQueue({ entry: { in_flight: 2 } });
    for (let i = 0; i < 500; i++) await kept.ask(`x${i}`, { account: "x" });
    pass(MINUTE);
    expect(await kept.ask("y", { account: "y" })).toEqual(WAITING);
    await kept.stub.leave("x0");
    await kept.untilTold(1);
    expect(kept.told).toMatchObject([["y", { attempt: 1 }]]);
    expect(await kept.stub.state()).toMatchObject({ held: 2, waiting: 498 });
  });

  it("states its places, who waits since when, and its cool-downs, also after a restart", async () => {
    const kept = await aFullQueue();
    const account = "acme";
    await kept.ask("c", { account });
    const refusal = { submissionId: "a", attempt: 1, refusal: "rate" } as const;
    await kept.stub.refuse({ ...refusal, retryAfterMs: 20 * SECOND });
    const state = {
      held: 0,
      waiting: 2,
      oldestSince: START,
      waitMs: { p50: 0, p99: 0 },
      coolUntil: START + 20 * SECOND,
      outUntil: null,
      byAccount: [
        { account: null, held: 0, waiting: 1, oldestSince: START },
        { account, held: 0, waiting: 1, oldestSince: START },
      ],
    };
    expect(await kept.stub.state()).toEqual(state);
    await kept.restart();
    expect(await kept.stub.state()).toEqual({ ...state, waitMs: null });
  });

  it("grants a place by its alarm when a cool-down is over, after a restart too", async () => {
    for (const isRestarted of [false, true]) {
      const kept = await aFullQueue();
      await kept.stub.refuse({
        submissionId: "a",
        attempt: 1,
        refusal: "busy",
        retryAfterMs: null,
      });
      if (isRestarted) await kept.restart();
      expect(await kept.wake()).toBe(15 * SECOND);
      await kept.untilTold(1);
    }
  });

  it("tells a call again whose object it could not reach", async () => {
    const kept = await aFullQueue({ grant: lose });
    const lines = await loggedBy(async () => {
      await kept.stub.leave("a");
      await until(async () => (await kept.alarmMs()) === 5 * SECOND);
    });
    expect(lines).toMatchObject([{ event: "queue.unreached", connection: kept.name }]);
    kept.grant = async () => "taken";
    await kept.wake();
    await kept.untilTold(2);
  });

  it("tells a call again within a minute, when it crashes after it has stored the grant", async () => {
    const kept = await aFullQueue({ grant: () => new Promise<never>(() => undefined) });
    await kept.stub.leave("a");
    await kept.untilTold(1);
    kept.grant = async () => "taken";
    await kept.restart();
    expect(await kept.wake()).toBeLessThanOrEqual(MINUTE);
    await kept.untilTold(2);
    expect(await kept.stub.state()).toMatchObject({ held: 1, waiting: 0 });
  });

  it("gives the place of a call that is gone to the next one", async () => {
    const kept = await aFullQueue({ grant: async () => "gone" });
    await kept.ask("c");
    await kept.stub.leave("a");
    await kept.untilTold(2);
    await until(async () => (await kept.stub.state()).held === 0);
    expect(kept.told.map(([id]) => id)).toEqual(["b", "c"]);
  });

  it("takes a place from a submission whose task does not exist, and tells the operator so in the log", async () => {
    const kept = await aFullQueue();
    const lines = await loggedBy(async () => {
      await kept.wake();
      await kept.untilTold(1);
    });
    const line = { event: "queue.place_freed", connection: kept.name, submission: "a" };
    expect(lines).toMatchObject([line]);
    expect(kept.told[0]?.[0]).toBe("b");
  });

  it("leaves its place to a submission whose task cannot be reached", async () => {
    const kept = await aFullQueue({ tasks: { getByName: () => ({ holdsPlace: lose }) } });
    await kept.wake();
    expect(await kept.stub.state()).toMatchObject({ held: 1, waiting: 1 });
    expect(kept.told).toEqual([]);
  });

  it("grants all submissions a place when their connection was removed from the configuration", async () => {
    const kept = await aFullQueue();
    kept.entry = null;
    await kept.restart();
    await kept.wake();
    await kept.untilTold(1);
    expect(await kept.ask("c")).toEqual({ kind: "granted" });
  });

  it("lets a submission to a pool leave when its connection was removed, because the other members may take it", async () => {
    const kept = await aFullQueue();
    const pooled = { via: "a-pool" };
    expect(await kept.ask("c", pooled)).toEqual(WAITING);
    kept.entry = null;
    await kept.restart();
    await kept.wake();
    await kept.untilTold(1);
    expect(kept.told.map(([id]) => id)).toEqual(["b"]);
    expect(await kept.stub.state()).toMatchObject({ waiting: 0 });
  });

  it("lets all wait while a fault disables their connection, and grants places when it is mended", async () => {
    const kept = await aFullQueue();
    kept.entry = { in_flight: "1" };
    await kept.restart();
    await kept.stub.leave("a");
    await kept.wake();
    expect(await kept.stub.state()).toMatchObject({ held: 0, waiting: 1 });
    kept.entry = { in_flight: 1 };
    await kept.restart();
    await kept.wake();
    await kept.untilTold(1);
    expect(kept.told.map(([id]) => id)).toEqual(["b"]);
  });

  it("limits who waits by the member queue of its connection, and has 1,000 without it", async () => {
    const kept = await aFullQueue({ entry: { in_flight: 1, queue: 1 } });
    expect(await kept.ask("c")).toEqual({ kind: "full", retryAfterMs: 5 * SECOND });
    kept.entry = { in_flight: 1 };
    await kept.restart();
    expect(await kept.ask("c")).toEqual(WAITING);
  });

  it("takes no place twice when its answer is lost and the question is repeated", async () => {
    const kept = await aQueue({ entry: { in_flight: 2 } });
    const answers = [await kept.ask("a"), await kept.ask("a"), await kept.ask("b")];
    expect(answers).toEqual(Array.from(answers, () => ({ kind: "granted" })));
    expect(await kept.stub.state()).toMatchObject({ held: 2 });
  });

  it("knows after a failed write only what is stored", async () => {
    const kept = await aFullQueue();
    await runInDurableObject(kept.stub, (instance, { storage }) => {
      vi.spyOn(storage, "transactionSync").mockImplementationOnce(() => {
        throw new Error("the storage is full");
      });
      expect(() => instance.leave("a")).toThrow("the storage is full");
    });
    expect(await kept.stub.state()).toMatchObject({ held: 1, waiting: 1 });
    expect(kept.told).toEqual([]);
  });

  it("with an invalid configuration grants nothing, and looks again after a minute", async () => {
    const kept = await aFullQueue();
    await runInDurableObject(kept.stub, async (instance) => {
      Object.defineProperty(instance, "env", { value: await started({}) });
    });
    const lines = await loggedBy(() => kept.wake());
    expect(lines).toMatchObject([{ event: "queue.failed", object: kept.name }]);
    expect(await kept.alarmMs()).toBe(MINUTE);
  });

  it("that is empty sets no alarm any more", async () => {
    const kept = await aQueue();
    await kept.ask("a");
    await kept.stub.leave("a");
    await kept.wake();
    expect(await kept.alarmMs()).toBe(NaN);
  });
});

/** Counts the rows as the platform does, and the alarms. */
async function counted({ stub }: Kept) {
  return runInDurableObject(stub, (_, { storage }) => {
    const exec = vi.spyOn(storage.sql, "exec");
    const others = [vi.spyOn(storage.kv, "put"), vi.spyOn(storage, "setAlarm")];
    const inTable = () =>
      exec.mock.results.reduce((sum, { type, value }) => {
        return sum + (type === "return" ? value.rowsWritten : 0);
      }, 0);
    return () => [inTable(), ...others.map(({ mock }) => mock.calls.length)];
  });
}

describe("the rows that the queue of a connection writes", () => {
  it("are two for a submission that gets a place at once, with an alarm at most once a minute", async () => {
    const kept = await aQueue({ entry: { in_flight: 10 } });
    await kept.ask("first");
    const rows = await counted(kept);
    for (const id of ["a", "b", "c"]) await kept.ask(id);
    for (const id of ["a", "b", "c"]) await kept.stub.leave(id);
    expect(rows()).toEqual([6, 0, 0]);
  });

  it("are three for a submission that waits, without a further alarm", async () => {
    const kept = await aFullQueue();
    const rows = await counted(kept);
    await kept.ask("c");
    for (const [index, id] of ["a", "b", "c"].entries()) {
      await kept.stub.leave(id);
      await kept.untilTold(Math.min(index + 1, 2));
    }
    // Of a and b, those of their questions were written before.
    expect(rows()).toEqual([1 + 2 + 3, 0, 0]);
  });

  it("are none for a repeated question, one that may not wait, a late order to leave and reads", async () => {
    const kept = await aFullQueue();
    const rows = await counted(kept);
    await kept.ask("a");
    await kept.ask("b");
    expect(await kept.ask("c", { mayWait: false })).toMatchObject({ kind: "busy" });
    await kept.stub.leave("nobody");
    await kept.stub.position("b");
    await kept.stub.state();
    expect(rows()).toEqual([0, 0, 0]);
  });
});

describe("a task whose job was submitted", () => {
  it("needs its place at its own connection until it has ended", async () => {
    aReceiver();
    const { id, submissionId } = await submitted({ queues: ["ark"] });
    const place = { submissionId, connection: "ark" };
    expect(await stubOf(id).holdsPlace(place)).toBe(true);
    expect(await stubOf(id).holdsPlace({ ...place, connection: "another" })).toBe(false);
    expect(await stubOf(id).holdsPlace({ ...place, submissionId: "another" })).toBe(false);
    await finish(aCompletion(id));
    expect(await stubOf(id).holdsPlace(place)).toBe(false);
  });
});
