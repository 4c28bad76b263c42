import { expect, it, vi } from "vitest";
import { mapConcurrently } from "../../src/map-concurrently.ts";
import { RecentMap } from "../../src/recent-map.ts";
import { RecentValue } from "../../src/recent-value.ts";

it("mapConcurrently has at most the permitted number of calls open, and returns their results in the order of the items", async () => {
  const open = new Map<string, () => void>();
  const begun: string[] = [];
  const mapped = mapConcurrently("abcd", 2, async (item) => {
    begun.push(item);
    await new Promise<void>((resolve) => open.set(item, resolve));
    return item.toUpperCase();
  });
  for (const [next, expected] of Object.entries({ b: "ab", c: "abc", a: "abcd", d: "abcd" })) {
    await vi.waitUntil(() => begun.length >= expected.length);
    expect(begun.join("")).toBe(expected);
    open.get(next)?.();
  }
  expect(await mapped).toEqual(["A", "B", "C", "D"]);
});

it("mapConcurrently begins no further call after one has failed", async () => {
  const begun: number[] = [];
  const failing = mapConcurrently([1, 2, 3, 4], 2, async (item) => {
    begun.push(item);
    if (item === 1) throw new Error("failed");
    await Promise.resolve();
  });
  await expect(failing).rejects.toThrow("failed");
  expect(begun).toEqual([1, 2]);
});

it("a RecentMap that is full forgets the entry that was used longest ago, and any entry once it has reached the largest age", () => {
  const clock = vi.spyOn(Date, "now").mockReturnValue(0);
  const map = new RecentMap<number>(2, 1_000);
  map.set("a", 1);
  map.set("b", 2);
  expect(map.get("a")).toBe(1);
  map.set("c", 3);
  expect([map.has("a"), map.has("b"), map.get("c")]).toEqual([true, false, 3]);
  map.delete("c");
  expect(map.has("c")).toBe(false);
  clock.mockReturnValue(999);
  expect(map.get("a")).toBe(1);
  clock.mockReturnValue(1_000);
  expect(map.get("a")).toBeUndefined();
  clock.mockRestore();
});

const read = (value: number) => async () => value;

it("a RecentValue reads its value once for each env object and again after the time that the value states, and keeps no failure", async () => {
  const clock = vi.spyOn(Date, "now").mockReturnValue(0);
  const recent = new RecentValue<number>((value) => 1_000 * value);
  const [env, other] = [{}, {}];
  await expect(recent.get(env, () => Promise.reject(new Error("failed")))).rejects.toThrow(
    "failed",
  );
  expect(await recent.get(env, read(2))).toBe(2);
  clock.mockReturnValue(1_999);
  expect([await recent.get(env, read(3)), await recent.get(other, read(4))]).toEqual([2, 4]);
  clock.mockReturnValue(2_000);
  expect(await recent.get(env, async (now) => now)).toBe(2_000);
  clock.mockRestore();
});
