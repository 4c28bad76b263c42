import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { TaskEvent } from "../../../src/core/events/event.ts";
import { rowOf } from "../../../src/core/views/index-row.ts";
import type { WorkLoop } from "../../../src/task/work-loop.ts";
import {
  aCompletion,
  aCreation,
  aPolicy,
  aRedelivery,
  aRegistration,
  aReport,
  FIRST_WAIT,
  HOUR,
  MINUTE,
  NOW,
  POLICY,
  PROCESSING,
  SECOND,
  SECOND_WAIT,
} from "../builders.ts";
import { aPricedRegistration } from "../credit-builders.ts";
import { runMicrotasks } from "../../simulation/microtasks.ts";
import { MemoryHost } from "./memory-host.ts";

const INDEXED = aPolicy({ isIndexed: true });
const NEVER = new Promise<void>(() => {});
const finish = aReport(aCompletion(), aCreation());

let platform: MemoryHost;
let loop: WorkLoop;

beforeEach(() => {
  platform = new MemoryHost();
  platform.policyAt = () => INDEXED;
  loop = platform.newLoop();
});

afterEach(() => {
  expect(platform.badAlarms).toEqual([]);
  expect(platform.failures).toEqual([]);
});

/** An event that comes in so long after NOW. */
function at(ms: number, event: TaskEvent): void {
  platform.clock = NOW + ms;
  loop.apply(event);
}

function indexed() {
  return platform.published.map(({ status, callback }) => `${status} ${callback}`);
}

/** Whether the index shows the task as it is, and the record knows that. */
function expectInStep(): void {
  const { stored } = platform;
  expect(platform.published.at(-1)).toEqual(
    stored === null || stored.status === "charging" ? null : rowOf(stored),
  );
  expect(stored?.publication.version).toBe(stored?.version);
}

describe("the index of a task that an event creates and one attempt delivers", () => {
  it("hears of it once, after the callback, and costs one commit more", async () => {
    loop.apply(finish);
    await runMicrotasks();
    expect([platform.numbers, indexed()]).toEqual([[1], []]);
    await platform.answer("delivered", 250);
    expect(indexed()).toEqual(["completed delivered"]);
    expectInStep();
    await platform.ring(loop);
    const commits = ["put", "alarm", "put", "alarm", "put", "alarm"];
    expect(platform.writes).toEqual([...commits, "erase"]);
    expect(platform.published).toHaveLength(1);
  });

  it("is written in the run that settles it, and then the object sleeps until its end", async () => {
    loop.apply(finish);
    await platform.answer("delivered", 250);
    expect(platform.alarm).toBe(NOW + 250 + POLICY.retentionMs);
    expect(platform.logs.at(-1)).toMatchObject({ event: "index.publish", outcome: "published" });
  });
});

describe("the index of a registered task", () => {
  it("hears twice at most of a life that is at work within half a minute", async () => {
    at(0, aRegistration());
    at(20 * SECOND, aReport(PROCESSING));
    expect(platform.alarm).toBe(NOW + 50 * SECOND);
    await platform.ring(loop);
    expect(indexed()).toEqual(["processing waiting"]);
    at(5 * MINUTE, aReport());
    await platform.answer("delivered", 250);
    expect(indexed()).toEqual(["processing waiting", "completed delivered"]);
    expectInStep();
  });

  it("hears nothing of one whose charge is refused", async () => {
    platform.ledger.hasAccount = false;
    loop.apply(aPricedRegistration());
    await runMicrotasks();
    expect([platform.stored, platform.published]).toEqual([null, []]);
  });
});

describe("the index while callbacks fail", () => {
  it("hears between the attempts and after the last, and moves none of them", async () => {
    loop.apply(finish);
    await platform.answer("rejected", 2 * SECOND);
    expect(platform.alarm).toBe(NOW + 7 * SECOND);
    await platform.ring(loop);
    expect(platform.alarm).toBe(NOW + 2 * SECOND + FIRST_WAIT);
    void platform.ring(loop);
    await platform.answer("rejected", 250);
    await platform.ring(loop);
    void platform.ring(loop);
    await platform.answer("timeout", 10 * SECOND);
    const second = NOW + 2 * SECOND + FIRST_WAIT;
    expect(platform.sent.map(({ delivery }) => delivery.startedAt)).toEqual([
      NOW,
      second,
      second + 250 + SECOND_WAIT,
    ]);
    expect(indexed()).toEqual(["completed sending", "completed sending", "completed failed"]);
    expectInStep();
  });

  it("hears nothing between attempts that follow each other closely", async () => {
    platform.policyAt = () => aPolicy({ isIndexed: true, scheduleMs: [0, 7 * SECOND, 7 * SECOND] });
    loop.apply(finish);
    await platform.answer("rejected", 250);
    expect(platform.alarm).toBe(NOW + 250 + 7 * SECOND);
    void platform.ring(loop);
    await platform.answer("delivered", 250);
    expect(indexed()).toEqual(["completed delivered"]);
  });
});

describe("a write to the index that hangs", () => {
  it("delays no first attempt that an event opens, and is made again 5 s later", async () => {
    loop.apply(aRegistration());
    platform.publishing = NEVER;
    const rung = platform.ring(loop);
    await runMicrotasks();
    expect(platform.published).toHaveLength(1);
    loop.apply(aReport());
    await runMicrotasks();
    expect(platform.numbers).toEqual([1]);
    platform.publishing = null;
    await platform.answer("delivered", 250);
    await rung;
    expect(platform.alarm).toBe(platform.clock - 250 + 5 * SECOND);
    await platform.ring(loop);
    expect(indexed()).toEqual(["pending waiting", "completed delivered"]);
    expectInStep();
  });

  it("delays no redelivery", async () => {
    platform.publishing = NEVER;
    loop.apply(finish);
    await platform.answer("delivered", 250);
    expect(platform.published).toHaveLength(1);
    loop.apply(aRedelivery());
    await runMicrotasks();
    expect(platform.numbers).toEqual([1, 2]);
  });

  it("is made again by the next instance when this one dies of it", async () => {
    platform.publishing = NEVER;
    loop.apply(finish);
    await platform.answer("delivered", 250);
    expect(platform.stored?.publication.version).toBe(0);
    platform.publishing = null;
    await platform.ring(crashed());
    expect(indexed()).toEqual(["completed delivered", "completed delivered"]);
    expectInStep();
  });
});

function crashed(): WorkLoop {
  platform.crash();
  return platform.newLoop();
}

describe("an index that is down", () => {
  beforeEach(() => {
    platform.isIndexDown = true;
  });

  it("delays no callback, and catches up when it is back", async () => {
    loop.apply(finish);
    await platform.answer("rejected", 2 * SECOND);
    const second = NOW + 2 * SECOND + FIRST_WAIT;
    while (platform.sent.length === 1) {
      void platform.ring(loop);
      await runMicrotasks();
    }
    await platform.answer("delivered", 250);
    expect(platform.sent[1]?.delivery.startedAt).toBe(second);
    expect(platform.stored?.publication.version).toBe(0);
    platform.isIndexDown = false;
    await platform.ring(loop);
    expectInStep();
    expect(platform.alarm).toBe(second + 250 + POLICY.retentionMs);
  });

  it("is asked every 6 hours in the end, and never keeps a record longer than it is kept", async () => {
    loop.apply(finish);
    await platform.answer("delivered", 250);
    for (let i = 0; i < 14; i++) await platform.ring(loop);
    const { clock } = platform;
    await platform.ring(loop);
    expect(platform.clock - clock).toBe(6 * HOUR);
    await platform.ring(loop, POLICY.retentionMs + HOUR);
    expect([platform.stored, platform.alarm]).toEqual([null, null]);
  });
});

describe("an order to write the row again", () => {
  it("of a settled task is followed at once", async () => {
    loop.apply(finish);
    await platform.answer("delivered", 250);
    loop.apply({ type: "republish" });
    await runMicrotasks();
    expect(platform.published).toHaveLength(2);
    expect(platform.published[1]).toEqual(platform.published[0]);
    expectInStep();
  });
});
