import { expect, it, vi } from "vitest";
import { EnvCache, isolateCache } from "../../src/lib/isolate-cache.ts";

it("an isolateCache of size n, which is a cache in memory, holds the n entries used last, at most 2n in all, and returns no entry that has reached its maximum age", () => {
  const clock = vi.spyOn(Date, "now").mockReturnValue(0);
  const cache = isolateCache<number>(2, 1_000);
  cache.set("a", 1).set("b", 2);
  expect(cache.get("a")).toBe(1);
  cache.set("c", 3);
  expect([cache.get("a"), cache.get("c")]).toEqual([1, 3]);
  for (let each = 0; each < 10; each++) cache.set(`further ${each}`, each);
  expect([...cache.keys()].length).toBeLessThanOrEqual(4);
  expect([cache.has("a"), cache.get("further 8"), cache.get("further 9")]).toEqual([false, 8, 9]);
  cache.delete("further 8");
  expect(cache.has("further 8")).toBe(false);
  clock.mockReturnValue(999);
  expect(cache.get("further 9")).toBe(9);
  clock.mockReturnValue(1_000);
  expect(cache.get("further 9")).toBeUndefined();
  clock.mockRestore();
});

const read = (value: number) => async () => value;

it("an EnvCache, a cache of values read from a Worker's env, reads a value once for each env and key, again when its lifetime is over, and does not cache a failed read", async () => {
  const clock = vi.spyOn(Date, "now").mockReturnValue(0);
  const recent = new EnvCache<number>((value) => 1_000 * value, 2);
  const [env, other] = [{}, {}];
  await expect(recent.get(env, () => Promise.reject(new Error("failed")))).rejects.toThrow(
    "failed",
  );
  expect(await recent.get(env, read(2))).toBe(2);
  clock.mockReturnValue(1_999);
  expect([await recent.get(env, read(3)), await recent.get(other, read(4))]).toEqual([2, 4]);
  expect([await recent.get(env, read(5), "b"), await recent.get(env, read(6))]).toEqual([5, 2]);
  clock.mockReturnValue(2_000);
  expect(await recent.get(env, async (now) => now)).toBe(2_000);
  clock.mockRestore();
});
