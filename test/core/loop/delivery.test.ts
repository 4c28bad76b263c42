import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { TaskEvent } from "../../../src/core/events/event.ts";
import { runMicrotasks } from "../../simulation/microtasks.ts";
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
  CONNECTION,
  DAY,
  FIRST_WAIT,
  LIMITS,
  NOW,
  POLICY,
  PROCESSING,
  SECOND,
  SECOND_WAIT,
  runningSince,
} from "../builders.ts";
import {
  aHook,
  anAttachment,
  aProvidedRegistration,
  JOB,
  newsAnswer,
} from "../upstream-builders.ts";
import { MemoryHost, WATCHDOG_MS } from "./memory-host.ts";

const finish = aReport(aCompletion(), aCreation());
const COMMIT = ["put", "alarm"];
const WAITS = { hookWaitMs: 60 * SECOND, gapMs: 0, maxAgeMs: null };
/** Policy of a relay whose provider is expected to send hooks. */
const HOOKED = aPolicy({
  polls: new Map([[CONNECTION, { ...LIMITS, ...WAITS, isTaskNamed: true }]]),
});

let host: MemoryHost;

beforeEach(() => {
  host = new MemoryHost();
});

afterEach(() => host.expectNoFailure());

describe("a task from its first event to its end", () => {
  it("a task that ends stores the start of its first callback attempt in the same commit, and sends this attempt at once", () => {
    host.loop.apply(finish);
    expect(callbackOf(host.stored).state).toEqual(runningSince(NOW));
    expect([host.writes, host.numbers]).toEqual([COMMIT, [1]]);
    expect(host.alarm).toBe(NOW + WATCHDOG_MS);
  });

  it("a task whose receiver fails makes three attempts at their exact times and is erased at the end of its retention", async () => {
    host.loop.apply(finish);
    await host.answer("rejected", 2 * SECOND);
    const second = NOW + 2 * SECOND + FIRST_WAIT;
    expect(host.alarm).toBe(second);
    await host.ringAndAnswer("unreachable", 3 * SECOND);
    const third = second + 3 * SECOND + SECOND_WAIT;
    expect(host.alarm).toBe(third);
    await host.ringAndAnswer("timeout", 10 * SECOND);
    expect(callbackOf(host.stored).state).toEqual({ kind: "failed" });
    expect(host.sent.map(({ startedAt }) => startedAt)).toEqual([NOW, second, third]);
    expect(host.alarm).toBe(third + 10 * SECOND + POLICY.retentionMs);
    await host.ring();
    expect([host.stored, host.alarm, host.numbers]).toEqual([null, null, [1, 2, 3]]);
  });

  it.each<[string, TaskEvent[], isIndexed: boolean, writes: string[]]>([
    ["two when an event created the task", [finish], false, [...COMMIT, ...COMMIT]],
    [
      "three when the task was registered first",
      [aRegistration(), aReport()],
      false,
      [...COMMIT, ...COMMIT, ...COMMIT],
    ],
    [
      "two when an event created the task and the index is enabled",
      [finish],
      true,
      [...COMMIT, "put", "alarm"],
    ],
  ])(
    "a task whose first callback attempt is delivered needs one storage commit for each event, one for the attempt, and none for its index row: %s",
    async (_what, events, isIndexed, writes) => {
      host.policyAt = () => aPolicy({ isIndexed });
      for (const event of events) host.loop.apply(event);
      await host.answer("delivered", 250);
      await host.ring();
      expect(host.writes).toEqual([...writes, "erase"]);
    },
  );

  it("an event that is refused or merely repeated writes nothing to the storage", () => {
    host.loop.apply(aReport());
    host.loop.apply(aRedelivery());
    expect(host.writes).toEqual([]);
    host.loop.apply(finish);
    host.loop.apply(finish);
    host.loop.apply(aReport(aFailure()));
    host.loop.apply(aRedelivery());
    expect([host.writes, host.numbers]).toEqual([COMMIT, [1]]);
  });
});

describe("the alarm of a task", () => {
  it("an alarm that fires 7 ms before a planned callback attempt sends the attempt at its planned time, then sets the alarm of the next attempt", async () => {
    host.loop.apply(finish);
    await host.answer("rejected");
    const rung = host.ring(-7);
    await runMicrotasks();
    expect(host.clock).toBe(NOW + FIRST_WAIT - 7);
    expect(host.sent[1]?.startedAt).toBe(NOW + FIRST_WAIT);
    await host.answer("rejected");
    await rung;
    expect(host.alarm).toBe(NOW + FIRST_WAIT + SECOND_WAIT);
  });

  it("a deadline more than 29 days ahead is reached by several alarms one after another, none of which writes the task's record", async () => {
    host.loop.apply(aRegistration({ deadlineAt: NOW + 100 * DAY }));
    for (const days of [29, 58, 87]) {
      expect(host.alarm).toBe(NOW + days * DAY);
      await host.ring();
    }
    expect(host.alarm).toBe(NOW + 100 * DAY);
    expect(host.writes).toEqual([...COMMIT, "alarm", "alarm", "alarm"]);
    await host.ringAndAnswer("delivered");
    expect(host.stored?.status).toBe("failed");
  });

  it("when a hook postpones a task's next poll, the alarm stays; when it fires, no poll is made, and it is set for the later time, even by a new instance of the task's object", async () => {
    host.policyAt = () => HOOKED;
    host.loop.apply(aProvidedRegistration());
    host.loop.apply(anAttachment(JOB, CONNECTION, true));
    const alarm = host.alarm ?? NaN;
    host.writes.length = 0;
    host.clock = alarm - SECOND;
    host.loop.apply(aHook(PROCESSING));
    expect([host.writes, host.alarm]).toEqual([["put"], alarm]);
    host.restart();
    await host.ring();
    expect([host.writes, host.polls]).toEqual([["put", "alarm"], []]);
    expect(host.alarm).toBe(alarm - SECOND + 120 * SECOND);
    void host.ring();
    await runMicrotasks();
    expect(host.polls).toHaveLength(1);
    await host.answerPoll(newsAnswer(aCompletion()));
    await host.answer("delivered");
  });

  it("a paused relay sets the task's alarm again each minute and sends the callback attempt after the pause", async () => {
    host.policyAt = (now) => aPolicy({ pausedAt: now });
    host.loop.apply(finish);
    for (const looks of [1, 2, 3]) {
      expect(host.alarm).toBe(NOW + looks * 60 * SECOND);
      await host.ring();
    }
    expect(host.numbers).toEqual([]);
    expect(host.writes).toEqual([...COMMIT, "alarm", "alarm", "alarm"]);
    host.policyAt = () => POLICY;
    await host.ringAndAnswer("delivered", 250);
    const attempt = anAttempt({ startedAt: NOW + 240 * SECOND, statusCode: null });
    expect(callbackOf(host.stored).attempts).toEqual([attempt]);
  });
});
