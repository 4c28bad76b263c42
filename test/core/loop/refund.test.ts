import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { TaskEvent } from "../../../src/core/events/event.ts";
import type { WorkLoop } from "../../../src/task/work-loop.ts";
import {
  ACCOUNT,
  aFailure,
  aPolicy,
  aRedelivery,
  aReport,
  callbackOf,
  DAY,
  HOUR,
  ID,
  NOW,
  POLICY,
  SECOND,
} from "../builders.ts";
import { aPricedRegistration, aSettledRegistration, CHARGE_ID, PRICE } from "../credit-builders.ts";
import { runMicrotasks } from "../../simulation/microtasks.ts";
import { MemoryHost } from "./memory-host.ts";
import { GRANTED } from "./model-ledger.ts";
import { checkBooks } from "./crash-run.ts";

const failure = aReport(aFailure());
const WATCHDOG = 15_000;

let platform: MemoryHost;
let loop: WorkLoop;

beforeEach(async () => {
  platform = new MemoryHost();
  loop = platform.newLoop();
});

afterEach(() => {
  expect(platform.badAlarms).toEqual([]);
  expect(platform.failures).toEqual([]);
  expect(platform.early).toEqual([]);
});

async function created(registration = aPricedRegistration()): Promise<void> {
  loop.apply(registration);
  await loop.runUntilIdle();
}

describe("a charged task that fails", () => {
  it("is refunded and then called back, at once and without an alarm", async () => {
    await created();
    loop.apply(failure);
    expect([platform.numbers, platform.alarm]).toEqual([[], NOW + WATCHDOG]);
    await runMicrotasks();
    expect(platform.ledger.balance).toBe(GRANTED);
    expect(platform.refunds).toEqual([
      {
        taskId: ID,
        accountId: ACCOUNT.id,
        chargeId: CHARGE_ID,
        amount: PRICE,
        reason: "content_policy",
      },
    ]);
    expect(platform.numbers).toEqual([1]);
    await platform.answer("delivered");
    expect(callbackOf(platform.stored).state).toEqual({ kind: "delivered" });
    expect(platform.logs.slice(1, 2)).toEqual([
      { event: "credits.refund", task_id: ID, account: "acme", amount: PRICE, outcome: "refunded" },
    ]);
  });

  it("opens its first attempt in the commit that books the refund", async () => {
    await created();
    loop.apply(failure);
    await runMicrotasks();
    const states = platform.history.flatMap((record) =>
      record.status === "failed"
        ? [`${record.credits?.state.kind}, ${callbackOf(record).state.kind}`]
        : [],
    );
    expect(states).toEqual(["refunding, held", "refunded, in_flight"]);
    expect(platform.writes.filter((what) => what === "put")).toHaveLength(4);
  });

  it.each<[string, TaskEvent | null]>([
    ["a cancellation", { type: "cancel" }],
    ["its deadline", null],
  ])("by %s is refunded first too", async (_what, event) => {
    await created();
    if (event === null) void platform.ring(loop);
    else loop.apply(event);
    await runMicrotasks();
    expect(platform.stored).toMatchObject({
      status: "failed",
      credits: { state: { kind: "refunded" } },
    });
    expect(platform.numbers).toEqual([1]);
    await platform.answer("delivered");
    checkBooks(platform);
  });

  it("is refunded where nobody is called back", async () => {
    await created(aPricedRegistration({ callbackUrl: null }));
    loop.apply(failure);
    await runMicrotasks();
    expect(platform.numbers).toEqual([]);
    checkBooks(platform);
    expect(platform.alarm).toBe(NOW + POLICY.retentionMs);
  });

  it("is refunded while the relay is paused", async () => {
    await created();
    platform.policyAt = (now) => aPolicy({ pausedUntil: now + HOUR });
    loop.apply(failure);
    await runMicrotasks();
    checkBooks(platform);
    expect([platform.numbers, platform.alarm]).toEqual([[], NOW + HOUR]);
  });

  it("is refunded once, however often it is sent again", async () => {
    await created();
    loop.apply(failure);
    await platform.answer("rejected");
    for (let i = 0; i < 2; i++) {
      const rung = platform.ring(loop);
      await platform.answer("rejected");
      await rung;
    }
    loop.apply(aRedelivery());
    await platform.answer("delivered");
    expect(platform.numbers).toEqual([1, 2, 3, 4]);
    expect(platform.refunds).toHaveLength(1);
    checkBooks(platform);
  });
});

describe("while the ledger does not give the credits back", () => {
  it.each([
    ["mute", 1],
    ["deaf", 0],
  ] as const)(
    "(%s) nothing is sent, redelivered or erased",
    async (outage, booked) => {
      await created();
      platform.outage = outage;
      loop.apply(failure);
      await runMicrotasks();
      const waits: number[] = [];
      while (platform.clock < NOW + 2 * DAY) {
        const before = platform.clock;
        await platform.ring(loop);
        waits.push((platform.clock - before) / SECOND);
      }
      expect(waits.slice(0, 9)).toEqual([5, 10, 20, 40, 80, 160, 300, 300, 300]);
      expect(Math.max(...waits)).toBe(300);
      expect(loop.apply(aRedelivery())).toMatchObject({ rejection: { code: "series_running" } });
      expect((await loop.applyAndErase({ type: "erase" })).kind).toBe("reject");
      expect(platform.numbers).toEqual([]);
      expect(platform.ledger.entries.filter(({ kind }) => kind === "refund")).toHaveLength(booked);

      platform.outage = null;
      const rung = platform.ring(loop);
      await platform.answer("delivered");
      await rung;
      expect(platform.numbers).toEqual([1]);
      checkBooks(platform);
    },
    20_000,
  );
});

describe("settlement by the operator's own billing", () => {
  it("charges nothing in the ledger and takes nothing for a completed task", async () => {
    await created(aSettledRegistration());
    expect(platform.writes).toEqual(["put", "alarm"]);
    loop.apply(aReport());
    await platform.answer("delivered");
    expect([platform.charges, platform.refunds, platform.ledger.entries]).toEqual([[], [], []]);
  });

  it.each([
    ["refuses", "deaf"],
    ["accepts without a word", "mute"],
  ] as const)("that %s for an hour ends with one refund, then the callback", async (_w, outage) => {
    await created(aSettledRegistration());
    platform.outage = outage;
    loop.apply(failure);
    await runMicrotasks();
    const tries = [0];
    while (platform.alarm !== null && platform.alarm < NOW + HOUR) {
      await platform.ring(loop);
      tries.push((platform.clock - NOW) / SECOND);
    }
    const everyFive = Array.from({ length: 10 }, (_, i) => 615 + 300 * i);
    expect(tries).toEqual([0, 5, 15, 35, 75, 155, 315, ...everyFive]);
    expect(platform.refunds).toHaveLength(tries.length);
    expect(platform.numbers).toEqual([]);

    platform.outage = null;
    const rung = platform.ring(loop);
    await platform.answer("delivered");
    await rung;
    expect(platform.clock).toBe(NOW + 3615 * SECOND);
    expect([...platform.ledger.settled]).toEqual([ID]);
    expect(platform.numbers).toEqual([1]);
    expect(platform.ledger.entries).toEqual([]);
    expect(platform.refunds.at(-1)).toMatchObject({ chargeId: null, taskId: ID, amount: PRICE });
    const asked = platform.refunds.length;
    await platform.ring(loop);
    expect([platform.stored, platform.refunds.length]).toEqual([null, asked]);
  });
});
