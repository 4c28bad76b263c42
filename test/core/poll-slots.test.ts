import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { PollSlots } from "../../src/objects/connection/poll-slots.ts";
import { MINUTE, NOW, SECOND } from "./builders.ts";

// A right change must not fail by chance.
fc.configureGlobal({ seed: 20_261_121 });

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

describe("polls under the poll limit of a connection", () => {
  it("under a limit of 60 polls a minute, of which 6 are reserved for urgent polls, the other 54 are permitted at intervals of 60 s / 54 = 1.11 s", () => {
    const all = waits(new PollSlots(), NAMES.slice(0, 5));
    expect(all).toEqual([0, 1_112, 2_223, 3_334, 4_445]);
  });

  it("under a limit of 1,200 polls a minute, 18 polls that are not urgent, which are the share of one second, are permitted at the same moment", () => {
    const slots = new PollSlots();
    const all = NAMES.map((name) => slots.take(name, false, 1_200, NOW));
    expect(all.filter((waitMs) => waitMs === 0)).toHaveLength(18);
  });

  it("deferred polls are permitted in the order in which their tasks first asked, when each task asks again after the wait that it was given", () => {
    const done = polled(new PollSlots(), NAMES);
    expect(done.map(({ task }) => task)).toEqual(NAMES);
    expect((done.at(-1)?.at ?? NaN) - NOW).toBeLessThan(2.1 * MINUTE);
  });

  it("a task that asks too early for its deferred poll is given the rest of its wait, and stays ahead of tasks that ask later", () => {
    const slots = new PollSlots();
    const [last = "", after = ""] = NAMES.slice(20);
    const told = waits(slots, NAMES.slice(0, 21)).at(-1) ?? NaN;
    expect(slots.take(last, false, PER_MINUTE, NOW)).toBe(told);
    expect(slots.take(last, false, PER_MINUTE, NOW + SECOND)).toBe(told - SECOND);
    expect(slots.take(after, false, PER_MINUTE, NOW)).toBeGreaterThan(told + SECOND);
  });

  it("a task with a deferred poll loses its place in the queue when it asks again more than three seconds after the end of its wait", () => {
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

  it("a task with a deferred poll waits at most a minute before it asks again; tasks that do not ask again leave the queue", () => {
    const slots = new PollSlots();
    const many = Array.from({ length: 1_000 }, (_, index) => `ended ${index}`);
    expect(Math.max(...waits(slots, many))).toBe(MINUTE);
    const waitMs = slots.take("new", false, PER_MINUTE, NOW + MINUTE);
    expect(waitMs).toBe(MINUTE);
    expect(slots.take("new", false, PER_MINUTE, NOW + MINUTE + waitMs)).toBe(0);
  });

  it("under a limit of 60 polls a minute, six urgent polls are permitted within a minute, although a hundred other polls wait", () => {
    const slots = new PollSlots();
    waits(slots, NAMES);
    const urgent = NAMES.slice(0, 6).map((name) => `urgent ${name}`);
    const done = polled(slots, urgent, true);
    expect(done[0]).toEqual({ task: urgent[0], at: NOW });
    expect((done.at(-1)?.at ?? NaN) - NOW).toBeLessThan(MINUTE);
  });

  it("when the polls reserved for urgent ones are used up, an urgent poll is permitted as one of the other polls", () => {
    const done = waits(new PollSlots(), NAMES.slice(0, 3), NOW, true);
    expect(done.map((waitMs) => waitMs === 0)).toEqual([true, true, false]);
  });

  it("polls that are not urgent do not use the polls that are reserved for urgent ones", () => {
    const slots = new PollSlots();
    polled(slots, NAMES);
    expect(slots.take("urgent", true, PER_MINUTE, NOW)).toBe(0);
  });

  it("a deferred poll that becomes urgent is permitted ahead of the queue, and leaves its place in the queue to the next task", () => {
    const slots = new PollSlots();
    const [first = "", second = "", third = ""] = NAMES;
    const [, secondMs = NaN] = waits(slots, [first, second, third]);
    expect(slots.take(second, true, PER_MINUTE, NOW + 1)).toBe(0);
    expect(slots.take(third, false, PER_MINUTE, NOW + secondMs)).toBe(0);
  });

  it("a limit of one poll per minute permits exactly one poll per minute, whether it is urgent or not", () => {
    const slots = new PollSlots();
    expect(slots.take("a", true, 1, NOW)).toBe(0);
    expect(slots.take("b", true, 1, NOW)).toBeGreaterThanOrEqual(MINUTE);
  });

  it("when the clock is put back by a day, the queue of deferred polls is dropped, so that no poll waits for a day", () => {
    const slots = new PollSlots();
    waits(slots, NAMES);
    expect(slots.take("later", false, PER_MINUTE, NOW - 24 * 60 * MINUTE)).toBe(0);
  });

  it("the queue of deferred polls holds at most 10,000 tasks; all further tasks are told the same wait, until the first moment that no task in the queue has", () => {
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

it("no period of 60 seconds has more polls than the connection's limit per minute, whenever tasks ask for polls and however late they ask again", () => {
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
