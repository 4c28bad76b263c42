import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { WorkLoop } from "../../../src/task/work-loop.ts";
import {
  aCompletion,
  aCreation,
  anOpenTask,
  aPolicy,
  aRedelivery,
  aRegistration,
  aReport,
  callbackOf,
  FIRST_WAIT,
  HOUR,
  MINUTE,
  NOW,
  POLICY,
  SECOND,
} from "../builders.ts";
import { runMicrotasks } from "../../simulation/microtasks.ts";
import { MemoryHost } from "./memory-host.ts";

const finish = aReport(aCompletion(), aCreation());
const WATCHDOG = 15_000;

let platform: MemoryHost;
let loop: WorkLoop;

beforeEach(() => {
  platform = new MemoryHost();
  loop = platform.newLoop();
});

afterEach(() => {
  expect(platform.badAlarms).toEqual([]);
  expect(platform.failures).toEqual([]);
});

/** Whether a promise has ended, as far as it could by now. */
async function hasEnded(work: Promise<void>): Promise<boolean> {
  let ended = false;
  void work.then(() => (ended = true));
  await runMicrotasks();
  return ended;
}

describe("an alarm that finds a loop running", () => {
  it("joins it and does not return before it ends", async () => {
    loop.apply(finish);
    const rung = platform.ring(loop);
    expect(await hasEnded(rung)).toBe(false);
    await platform.answer("rejected");
    expect(await hasEnded(rung)).toBe(true);
    expect(platform.numbers).toEqual([1]);
  });

  it("leaves an alarm behind", async () => {
    loop.apply(finish);
    const rung = platform.ring(loop);
    await platform.answer("rejected");
    await rung;
    expect(platform.alarm).toBe(NOW + WATCHDOG + FIRST_WAIT);
  });

  it("in the same turn as the event does not make it send twice", async () => {
    loop.apply(finish);
    const woken = Promise.all([loop.wake(NOW), loop.wake(NOW)]);
    await runMicrotasks();
    expect(platform.numbers).toEqual([1]);
    await platform.answer("delivered");
    await woken;
    expect(platform.numbers).toEqual([1]);
  });

  it("in the turn before the event does not make it send twice", async () => {
    loop.apply(finish);
    await platform.answer("rejected");
    const rung = platform.ring(loop);
    loop.apply(aRedelivery());
    await runMicrotasks();
    expect(platform.numbers).toEqual([1, 2]);
    await platform.answer("delivered");
    await rung;
    expect(platform.numbers).toEqual([1, 2]);
  });
});

describe("an event in any turn around the end of a loop", () => {
  const allTurns = Array.from({ length: 16 }, (_, i) => i);

  it.each(allTurns)("is acted on without an alarm, %i turns after the answer", async (count) => {
    loop.apply(finish);
    platform.sent[0]?.answer("delivered");
    await runMicrotasks(count);
    const decision = loop.apply(aRedelivery());
    await runMicrotasks();
    const expected = decision.kind === "changed" ? [1, 2] : [1];
    expect(platform.numbers).toEqual(expected);
    if (decision.kind === "changed") await platform.answer("delivered");
    expect(callbackOf(platform.stored).state).toEqual({ kind: "delivered" });
    expect(platform.alarm).toBe(NOW + POLICY.retentionMs);
  });

  it("is joined by the alarm's handler that is still there, and covered by an alarm if not", async () => {
    const seen = new Set<string>();
    for (const count of allTurns) {
      const memory = new MemoryHost();
      const one = memory.newLoop();
      one.apply(finish);
      const rung = memory.ring(one);
      memory.sent[0]?.answer("delivered");
      await runMicrotasks(count);
      const { kind } = one.apply(aRedelivery());
      const ended = await hasEnded(rung);
      seen.add(`${kind}, ${ended ? "returned" : "joined"}`);
      if (kind === "changed") expect(memory.alarm).toBe(NOW + 2 * WATCHDOG);
    }
    expect(seen).toEqual(new Set(["reject, returned", "changed, joined", "changed, returned"]));
  });
});

describe("read", () => {
  it("gives the record as it is, and null where there is none", () => {
    expect(loop.read()).toBeNull();
    loop.apply(aRegistration());
    expect(loop.read()).toEqual(anOpenTask());
  });

  it("writes nothing while nothing is overdue by more than a minute", () => {
    loop.read();
    platform.policyAt = () => aPolicy({ scheduleMs: [HOUR] });
    loop.apply(finish);
    platform.clock = NOW + HOUR + MINUTE;
    loop.read();
    expect(platform.writes).toEqual(["put", "alarm"]);
  });

  it("re-arms a record whose alarm never came", async () => {
    platform.policyAt = () => aPolicy({ scheduleMs: [HOUR] });
    loop.apply(finish);
    platform.alarm = null;
    platform.clock = NOW + HOUR + MINUTE + 1;
    platform.newLoop().read();
    expect(platform.writes).toEqual(["put", "alarm", "alarm"]);
    expect(platform.alarm).toBe(platform.clock + 1);
    const rung = platform.ring(loop);
    await platform.answer("delivered");
    await rung;
    expect(platform.numbers).toEqual([1]);
  });

  it("re-arms an attempt that a dead instance left open, and sends nothing itself", async () => {
    loop.apply(finish);
    platform.clock += 2 * MINUTE;
    platform.newLoop().read();
    await runMicrotasks();
    expect(platform.alarm).toBe(platform.clock + 1);
    expect(platform.numbers).toEqual([1]);
  });

  it("writes nothing while a loop runs, however long", () => {
    loop.apply(finish);
    platform.clock += 2 * MINUTE;
    loop.read();
    expect(platform.writes).toEqual(["put", "alarm"]);
    expect(platform.alarm).toBe(NOW + WATCHDOG);
  });

  it("does not take a pause for a lost alarm", () => {
    platform.policyAt = (now) => aPolicy({ pausedUntil: now + 70 * SECOND });
    loop.apply(finish);
    platform.clock += HOUR;
    loop.read();
    expect(platform.writes).toEqual(["put", "alarm"]);
  });
});

async function deliver(): Promise<void> {
  loop.apply(finish);
  await platform.answer("delivered");
}

describe("erase", () => {
  it("removes a settled task and its alarm", async () => {
    await deliver();
    expect((await loop.applyAndErase({ type: "erase" })).kind).toBe("erase");
    expect([platform.stored, platform.alarm]).toEqual([null, null]);
  });

  it("writes nothing when it is refused", async () => {
    loop.apply(finish);
    expect((await loop.applyAndErase({ type: "erase" })).kind).toBe("reject");
    expect(platform.writes).toEqual(["put", "alarm"]);
  });

  it("does not take with it what is created while it goes on", async () => {
    await deliver();
    const { promise, resolve } = Promise.withResolvers<void>();
    platform.erasing = promise;
    const rung = platform.ring(loop);
    await runMicrotasks();
    loop.apply(aRegistration());
    resolve();
    await rung;
    expect(platform.stored?.status).toBe("pending");
    expect(platform.alarm).toBe(platform.clock + POLICY.taskDeadlineMs);
  });

  it("lets the same id begin a new life that is armed and sent like the first", async () => {
    await deliver();
    await loop.applyAndErase({ type: "erase" });
    platform.clock += HOUR;
    loop.apply(aRegistration());
    expect(platform.alarm).toBe(platform.clock + POLICY.taskDeadlineMs);
    loop.apply(aReport());
    await platform.answer("delivered");
    expect(platform.numbers).toEqual([1, 1]);
  });
});
