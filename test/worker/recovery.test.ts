import { runInDurableObject } from "cloudflare:test";
import { env } from "../../src/startup.ts";
import { expect, it, vi } from "vitest";
import * as z from "zod";
import { ObjectPlatform } from "../../src/objects/task/object-platform.ts";
import { pass, START, START_S, useClock } from "./clock.ts";
import {
  evict,
  expectUnchanged,
  restart,
  rowsOf,
  stored,
  stubOf,
  waitsOfADay,
  wake,
} from "./objects.ts";
import type { Sent } from "./outside.ts";
import { aReceiver } from "./receiver.ts";
import { read, register } from "./tasks.ts";

useClock();

const Stored = z.looseObject({ v: z.int() });

/** Condition that makes the alarm of a task fail, and its repair. */
interface Fault {
  readonly begin: (id: string) => Promise<void>;
  readonly repair: (id: string) => Promise<void>;
}

function bindings(fault: object): Fault {
  return { begin: (id) => restart(id, { ...env, ...fault }), repair: (id) => restart(id) };
}

function put(id: string, value: unknown): Promise<void> {
  return runInDurableObject(stubOf(id), (_, { storage }) => storage.kv.put("task", value));
}

function record(spoil: (good: z.output<typeof Stored>) => unknown): Fault {
  let good: z.output<typeof Stored> | null = null;
  return {
    begin: async (id) => {
      good = Stored.parse((await stored(id)).record);
      await put(id, spoil(good));
      await evict(id);
    },
    repair: async (id) => {
      await put(id, good);
      await evict(id);
    },
  };
}

/** Makes every write to the object's storage fail; reads and alarms still work. */
function storageFailure(): Fault {
  const spies: { mockRestore(): void }[] = [];
  return {
    begin: (id) =>
      runInDurableObject(stubOf(id), (_, { storage }) => {
        const spy = vi.spyOn(storage.kv, "put");
        spy.mockImplementation(() => {
          throw new Error("storage failure");
        });
        spies.push(spy);
      }),
    repair: async () => {
      for (const each of spies) each.mockRestore();
    },
  };
}

const FAULTS: readonly [string, () => Fault, RegExp][] = [
  ["a missing RELAY_SECRET", () => bindings({ RELAY_SECRET: "" }), /RELAY_SECRET/],
  [
    "a malformed CALLBACK_SCHEDULE_S",
    () => bindings({ CALLBACK_SCHEDULE_S: "soon" }),
    /CALLBACK_SCHEDULE_S/,
  ],
  ["a record of a later release", () => record((good) => ({ ...good, v: 2 })), /unreadable.* v/],
  [
    "a record without its id",
    () => record((good) => ({ ...good, id: undefined })),
    /unreadable.* id/,
  ],
  ["a record that is text", () => record(() => "{}"), /unreadable/],
  ["storage that fails", storageFailure, /storage failure/],
];

/** Runs ten failing alarms; expects each to set the next one and to leave the record as it is. */
async function failTenTimes(
  id: string,
  { begin, repair }: Fault,
  error: RegExp,
  received: readonly Sent[],
): Promise<void> {
  await begin(id);
  const before = await stored(id);
  const sent = received.length;
  for (let time = 0; time < 10; time++) {
    await expect(wake(id)).rejects.toThrow(error);
    const after = await stored(id);
    expect(after.record).toEqual(before.record);
    const waitMs = (after.alarm ?? 0) - Date.now();
    expect(waitMs).toBeGreaterThanOrEqual(60_000);
    expect(waitMs).toBeLessThanOrEqual(30 * 60_000);
    pass(waitMs);
  }
  expect(received).toHaveLength(sent);
  await repair(id);
}

it.each(FAULTS)(
  "an open task still fails at its deadline and sends its callback after ten of its alarms in a row failed because of %s",
  async (_, fault, error) => {
    const received = aReceiver();
    const id = await register({ deadline_at: START_S + 60 });
    pass(60_000);
    await failTenTimes(id, fault(), error, received);
    expect(await wake(id)).toBe(true);
    expect(received).toHaveLength(1);
    expect(await read(id)).toMatchObject({ status: "failed", callback: { status: "delivered" } });
  },
);

it("a task with a record of a later release wakes at most 90 times a day, first about a minute after the first failed alarm of an hour", async () => {
  const id = await register({ deadline_at: START_S + 60 });
  pass(60_000);
  const fault = record((good) => ({ ...good, v: 2 }));
  await fault.begin(id);
  const rows = await rowsOf(id);
  const waitsMs = await waitsOfADay(id);
  expect(waitsMs.length).toBeLessThanOrEqual(90);
  expect(rows()).toBe(2 * waitsMs.length);
  expect(Math.max(...waitsMs)).toBeLessThanOrEqual(30 * 60_000);
  pass(3_600_001);
  await expect(wake(id)).rejects.toThrow("of a later release");
  expect(((await stored(id)).alarm ?? 0) - Date.now()).toBeLessThanOrEqual(75_000);
});

it("an alarm fails with the error of the storage when the storage refuses everything, so that the platform repeats it", async () => {
  const id = await register();
  const quota = new Error("Exceeded allowed rows written in Durable Objects free tier.");
  const refuse = () => {
    throw quota;
  };
  await runInDurableObject(stubOf(id), async (instance, { storage }) => {
    for (const name of ["get", "put"] as const) {
      vi.spyOn(storage.kv, name).mockImplementation(refuse);
    }
    vi.spyOn(storage, "setAlarm").mockImplementation(refuse);
    await expect(instance.alarm()).rejects.toBe(quota);
  });
});

it("the object of a task refuses to store a record that it would not be able to read afterwards", async () => {
  const id = await register();
  await expectUnchanged(id, () =>
    runInDurableObject(stubOf(id), (_, state) => {
      const platform = new ObjectPlatform(state, env, {});
      const task = platform.load();
      if (task === null) throw new Error("the task has no record");
      expect(() => platform.commit({ ...task, createdAt: -1 }, START)).toThrow("createdAt");
    }),
  );
});
