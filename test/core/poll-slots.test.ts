import { describe, expect, it } from "vitest";
import { PollSlots } from "../../src/objects/connection/poll-slots.ts";
import { MINUTE, NOW, SECOND } from "./builders.ts";

const LIKELY = 0.5;

/** Asks for permission to poll for these tasks, under a limit of 60 per minute; returns the waits. */
function waits(slots: PollSlots, tasks: readonly string[], likelihood = LIKELY, at = NOW) {
  return tasks.map((task) => slots.take(task, likelihood, 60, at));
}

const NAMES = Array.from({ length: 30 }, (_, index) => `task ${index}`);
const [FIRST = "", SECOND_TASK = "", THIRD = ""] = NAMES.slice(10);

/** Returns slots whose burst of ten permissions is used up. */
function used(): PollSlots {
  const slots = new PollSlots();
  waits(slots, NAMES.slice(0, 10));
  return slots;
}

describe("the slots of a limit per minute", () => {
  it("under a limit of 60 polls per minute, ten polls are permitted at once, and the next three are told to ask again after 1.2, 2.4 and 3.6 s", () => {
    const all = waits(new PollSlots(), NAMES.slice(0, 13));
    expect(all).toEqual([...Array.from({ length: 10 }, () => 0), 1_200, 2_400, 3_600]);
  });

  it("three polls deferred by a provider's limit per minute are all permitted when each asks again at the time that it was told", () => {
    const slots = used();
    const told = waits(slots, [FIRST, SECOND_TASK, THIRD]);
    const again = [FIRST, SECOND_TASK, THIRD].map((task, index) =>
      slots.take(task, LIKELY, 60, NOW + (told[index] ?? NaN)),
    );
    expect(again).toEqual([0, 0, 0]);
  });

  it("a poll that is likelier to find a result is permitted before less likely ones that a limit per minute has deferred for longer", () => {
    const slots = used();
    waits(slots, [FIRST, SECOND_TASK]);
    expect(slots.take(THIRD, 0.9, 60, NOW)).toBe(1_200);
    expect(slots.take(FIRST, LIKELY, 60, NOW + 1_200)).toBe(1_200);
    expect(slots.take(THIRD, 0.9, 60, NOW + 1_200)).toBe(0);
  });

  it("a poll deferred by a limit per minute loses its turn if it does not ask again, and a poll with the likelihood 1 of finding a result is never deferred", () => {
    const slots = used();
    slots.take(FIRST, 0.9, 60, NOW);
    expect(slots.take(SECOND_TASK, LIKELY, 60, NOW + 7 * SECOND)).toBe(0);
    expect(waits(slots, NAMES, 1, NOW + 7 * SECOND)).toEqual(NAMES.map(() => 0));
  });

  it("under a limit of 60 polls per minute, tasks that ask all the time get at most 61 permissions in any minute, and more than 50 in the busiest", () => {
    const slots = new PollSlots();
    const polled: number[] = [];
    for (let at = NOW; at < NOW + 5 * MINUTE; at += 100) {
      for (const task of NAMES) if (slots.take(task, LIKELY, 60, at) === 0) polled.push(at);
    }
    const inMinute = polled.map((at) => polled.filter((each) => each >= at && each < at + MINUTE));
    const most = Math.max(...inMinute.map(({ length }) => length));
    expect(most).toBeLessThanOrEqual(61);
    expect(most).toBeGreaterThan(50);
  });

  it("a limit per minute defers a poll for at most a minute, even after the clock has stepped back by a day", () => {
    const slots = used();
    slots.take(FIRST, 0.9, 60, NOW);
    const at = NOW - 24 * 60 * MINUTE;
    expect(slots.take(SECOND_TASK, LIKELY, 60, at)).toBeLessThanOrEqual(MINUTE);
    expect(slots.take(SECOND_TASK, LIKELY, 60, at + MINUTE)).toBe(0);
  });
});
