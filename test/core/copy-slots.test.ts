import { afterEach, beforeEach, expect, it, vi } from "vitest";
import type { BudgetPart } from "../../src/lib/shared-budget.ts";
import {
  type CopyClaim,
  CopySlots,
  STATED_UNITS,
  UNSTATED_UNITS,
} from "../../src/objects/output/copy-slots.ts";
import { MINUTE, NOW, SECOND } from "./builders.ts";

beforeEach(() => void vi.useFakeTimers({ now: NOW, toFake: ["Date"] }));
afterEach(() => void vi.useRealTimers());

let lastName = 0;

/** Returns a claim of an object that has asked for no other copy. */
function claim(fields: Partial<CopyClaim> = {}): CopyClaim {
  lastName += 1;
  const defaults = { host: "a.example", account: null, units: STATED_UNITS };
  return { name: `object ${lastName}`, ...defaults, ...fields };
}

/** Takes as many permissions as are given for such copies. */
function takeAll(slots: CopySlots, fields: Partial<CopyClaim> = {}): readonly BudgetPart[] {
  const taken: BudgetPart[] = [];
  for (;;) {
    const { slot } = slots.take(claim(fields), 0);
    if (slot === null) return taken;
    taken.push(slot);
  }
}

/** Asks for the permission to copy, and returns the wait; null when the permission is given. */
function waitOf(slots: CopySlots, asked: CopyClaim, random: number): number | null {
  const answer = slots.take(asked, random);
  return answer.slot === null ? answer.waitMs : null;
}

it("an isolate (a process of the Worker) copies 66 outputs of stated length for one account at the same time, more than the 50 that 10 a second are which take 5 s each, and 99 from one host", () => {
  expect(takeAll(new CopySlots(), { account: "acme" })).toHaveLength(66);
  expect(takeAll(new CopySlots())).toHaveLength(99);
});

it("an isolate copies four outputs of unknown length at the same time, of which it holds 8 MiB each: two for an account, three from a host", () => {
  const slots = new CopySlots();
  const unstated = { units: UNSTATED_UNITS };
  expect(takeAll(slots, { ...unstated, account: "acme" })).toHaveLength(2);
  expect(takeAll(slots, { ...unstated, account: "other" })).toHaveLength(1);
  expect(takeAll(slots, { ...unstated, account: "third" })).toHaveLength(0);
  expect(takeAll(slots, { ...unstated, host: "b.example" })).toHaveLength(1);
});

const STATED = { units: STATED_UNITS };
const UNSTATED = { units: UNSTATED_UNITS };

it.each([
  ["one host", { host: "slow.example" }, { host: "new.example" }],
  ["one account at the same host", { account: "acme" }, { account: "other" }],
])(
  "when copies of %s take all that they may, a copy for somebody else still begins, of stated or unknown length",
  (_, busy, other) => {
    for (const own of [STATED, UNSTATED]) {
      for (const asked of [STATED, UNSTATED]) {
        const slots = new CopySlots();
        expect(takeAll(slots, { ...own, ...busy }).length).toBeGreaterThan(1);
        expect(slots.take(claim({ ...asked, ...other }), 0).slot).not.toBeNull();
      }
    }
  },
);

it.each([
  ["two hosts", [{ host: "slow.example" }, { host: "busy.example" }]],
  ["four accounts", ["a", "b", "c", "d"].map((account) => ({ account, host: `${account}.test` }))],
])(
  "while outputs of stated length of %s take all that they may again and again, the copy of an output of unknown length from another host begins when as many copies have ended",
  (_, busy) => {
    const slots = new CopySlots();
    const taken = busy.flatMap((fields) => takeAll(slots, fields));
    for (const ended of taken.slice(0, busy.length)) {
      ended.giveBack();
      for (const fields of busy) takeAll(slots, fields);
    }
    expect(slots.take(claim({ ...UNSTATED, host: "new.example" }), 0).slot).not.toBeNull();
  },
);

it("an account with outputs at many hosts takes half of what an isolate has for copies", () => {
  const slots = new CopySlots();
  const hosts = Array.from({ length: 132 }, (_, nth) => `${nth}.example`);
  const taken = hosts.filter((host) => slots.take(claim({ host, account: "acme" }), 0).slot);
  expect(taken).toHaveLength(66);
});

it("when one copy ends, another from the same host may begin", () => {
  const slots = new CopySlots();
  const [first] = takeAll(slots);
  first?.giveBack();
  expect(takeAll(slots)).toHaveLength(1);
});

it("the permission to copy an output ends a minute after it was given or renewed, because the Durable Object that copies may have crashed", () => {
  const slots = new CopySlots();
  const [first, ...others] = takeAll(slots);
  vi.setSystemTime(NOW + 30 * SECOND);
  first?.resize(STATED_UNITS);
  vi.setSystemTime(NOW + MINUTE);
  expect(takeAll(slots)).toHaveLength(others.length);
});

it("a Durable Object that must wait to copy an output asks again after 1 to 5 s, and later when many others wait for the same host", () => {
  const slots = new CopySlots();
  takeAll(slots, { units: UNSTATED_UNITS });
  vi.setSystemTime(NOW + SECOND);
  const waiting = { units: UNSTATED_UNITS };
  const only = claim({ ...waiting, account: "only" });
  expect([waitOf(slots, only, 0), waitOf(slots, only, 1)]).toEqual([SECOND, 5 * SECOND]);
  const waits = Array.from({ length: 201 }, () =>
    waitOf(slots, claim({ ...waiting, account: "many" }), 1),
  );
  expect(waits.at(-1)).toBe(15 * SECOND);
  expect(waitOf(slots, only, 1)).toBe(5 * SECOND);
});

it("a Durable Object that has not asked again for a minute counts no longer as waiting", () => {
  const slots = new CopySlots();
  const unstated = { units: UNSTATED_UNITS };
  const taken = takeAll(slots, unstated);
  for (let nth = 0; nth < 100; nth += 1) slots.take(claim(unstated), 0);
  expect(waitOf(slots, claim(unstated), 1)).toBeGreaterThan(5 * SECOND);
  vi.setSystemTime(NOW + 2 * MINUTE);
  for (const slot of taken) slot.resize(UNSTATED_UNITS);
  expect(waitOf(slots, claim(unstated), 1)).toBe(5 * SECOND);
});
