import { runInDurableObject } from "cloudflare:test";
import { expect, it, vi } from "vitest";
import { RecordStore } from "../../src/objects/task/record-store.ts";
import { stubOf } from "./objects.ts";
import { aReceiver, status } from "./receiver.ts";
import { completed } from "./tasks.ts";

/**
 * Calls `work` with a new store that contains the record of a completed task, and with a spy on reads of the
 * storage.
 */
async function withStore(
  work: (store: RecordStore, reads: () => number) => void | Promise<void>,
): Promise<void> {
  aReceiver(status(200));
  const id = await completed();
  await runInDurableObject(stubOf(id), async (_, { storage }) => {
    const spy = vi.spyOn(storage.kv, "get");
    await work(new RecordStore(storage), () => spy.mock.calls.length);
  });
}

it("a task's record is read from storage once; after a write, the record as written is taken from memory", () =>
  withStore((store, reads) => {
    const [first, second] = [store.load(), store.load()];
    if (first === null) throw new Error("the task has no record");
    expect([second === first, reads()]).toEqual([true, 1]);
    const written = { ...first, model: "another" };
    store.store(written);
    expect([store.load() === written, reads()]).toEqual([true, 1]);
  }));

it("after the storage has refused a write, the record of a task is read from the storage again", () =>
  withStore((store, reads) => {
    const record = store.load();
    if (record === null) throw new Error("the task has no record");
    const unclonable = { ...record, unclonable: () => undefined };
    expect(() => store.store(unclonable)).toThrow("could not be cloned");
    expect([store.load(), reads()]).toEqual([record, 2]);
  }));

it("a write of an invalid task record, such as one with the version 0.5, throws an error and leaves the stored record unchanged", () =>
  withStore((store) => {
    const record = store.load();
    if (record === null) throw new Error("the task has no record");
    expect(() => store.store({ ...record, version: 0.5 })).toThrow();
    expect(store.load()).toEqual(record);
  }));

it("once a task's record was erased, it is no longer taken from memory", () =>
  withStore(async (store) => {
    expect(store.load()).not.toBeNull();
    await store.erase();
    expect(store.load()).toBeNull();
  }));
