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
  ["a record of a later release", () => record((good) => ({ ...good, v: 3 })), /unreadable.* v/],
  [
    "a record of a build before 1.0.0",
    () => record((good) => ({ ...good, v: 1 })),
    /unreadable.* of a build before 1.0.0: v/,
  ],
  [
    "a record without its id",
    () => record((good) => ({ ...good, id: undefined })),
    /unreadable.* id/,
  ],
  ["a record that is text", () => record(() => "{}"), /unreadable/],
  ["storage that fails", storageFailure, /storage failure/],
];

/**
 * Runs ten failing alarms; expects each to return after it has set the next one, to log its error, and to leave the
 * record as it is.
 */
async function failTenTimes(
  id: string,
  { begin, repair }: Fault,
  error: RegExp,
  received: readonly Sent[],
): Promise<void> {
  await begin(id);
  const before = await stored(id);
  const sent = received.length;
  const errors = vi.spyOn(console, "error");
  for (let time = 0; time < 10; time++) {
    errors.mockClear();
    expect(await wake(id)).toBe(true);
    expect(errors.mock.calls).toEqual([[expect.stringContaining('"alarm.failed"')]]);
    expect(String(errors.mock.calls[0])).toMatch(error);
    const after = await stored(id);
    expect(after.record).toEqual(before.record);
    const waitMs = (after.alarm ?? 0) - Date.now();
    expect(waitMs).toBeGreaterThanOrEqual(60_000);
    expect(waitMs).toBeLessThanOrEqual(time === 0 ? 60_000 : 30 * 60_000);
    pass(waitMs);
  }
  expect(received).toHaveLength(sent);
  await repair(id);
}

it.each(FAULTS)(
  "a task whose alarm at the deadline fails ten times in a row because of %s still ends as failed and sends its callback afterwards",
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

it.each([
  ["a later release", 3],
  ["a build before 1.0.0", 1],
])(
  "a task whose stored record is from %s wakes at most 90 times a day; an alarm that fails after an hour without alarms is repeated after 60 s",
  async (_, v) => {
    const id = await register({ deadline_at: START_S + 60 });
    pass(60_000);
    const fault = record((good) => ({ ...good, v }));
    await fault.begin(id);
    const rows = await rowsOf(id);
    const waitsMs = await waitsOfADay(id);
    expect(waitsMs.length).toBeLessThanOrEqual(90);
    expect(rows()).toBe(2 * waitsMs.length);
    expect(Math.max(...waitsMs)).toBeLessThanOrEqual(30 * 60_000);
    pass(3_600_001);
    await wake(id);
    expect(((await stored(id)).alarm ?? 0) - Date.now()).toBe(60_000);
  },
);

it.each(["setAlarm", "sync"] as const)(
  "when a task's alarm fails and the next alarm cannot be stored either (%s fails), the alarm throws its error, so that the platform repeats it",
  async (name) => {
    const id = await register({ deadline_at: START_S + 60 });
    pass(60_000);
    const quota = new Error("Exceeded allowed rows written in Durable Objects free tier.");
    const errors = vi.spyOn(console, "error");
    await runInDurableObject(stubOf(id), async (instance, { storage }) => {
      for (const method of ["get", "put"] as const) {
        vi.spyOn(storage.kv, method).mockImplementation(() => {
          throw quota;
        });
      }
      vi.spyOn(storage, name).mockRejectedValue(new Error("no alarm"));
      await expect(instance.alarm()).rejects.toBe(quota);
    });
    expect(errors.mock.calls.join()).toMatch(/"alarm.failed".*"alarm.not_repeated".*no alarm/);
  },
);

it("a task's Durable Object refuses to store a record that it could not read afterwards", async () => {
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
