import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { runMicrotasks } from "../../simulation/microtasks.ts";
import {
  aCompletion,
  aCreation,
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
} from "../builders.ts";
import { aHook, anAttachment, aProvidedRegistration } from "../upstream-builders.ts";
import { MemoryHost, WATCHDOG_MS } from "./memory-host.ts";

const finish = aReport(aCompletion(), aCreation());

let host: MemoryHost;

beforeEach(() => {
  host = new MemoryHost();
});

afterEach(() => host.expectNoFailure());

/** Tells whether a promise is settled, after all pending microtasks have run. */
async function hasEnded(work: Promise<void>): Promise<boolean> {
  let ended = false;
  void work.then(() => (ended = true));
  await runMicrotasks();
  return ended;
}

describe("an alarm that comes while due steps are in progress", () => {
  it("an alarm handler that finds the due steps of its task already in progress returns only when they end, and another alarm has been set", async () => {
    host.loop.apply(finish);
    const rung = host.ring();
    expect(await hasEnded(rung)).toBe(false);
    await host.answer("rejected");
    expect(await hasEnded(rung)).toBe(true);
    expect([host.numbers, host.alarm]).toEqual([[1], NOW + WATCHDOG_MS + FIRST_WAIT]);
  });

  it("when an event starts work while an alarm handler runs and a later alarm is already set, an alarm is set for the case that the task's object dies during this work", async () => {
    host.policyAt = () => aPolicy({ isIndexed: true });
    host.endings = {};
    host.loop.apply(aProvidedRegistration());
    host.loop.apply(aHook(aCompletion()));
    const later = host.alarm ?? NaN;
    host.clock = later;
    void host.loop.wake(later - 1);
    await runMicrotasks();
    host.loop.apply(anAttachment());
    expect([host.outside.openCalls.length, host.alarm]).toEqual([1, later + WATCHDOG_MS]);
  });

  it("an alarm handler that finds the due steps of its task already in progress does not send their callback attempt a second time", async () => {
    host.loop.apply(finish);
    const woken = Promise.all([host.loop.wake(NOW), host.loop.wake(NOW)]);
    await host.answer("rejected");
    await woken;
    expect(host.numbers).toEqual([1]);
    const rung = host.ring();
    host.loop.apply(aRedelivery());
    await host.answer("delivered");
    await rung;
    expect(host.numbers).toEqual([1, 2]);
  });
});

describe("an event at any moment around the end of due steps", () => {
  const allTurns = Array.from({ length: 16 }, (_, i) => i);

  it.each(allTurns)(
    "a redelivery ordered %i microtasks after a callback attempt ends is either sent at once, or refused because an attempt is running",
    async (count) => {
      host.loop.apply(finish);
      await runMicrotasks();
      host.end("send");
      await runMicrotasks(count);
      const isAccepted = host.loop.apply(aRedelivery()).kind === "changed";
      await runMicrotasks();
      expect(host.numbers).toEqual(isAccepted ? [1, 2] : [1]);
      if (isAccepted) await host.answer("delivered");
      expect(callbackOf(host.stored).state).toEqual({ kind: "delivered" });
      expect(host.alarm).toBe(NOW + POLICY.retentionMs);
    },
  );

  it("a redelivery sets an alarm for the case that the task's object dies, even if it is accepted just before or after the alarm handler returns", async () => {
    const seen = new Set<string>();
    for (const count of allTurns) {
      const one = new MemoryHost();
      one.loop.apply(finish);
      const rung = one.ring();
      one.end("send");
      await runMicrotasks(count);
      const { kind } = one.loop.apply(aRedelivery());
      seen.add(`${kind}, ${(await hasEnded(rung)) ? "returned" : "joined"}`);
      if (kind === "changed") expect(one.alarm).toBe(NOW + 2 * WATCHDOG_MS);
    }
    expect(seen).toEqual(new Set(["reject, returned", "changed, joined", "changed, returned"]));
  });
});

describe("read", () => {
  it("reading a task sets the task's alarm again when that alarm is overdue by more than a minute", async () => {
    host.policyAt = () => aPolicy({ scheduleMs: [HOUR] });
    host.loop.apply(finish);
    host.alarm = null;
    host.clock = NOW + HOUR + MINUTE;
    host.restart();
    host.loop.read();
    expect(host.writes).toEqual(["put", "alarm"]);
    host.clock += 1;
    host.loop.read();
    expect(host.writes).toEqual(["put", "alarm", "alarm"]);
    expect(host.alarm).toBe(host.clock + 1);
    await host.ringAndAnswer("delivered");
    expect(host.numbers).toEqual([1]);
  });

  it("reading a task writes nothing while its due steps are in progress, however long they take", () => {
    host.loop.apply(finish);
    host.clock += 2 * MINUTE;
    host.loop.read();
    expect(host.writes).toEqual(["put", "alarm"]);
  });
});

describe("an erasure", () => {
  it("an erasure that is still in progress does not remove a task that is created again under the same id", async () => {
    host.loop.apply(finish);
    await host.answer("delivered");
    const { promise, resolve } = Promise.withResolvers<void>();
    host.erasing = promise;
    const rung = host.ring();
    await runMicrotasks();
    host.loop.apply(aRegistration());
    resolve();
    await rung;
    expect(host.stored?.status).toBe("pending");
    expect(host.alarm).toBe(host.clock + POLICY.taskDeadlineMs);
  });
});
