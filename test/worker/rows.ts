import { runInDurableObject } from "cloudflare:test";
import { vi } from "vitest";
import { stubOf } from "./support.ts";

/** Counts what the object of a task writes from now on; `deleteAll` is taken as one row. */
export async function rowsOf(id: string): Promise<() => number> {
  return runInDurableObject(stubOf(id), (_, { storage }) => {
    const spies = [
      vi.spyOn(storage.kv, "put"),
      vi.spyOn(storage.kv, "delete"),
      vi.spyOn(storage, "put"),
      vi.spyOn(storage, "delete"),
      vi.spyOn(storage, "setAlarm"),
      vi.spyOn(storage, "deleteAll"),
      vi.spyOn(storage.sql, "exec"),
    ];
    return () => spies.reduce((sum, spy) => sum + spy.mock.calls.length, 0);
  });
}
