import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { WorkLoop } from "../../../src/task/work-loop.ts";
import {
  aCompletion,
  aCreation,
  aFailure,
  anAttempt,
  aPolicy,
  aRedelivery,
  aRegistration,
  aReport,
  callbackOf,
  DAY,
  FIRST_WAIT,
  HOUR,
  ID,
  NOW,
  POLICY,
  PROCESSING,
  SECOND,
  SECOND_WAIT,
} from "../builders.ts";
import { runMicrotasks } from "../../simulation/microtasks.ts";
import { MemoryHost } from "./memory-host.ts";

const finish = aReport(aCompletion(), aCreation());
const WATCHDOG = 15_000;
const RETENTION = POLICY.retentionMs;

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

function stateNow() {
  return callbackOf(platform.stored).state;
}

describe("the first attempt", () => {
  it("is opened in the commit of the terminal event, and sent before that turn ends", () => {
    loop.apply(finish);
    expect(stateNow()).toEqual({ kind: "in_flight", number: 1, startedAt: NOW });
    expect(platform.writes).toEqual(["put", "alarm"]);
    expect(platform.numbers).toEqual([1]);
  });

  it("is sent by the event that finishes a registered task too", () => {
    loop.apply(aRegistration());
    loop.apply(aReport(PROCESSING));
    expect(platform.numbers).toEqual([]);
    loop.apply(aReport(aFailure()));
    expect(platform.numbers).toEqual([1]);
  });

  it("is sent when the deadline passes, before the alarm's handler returns", async () => {
    loop.apply(aRegistration());
    expect(platform.alarm).toBe(NOW + 72 * HOUR);
    const rung = platform.ring(loop);
    await runMicrotasks();
    expect(platform.stored?.status).toBe("failed");
    expect(platform.numbers).toEqual([1]);
    await platform.answer("delivered");
    await rung;
    expect(stateNow()).toEqual({ kind: "delivered" });
  });

  it("carries what the record says, and its end is logged", async () => {
    loop.apply(finish);
    expect(platform.sent[0]?.delivery).toMatchObject({ taskId: ID, number: 1, startedAt: NOW });
    await platform.answer("timeout", 10_000);
    expect(platform.logs).toEqual([
      {
        event: "callback.attempt",
        task_id: ID,
        number: 1,
        outcome: "timeout",
        status_code: null,
        duration_ms: 10_000,
        recorded: true,
      },
    ]);
  });
});

describe("a whole life", () => {
  it("makes three attempts at their exact times, and then is erased", async () => {
    loop.apply(finish);
    await platform.answer("rejected", 2 * SECOND);
    const second = NOW + 2 * SECOND + FIRST_WAIT;
    expect(platform.alarm).toBe(second);

    const rung = platform.ring(loop);
    await platform.answer("unreachable", 3 * SECOND);
    await rung;
    const third = second + 3 * SECOND + SECOND_WAIT;
    expect(platform.alarm).toBe(third);

    const last = platform.ring(loop);
    await platform.answer("timeout", 10 * SECOND);
    await last;
    expect(stateNow()).toEqual({ kind: "failed" });
    expect(platform.sent.map(({ delivery }) => delivery.startedAt)).toEqual([NOW, second, third]);
    expect(platform.alarm).toBe(third + 10 * SECOND + RETENTION);

    await platform.ring(loop);
    expect([platform.stored, platform.alarm]).toEqual([null, null]);
    expect(platform.numbers).toEqual([1, 2, 3]);
  });

  it("of a task that an event creates and one attempt delivers costs two commits and an erasure", async () => {
    loop.apply(finish);
    await platform.answer("delivered", 250);
    await platform.ring(loop);
    expect(platform.writes).toEqual(["put", "alarm", "put", "alarm", "erase"]);
  });

  it("of a registered task costs one commit more", async () => {
    loop.apply(aRegistration());
    loop.apply(aReport());
    await platform.answer("delivered", 250);
    await platform.ring(loop);
    expect(platform.writes.filter((what) => what === "put")).toHaveLength(3);
    expect(platform.writes.filter((what) => what === "alarm")).toHaveLength(3);
  });
});

describe("the alarm", () => {
  it("is a watchdog while the loop runs, and the record's own time when it sleeps", async () => {
    loop.apply(finish);
    expect(platform.alarm).toBe(NOW + WATCHDOG);
    await platform.answer("delivered", 250);
    expect(platform.alarm).toBe(NOW + 250 + RETENTION);
  });

  it("is a watchdog from the commit that opens a later attempt", async () => {
    loop.apply(finish);
    await platform.answer("rejected");
    const rung = platform.ring(loop);
    await runMicrotasks();
    expect(platform.alarm).toBe(NOW + FIRST_WAIT + WATCHDOG);
    await platform.answer("delivered");
    await rung;
    expect(platform.alarm).toBe(NOW + FIRST_WAIT + RETENTION);
  });

  it("that fires early sends at its time, and the next is later than it", async () => {
    loop.apply(finish);
    await platform.answer("rejected");
    const rung = platform.ring(loop, -7);
    await runMicrotasks();
    expect(platform.clock).toBe(NOW + FIRST_WAIT - 7);
    expect(platform.sent[1]?.delivery.startedAt).toBe(NOW + FIRST_WAIT);
    await platform.answer("rejected");
    await rung;
    expect(platform.alarm).toBe(NOW + FIRST_WAIT + SECOND_WAIT);
  });

  it("reaches a time further than 29 days away in hops that write no record", async () => {
    loop.apply(aRegistration({ deadlineAt: NOW + 100 * DAY }));
    for (const days of [29, 58, 87]) {
      expect(platform.alarm).toBe(NOW + days * DAY);
      await platform.ring(loop);
    }
    expect(platform.alarm).toBe(NOW + 100 * DAY);
    expect(platform.writes).toEqual(["put", "alarm", "alarm", "alarm", "alarm"]);
    void platform.ring(loop);
    await runMicrotasks();
    expect(platform.stored?.status).toBe("failed");
  });

  it("is moved by a commit that changes when to wake", () => {
    loop.apply(aRegistration());
    expect(platform.alarm).toBe(NOW + 72 * HOUR);
    platform.policyAt = () => aPolicy({ scheduleMs: [HOUR] });
    loop.apply(aReport());
    expect(platform.alarm).toBe(NOW + HOUR);
    expect(platform.numbers).toEqual([]);
  });

  it("of an id that nobody knows does nothing", async () => {
    await loop.wake(NOW);
    expect(platform.writes).toEqual([]);
  });
});

describe("what changes nothing", () => {
  it("writes nothing", () => {
    loop.apply(aReport());
    loop.apply(aRedelivery());
    expect(platform.writes).toEqual([]);
    loop.apply(aRegistration());
    loop.apply(aRegistration());
    loop.apply(aRedelivery());
    expect(platform.writes).toEqual(["put", "alarm"]);
  });

  it("sends nothing while an attempt is on its way", async () => {
    loop.apply(finish);
    loop.apply(finish);
    loop.apply(aReport(aFailure()));
    loop.apply(aRedelivery());
    await runMicrotasks();
    expect(platform.numbers).toEqual([1]);
    expect(platform.writes).toEqual(["put", "alarm"]);
  });
});

describe("while the relay is paused", () => {
  it("nothing is sent, the alarm looks again, and afterwards it goes on", async () => {
    platform.policyAt = (now) => aPolicy({ pausedUntil: now + 70 * SECOND });
    loop.apply(finish);
    for (const looks of [1, 2, 3]) {
      expect(platform.alarm).toBe(NOW + looks * 70 * SECOND);
      await platform.ring(loop);
    }
    expect(platform.numbers).toEqual([]);
    expect(platform.writes.filter((what) => what === "put")).toHaveLength(1);

    platform.policyAt = () => POLICY;
    const rung = platform.ring(loop);
    await platform.answer("delivered", 250);
    await rung;
    const startedAt = NOW + 280 * SECOND;
    expect(callbackOf(platform.stored).attempts).toEqual([
      anAttempt({ startedAt, statusCode: null }),
    ]);
  });

  it("deadlines and expiry go on", async () => {
    platform.policyAt = (now) => aPolicy({ pausedUntil: now + 70 * SECOND });
    loop.apply(aRegistration({ callbackUrl: null }));
    await platform.ring(loop);
    expect(platform.stored?.status).toBe("failed");
    await platform.ring(loop);
    expect(platform.stored).toBeNull();
  });
});
