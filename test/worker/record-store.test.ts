import { runInDurableObject } from "cloudflare:test";
import { expect, it, vi } from "vitest";
import { RecordStore } from "../../src/task-object/record-store.ts";
import { stubOf } from "./objects.ts";
import { completed } from "./tasks.ts";

/** Runs `work` with a store of the record of a completed task, and a spy on reads from the storage. */
async function withStore(
  work: (store: RecordStore, read: { readonly mock: { readonly calls: unknown[] } }) => unknown,
): Promise<void> {
  const id = await completed();
  await runInDurableObject(stubOf(id), async (_, { storage }) => {
    const read = vi.spyOn(storage.kv, "get");
    await work(new RecordStore(storage), read);
  });
}

it.each([
  ["of a few hundred bytes is loaded from memory after it was written", 100, 0],
  ["of 20 KB is read from the storage each time it is loaded", 20_000, 3],
])("a task record %s", (_, characters, reads) =>
  withStore((store, read) => {
    const record = store.load();
    if (record === null) throw new Error("the task has no record");
    const before = read.mock.calls.length;
    const larger = { ...record, model: "m".repeat(characters) };
    store.store(larger);
    const loaded = [store.load(), store.load(), store.load()];
    expect(loaded).toEqual([larger, larger, larger]);
    expect(read.mock.calls.length - before).toBe(reads);
  }),
);

it("a task record that was erased is not loaded from memory", () =>
  withStore(async (store) => {
    expect(store.load()).not.toBeNull();
    await store.erase();
    expect(store.load()).toBeNull();
  }));
