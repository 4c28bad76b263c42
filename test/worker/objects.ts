import { evictDurableObject, runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect, vi } from "vitest";
import * as z from "zod";
import { OBJECT_CLASSES } from "../../src/config/object-bindings.ts";
import { started } from "./started.ts";
import { DAY_MS, pass, realMs, until } from "./clock.ts";

export function stubOf(id: string) {
  return env.TASKS.getByName(id.toLowerCase());
}

export interface Stored {
  readonly record: unknown;
  readonly keys: readonly string[];
  readonly alarm: number | null;
}

/** Returns everything that the object of a task stores. */
export function stored(id: string): Promise<Stored> {
  return runInDurableObject(stubOf(id), async (_, { storage }) => ({
    record: structuredClone(storage.kv.get("task")),
    keys: Array.from(storage.kv.list(), ([key]) => key),
    alarm: await storage.getAlarm(),
  }));
}

export const NOTHING: Stored = { record: undefined, keys: [], alarm: null };

/** Calls `act` and expects that the stored state of the task is the same as before. */
export async function expectUnchanged(id: string, act: () => Promise<unknown>): Promise<void> {
  const before = await stored(id);
  await act();
  expect(await stored(id)).toEqual(before);
}

const Refused = z.looseObject({
  record: z.looseObject({
    tracking: z.looseObject({
      refusedHooks: z.array(z.object({ at: z.int(), reason: z.string() })),
    }),
  }),
});

/** Expects hooks to change nothing, except that the reasons of their refusal are stored; returns these reasons. */
export async function refusalsOf(id: string, act: () => Promise<unknown>): Promise<string[]> {
  const before = Refused.parse(await stored(id));
  await act();
  const after = Refused.parse(await stored(id));
  const { refusedHooks } = after.record.tracking;
  before.record.tracking.refusedHooks = refusedHooks;
  expect(after).toEqual(before);
  return refusedHooks.map(({ reason }) => reason);
}

/** Returns the reasons of the refused hooks that the object of an open task stores. */
export async function storedRefusals(id: string): Promise<string[]> {
  const { record } = Refused.parse(await stored(id));
  return record.tracking.refusedHooks.map(({ reason }) => reason);
}

const Record = z.object({
  callback: z.object({ state: z.looseObject({ kind: z.string() }) }).nullish(),
});

/** Waits in real time until no attempt is in flight and the work loop has set its alarm. */
export async function untilIdle(id: string): Promise<void> {
  await until(async () => {
    const { record } = await stored(id);
    return Record.safeParse(record ?? {}).data?.callback?.state.kind !== "in_flight";
  });
  // The work loop sets its alarm in the turn after the last commit.
  await realMs(1);
}

/** Moves the clock forward and runs the alarm of a task; returns whether one was set. */
export function wake(id: string, afterMs = 0): Promise<boolean> {
  pass(afterMs);
  return runDurableObjectAlarm(stubOf(id));
}

/** Runs each alarm of a task at its time for a day. @returns the waits before the alarms, in milliseconds. */
export async function waitsOfADay(id: string): Promise<readonly number[]> {
  const endAt = Date.now() + DAY_MS;
  const waitsMs: number[] = [];
  while (Date.now() < endAt) {
    const waitMs = ((await stored(id)).alarm ?? Infinity) - Date.now();
    waitsMs.push(waitMs);
    await wake(id, waitMs);
  }
  return waitsMs;
}

/** Replaces the instance of a task's object by one with these bindings, as a deployment does. */
export async function restart(id: string, bindings: object = env): Promise<void> {
  const value = await started(bindings);
  await evict(id);
  await runInDurableObject(stubOf(id), (instance) => {
    Object.defineProperty(instance, "env", { value });
  });
}

/** Evicts the instance of a task's object, so that its memory is lost and its storage stays. */
export async function evict(id: string): Promise<void> {
  // Only a running object can be evicted.
  await runInDurableObject(stubOf(id), () => undefined);
  await evictDurableObject(stubOf(id));
}

/** Returns a function that counts the rows a task's object has written since; `deleteAll` is billed as none. */
export async function rowsOf(id: string): Promise<() => number> {
  return runInDurableObject(stubOf(id), (_, { storage }) => {
    const spies = [
      vi.spyOn(storage.kv, "put"),
      vi.spyOn(storage.kv, "delete"),
      vi.spyOn(storage, "put"),
      vi.spyOn(storage, "delete"),
      vi.spyOn(storage, "setAlarm"),
      vi.spyOn(storage.sql, "exec"),
    ];
    return () => spies.reduce((sum, spy) => sum + spy.mock.calls.length, 0);
  });
}

/** Returns bindings whose objects fail with this error at every call. */
export function failing(error: Error): object {
  const fail = async () => {
    throw error;
  };
  const stub = new Proxy({}, { get: () => fail });
  const namespaces = Object.keys(OBJECT_CLASSES).map((name) => [name, { getByName: () => stub }]);
  return { ...env, ...Object.fromEntries(namespaces) };
}
