import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { isTerminal } from "../../../src/core/record/task.ts";
import type { WorkLoop } from "../../../src/task/work-loop.ts";
import {
  aCompletion,
  aCreation,
  aFailure,
  aPolicy,
  aRedelivery,
  aReport,
  DAY,
  MINUTE,
  NOW,
  SECOND,
} from "../builders.ts";
import { aPricedRegistration } from "../credit-builders.ts";
import { runMicrotasks } from "../../simulation/microtasks.ts";
import { MemoryHost } from "./memory-host.ts";

/** One attempt, so that a callback fails at once. */
const TOLD = aPolicy({ isOperatorNotified: true, isIndexed: true, scheduleMs: [0] });
const finish = aReport(aCompletion(), aCreation());

let platform: MemoryHost;
let loop: WorkLoop;

beforeEach(() => {
  platform = new MemoryHost();
  platform.policyAt = () => TOLD;
  loop = platform.newLoop();
});

afterEach(() => {
  expect(platform.badAlarms).toEqual([]);
  expect(platform.failures).toEqual([]);
});

function owed() {
  const { stored } = platform;
  return stored !== null && isTerminal(stored) ? stored.notices : [];
}

function told() {
  return platform.notices.map(({ kind, version }) => `${kind} ${version - NOW}`);
}

async function fail(): Promise<void> {
  loop.apply(finish);
  await platform.answer("rejected", 250);
}

describe("a callback that failed", () => {
  it("is told to the operator after the callback and the index, once", async () => {
    loop.apply(finish);
    await runMicrotasks();
    expect([platform.numbers, platform.published, platform.notices]).toEqual([[1], [], []]);
    await platform.answer("rejected", 250);
    expect(told()).toEqual(["callback.failed 250"]);
    expect(owed()).toEqual([]);
    const events = platform.logs.map(({ event }) => event);
    expect(events).toEqual(["callback.attempt", "index.publish", "operator.notice"]);
    await platform.ring(loop);
    expect([platform.stored, platform.notices.length]).toEqual([null, 1]);
  });

  it("is told again when the redelivery fails too, and not when it succeeds", async () => {
    await fail();
    loop.apply(aRedelivery());
    await platform.answer("rejected", 250);
    expect(told()).toHaveLength(2);
    expect(new Set(told()).size).toBe(2);
    loop.apply(aRedelivery());
    await platform.answer("delivered", 250);
    expect(told()).toHaveLength(2);
  });
});

describe("an operator who does not answer", () => {
  it("is told again after 5 s, and not any more after 10 tries", async () => {
    platform.isOperatorDown = true;
    await fail();
    expect(platform.alarm).toBe(NOW + 250 + 5 * SECOND);
    for (let tries = 2; tries <= 10; tries++) await platform.ring(loop);
    expect(platform.notices).toHaveLength(10);
    expect(new Set(told()).size).toBe(1);
    expect(owed()).toEqual([]);
    expect(platform.alarm).toBe(NOW + 250 + TOLD.retentionMs);
  });

  it("is told when it is back", async () => {
    platform.isOperatorDown = true;
    await fail();
    await platform.ring(loop);
    platform.isOperatorDown = false;
    await platform.ring(loop);
    expect(platform.notices).toHaveLength(3);
    expect(owed()).toEqual([]);
  });

  it("delays no attempt that an event opens", async () => {
    platform.isOperatorHanging = true;
    await fail();
    expect(platform.notices).toHaveLength(1);
    loop.apply(aRedelivery());
    await runMicrotasks();
    expect(platform.numbers).toEqual([1, 2]);
    platform.isOperatorHanging = false;
    await platform.answer("delivered", 250);
    await platform.ring(loop);
    expect(new Set(told()).size).toBe(1);
    expect(owed()).toEqual([]);
  });

  it("is told by the next instance when this one dies of it, under the same identity", async () => {
    platform.isOperatorHanging = true;
    await fail();
    platform.crash();
    platform.isOperatorHanging = false;
    await platform.ring(platform.newLoop());
    expect(told()).toEqual(["callback.failed 250", "callback.failed 250"]);
    expect(owed()).toEqual([]);
  });
});

/** Moves on by the alarms alone until the next is more than so long after NOW. */
async function untilAfter(ms: number): Promise<void> {
  while ((platform.alarm ?? Number.POSITIVE_INFINITY) <= NOW + ms) await platform.ring(loop);
}

describe("a refund that takes long", () => {
  beforeEach(async () => {
    loop.apply(aPricedRegistration());
    await runMicrotasks();
    platform.outage = "deaf";
    loop.apply(aReport(aFailure()));
    await runMicrotasks();
  });

  it("is told to the operator exactly once, when it will have taken 5 minutes", async () => {
    await untilAfter(2 * MINUTE);
    expect(told()).toEqual([]);
    await untilAfter(5 * MINUTE);
    expect(platform.notices.map(({ kind }) => kind)).toEqual(["refund.delayed"]);
    await untilAfter(DAY);
    expect(told()).toHaveLength(1);
    expect(platform.numbers).toEqual([]);
  });
});
