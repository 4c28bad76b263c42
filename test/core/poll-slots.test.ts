import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { PollSlots } from "../../src/objects/connection/poll-slots.ts";
import { MINUTE, NOW, SECOND } from "./builders.ts";

const PER_MINUTE = 60;

/** Asks for permission to poll for these tasks; returns the waits. */
function waits(slots: PollSlots, tasks: readonly string[], at = NOW, isUrgent = false) {
  return tasks.map((task) => slots.take(task, isUrgent, PER_MINUTE, at));
}

const NAMES = Array.from({ length: 100 }, (_, index) => `task ${index}`);

/** Asks for every task at once and then again when each was told to; returns the tasks in the order of their polls. */
function polled(slots: PollSlots, tasks: readonly string[], isUrgent = false) {
  const waiting = tasks.map((task) => ({ task, at: NOW }));
  const done: { readonly task: string; readonly at: number }[] = [];
  for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
    const { task, at } = next;
    const waitMs = slots.take(task, isUrgent, PER_MINUTE, at);
    if (waitMs === 0) done.push(next);
    else waiting.push({ task, at: at + waitMs });
    waiting.sort((a, b) => a.at - b.at);
  }
  return done;
}

describe("the slots of a limit of 60 polls per minute", () => {
  it("with a limit of 60 a minute, of which six are kept for urgent polls, the other polls are permitted one by one every 1.11 s", () => {
    const all = waits(new PollSlots(), NAMES.slice(0, 5));
    expect(all).toEqual([0, 1_112, 2_223, 3_334, 4_445]);
  });

  it("under a limit of 1,200 polls per minute, 18 polls are permitted at once after a pause", () => {
    const slots = new PollSlots();
    const all = NAMES.map((name) => slots.take(name, false, 1_200, NOW));
    expect(all.filter((waitMs) => waitMs === 0)).toHaveLength(18);
  });

  it("polls are permitted in the order in which their tasks first asked, each at the time that its task was told", () => {
    const done = polled(new PollSlots(), NAMES);
    expect(done.map(({ task }) => task)).toEqual(NAMES);
    expect((done.at(-1)?.at ?? NaN) - NOW).toBeLessThan(2.1 * MINUTE);
  });

  it("a deferred poll whose task asks too early is told its own place again, and takes no other", () => {
    const slots = new PollSlots();
    const [last = "", after = ""] = NAMES.slice(20);
    const told = waits(slots, NAMES.slice(0, 21)).at(-1) ?? NaN;
    expect(slots.take(last, false, PER_MINUTE, NOW)).toBe(told);
    expect(slots.take(last, false, PER_MINUTE, NOW + SECOND)).toBe(told - SECOND);
    expect(slots.take(after, false, PER_MINUTE, NOW)).toBeGreaterThan(told + SECOND);
  });

  it("a task loses its turn when it does not ask again within three seconds of the time that it was told", () => {
    for (const [lateMs, isKept] of [
      [3 * SECOND - 1, true],
      [3 * SECOND + 1, false],
    ] as const) {
      const slots = new PollSlots();
      const [first = "", second = "", third = ""] = NAMES;
      const [, secondMs = NaN] = waits(slots, [first, second]);
      const now = NOW + secondMs + lateMs;
      // Only one place is free by now: it belongs to the task that was told of it, or to the one that asks.
      expect(slots.take(third, false, PER_MINUTE, now) > 0).toBe(isKept);
      expect(slots.take(second, false, PER_MINUTE, now) === 0).toBe(isKept);
    }
  });

  it("a task is told to ask again within a minute, however many wait before it, and waits behind none that has ended", () => {
    const slots = new PollSlots();
    const many = Array.from({ length: 1_000 }, (_, index) => `ended ${index}`);
    expect(Math.max(...waits(slots, many))).toBe(MINUTE);
    const waitMs = slots.take("new", false, PER_MINUTE, NOW + MINUTE);
    expect(waitMs).toBe(MINUTE);
    expect(slots.take("new", false, PER_MINUTE, NOW + MINUTE + waitMs)).toBe(0);
  });

  it("urgent polls take the six places that are kept for them each minute, and do not wait behind a hundred others", () => {
    const slots = new PollSlots();
    waits(slots, NAMES);
    const urgent = NAMES.slice(0, 6).map((name) => `urgent ${name}`);
    const done = polled(slots, urgent, true);
    expect(done[0]).toEqual({ task: urgent[0], at: NOW });
    expect((done.at(-1)?.at ?? NaN) - NOW).toBeLessThan(MINUTE);
  });

  it("an urgent poll takes a common place when no kept one is free", () => {
    const done = waits(new PollSlots(), NAMES.slice(0, 3), NOW, true);
    expect(done.map((waitMs) => waitMs === 0)).toEqual([true, true, false]);
  });

  it("other polls do not take the places that are kept for urgent ones", () => {
    const slots = new PollSlots();
    polled(slots, NAMES);
    expect(slots.take("urgent", true, PER_MINUTE, NOW)).toBe(0);
  });

  it("a poll that has become urgent is permitted before its turn, and its task no longer waits for that", () => {
    const slots = new PollSlots();
    const [first = "", second = "", third = ""] = NAMES;
    const [, secondMs = NaN] = waits(slots, [first, second, third]);
    expect(slots.take(second, true, PER_MINUTE, NOW + 1)).toBe(0);
    expect(slots.take(third, false, PER_MINUTE, NOW + secondMs)).toBe(0);
  });

  it("a limit of one poll per minute permits one poll per minute, urgent or not", () => {
    const slots = new PollSlots();
    expect(slots.take("a", true, 1, NOW)).toBe(0);
    expect(slots.take("b", true, 1, NOW)).toBeGreaterThanOrEqual(MINUTE);
  });

  it("a task is told to ask again soon after the clock was put back by a day", () => {
    const slots = new PollSlots();
    waits(slots, NAMES);
    expect(slots.take("later", false, PER_MINUTE, NOW - 24 * 60 * MINUTE)).toBe(0);
  });

  it("10,000 tasks wait for their turn at most, and each further one waits as long as if it were the next", () => {
    const slots = new PollSlots();
    const many = Array.from({ length: 11_600 }, (_, index) => `task ${index}`);
    const perMinute = 100_000;
    const told = many.map((name) => slots.take(name, false, perMinute, NOW));
    const last = told.slice(-3);
    expect(new Set(last).size).toBe(1);
    expect(last[0]).toBeGreaterThan(told[9_000] ?? NaN);
  });
});

/** Requests: for each, the time since the one before, the task and whether its poll is urgent. */
const demands = fc.array(
  fc.record({
    afterMs: fc.oneof(fc.constant(0), fc.nat(500), fc.nat(20_000)),
    task: fc.nat(60),
    isUrgent: fc.boolean(),
  }),
  { maxLength: 600 },
);

it("no 60 seconds have more polls than the limit per minute, whenever tasks ask and however late they come back", () => {
  fc.assert(
    fc.property(demands, fc.integer({ min: 1, max: 90 }), (demand, perMinute) => {
      const slots = new PollSlots();
      const polledAt: number[] = [];
      let now = NOW;
      const due = new Map<string, number>();
      for (const { afterMs, task, isUrgent } of demand) {
        now += afterMs;
        // Tasks come back at the times that they were told.
        for (const [name, at] of [...due].toSorted(([, a], [, b]) => a - b)) {
          if (at > now) break;
          due.delete(name);
          if (slots.take(name, false, perMinute, now) === 0) polledAt.push(now);
        }
        const waitMs = slots.take(`task ${task}`, isUrgent, perMinute, now);
        if (waitMs === 0) polledAt.push(now);
        else due.set(`task ${task}`, now + waitMs);
      }
      polledAt.forEach((at, index) => {
        const nth = polledAt[index + perMinute] ?? Infinity;
        expect(nth - at).toBeGreaterThanOrEqual(MINUTE);
      });
    }),
    { seed: 20_261_123, numRuns: 300 },
  );
});
