import { beforeEach, describe, expect, it } from "vitest";
import type { TaskEvent } from "../../src/core/events/event.ts";
import { WorkLoop } from "../../src/task/work-loop.ts";
import { aCompletion, aCreation, aFailure, aRedelivery, aReport, DAY, HOUR } from "./builders.ts";
import { aPricedRegistration, PRICE } from "./credit-builders.ts";
import { MemoryPlatform, turns } from "./memory-platform.ts";
import { GRANTED } from "./model-ledger.ts";
import { checkBooks } from "./saga.ts";

const create = aPricedRegistration();

/** Something that the test holds back, and lets go. */
function gate() {
  const { promise, resolve } = Promise.withResolvers<void>();
  return { promise, open: resolve };
}

const events: [string, TaskEvent][] = [
  ["processing", aReport({ status: "processing" })],
  ["a completion", aReport(aCompletion(), aCreation())],
  ["a failure", aReport(aFailure(), aCreation())],
  ["a cancellation", { type: "cancel" }],
  ["an erasure", { type: "erase" }],
  ["a redelivery", aRedelivery()],
  ["another create", aPricedRegistration({ credits: 1, chargeId: "other" })],
];

describe.each(events)("%s at any await of the charge", (_what, event) => {
  it.each([GRANTED, 0])("balances the books, with %i credits there", async (granted) => {
    for (const held of ["arriving", "answering", "erasing"] as const) {
      for (let count = 0; count < 12; count++) {
        const memory = new MemoryPlatform();
        memory.ledger.granted = granted;
        const waiting = gate();
        memory[held] = waiting.promise;
        const one = new WorkLoop(memory);
        one.apply(create);
        await turns(count);
        await one.applyAndErase(event);
        waiting.open();
        await memory.answer("delivered");
        await memory.answer("delivered");
        for (let i = 0; i < 10 && memory.stored !== null; i++) {
          const rung = memory.ring(one);
          await memory.answer("delivered");
          await rung;
        }
        expect([memory.stored, memory.early, memory.failures]).toEqual([null, [], []]);
        checkBooks(memory);
      }
    }
  });
});

describe("a task that is created again under its id", () => {
  let platform: MemoryPlatform;
  let loop: WorkLoop;

  beforeEach(() => {
    platform = new MemoryPlatform();
    loop = new WorkLoop(platform);
  });

  it("pays anew, under a new charge id, after it was erased", async () => {
    for (const [i, result] of [aCompletion(), aFailure(), aCompletion()].entries()) {
      loop.apply(aPricedRegistration({ chargeId: `life-${i}` }));
      await loop.runUntilIdle();
      loop.apply(aReport(result));
      await platform.answer("delivered");
      if (i === 0) await loop.applyAndErase({ type: "erase" });
      else await platform.ring(loop);
      expect(platform.stored).toBeNull();
      platform.clock += DAY;
    }
    expect(platform.ledger.entries.map(({ kind, chargeId }) => `${kind} ${chargeId}`)).toEqual([
      "charge life-0",
      "charge life-1",
      "refund life-1",
      "charge life-2",
    ]);
    checkBooks(platform);
  });

  it("pays after it was refused, when there are credits", async () => {
    platform.ledger.granted = 0;
    loop.apply(create);
    await loop.runUntilIdle();
    platform.ledger.granted = PRICE;
    loop.apply(aPricedRegistration({ chargeId: "life-2" }));
    await loop.runUntilIdle();
    expect(platform.stored).toMatchObject({ status: "pending", credits: { chargeId: "life-2" } });
    expect(platform.ledger.balance).toBe(0);
  });

  it("does not take the late answer to its former life for its own", async () => {
    const old = gate();
    platform.answering = old.promise;
    loop.apply(create);
    await turns();
    platform.answering = null;
    const other = new WorkLoop(platform);
    await platform.ring(other);
    other.apply(aReport());
    await platform.answer("delivered");
    await other.applyAndErase({ type: "erase" });
    platform.outage = "deaf";
    platform.clock += HOUR;
    other.apply(aPricedRegistration({ chargeId: "life-2" }));
    await other.runUntilIdle();
    const { stored } = platform;
    platform.outage = null;
    old.open();
    await turns();
    expect(platform.stored).toEqual(stored);
    expect(stored).toMatchObject({ status: "charging", credits: { chargeId: "life-2" } });
  });
});
