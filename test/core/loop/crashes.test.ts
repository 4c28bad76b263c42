import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { noticeOf } from "../../../src/core/record/operator-notice.ts";
import { runMicrotasks } from "../../simulation/microtasks.ts";
import {
  aCallback,
  aCompletion,
  aCreation,
  aFinishedTask,
  anAttempt,
  aPolicy,
  aRegistration,
  aReport,
  callbackOf,
  finished,
  FIRST_WAIT,
  HOUR,
  MINUTE,
  NOW,
  SECOND,
} from "../builders.ts";
import { MemoryHost, type Operation, WATCHDOG_MS } from "./memory-host.ts";

const finish = aReport(aCompletion(), aCreation());
const INTERRUPTED = anAttempt({
  durationMs: WATCHDOG_MS,
  outcome: "interrupted",
  statusCode: null,
});
const ONCE = aPolicy({ scheduleMs: [0] });

let host: MemoryHost;

beforeEach(() => {
  host = new MemoryHost();
});

afterEach(() => {
  expect(host.badAlarms).toEqual([]);
});

function breakOnly(...operations: readonly Operation[]): void {
  host.isBroken = (operation) => operations.includes(operation);
}

describe("a callback attempt that was in flight at a crash", () => {
  it("a callback attempt that a crash cuts off is recorded as interrupted, counts as an attempt of its series, and is followed by the next after 5 s", async () => {
    host.loop.apply(finish);
    host.crash();
    await host.ring();
    expect(host.numbers).toEqual([1]);
    expect(callbackOf(host.stored)).toMatchObject({
      attempts: [INTERRUPTED],
      series: { started: 1 },
      state: { kind: "due", nextAttemptAt: NOW + WATCHDOG_MS + 5 * SECOND },
    });
    expect(host.alarm).toBe(NOW + WATCHDOG_MS + 5 * SECOND);
    await host.ringAndAnswer("delivered");
    expect(host.numbers).toEqual([1, 2]);
  });
});

describe("a callback attempt whose receiver is slow", () => {
  const WAITING = { writes: ["put", "alarm"], alarm: NOW + WATCHDOG_MS };

  it("the task's object does not wait for it: nothing is done and written until its sender reports the end, which is then stored with its own time", async () => {
    host.policyAt = () => aPolicy({ isIndexed: true });
    host.loop.apply(finish);
    const sender = await host.defer();
    expect(host).toMatchObject(WAITING);
    host.outside.endSending(sender, "rejected");
    await host.report(sender, "rejected", 3 * SECOND);
    const attempt = { number: 1, startedAt: NOW, durationMs: 0, outcome: "rejected" };
    const state = { kind: "due", nextAttemptAt: NOW + FIRST_WAIT };
    expect(callbackOf(host.stored)).toMatchObject({ attempts: [attempt], state });
    expect(host.logs).toMatchObject([
      { event: "callback.attempt", outcome: "rejected", duration_ms: 0, recorded: true },
    ]);
  });

  it("the end of the attempt is taken from its sender by another instance of the task's object", async () => {
    host.loop.apply(finish);
    const sender = await host.defer();
    host.crash();
    await host.report(sender, "rejected", 9 * SECOND);
    expect(host.alarm).toBe(NOW + 9 * SECOND + FIRST_WAIT);
    await host.ringAndAnswer("delivered");
    expect([host.numbers, callbackOf(host.stored).attempts]).toMatchObject([
      [1, 2],
      [{ durationMs: 9 * SECOND }, { outcome: "delivered" }],
    ]);
  });

  it("the attempt counts as interrupted when the watchdog alarm fires before its end is reported, and not at an earlier event", async () => {
    host.loop.apply(finish);
    const sender = await host.defer();
    host.restart();
    host.clock += WATCHDOG_MS - 1;
    host.loop.resume();
    await runMicrotasks();
    expect(callbackOf(host.stored).attempts).toEqual([]);
    await host.ring();
    const { stored } = host;
    expect(callbackOf(stored).attempts).toEqual([INTERRUPTED]);
    await host.report(sender, "delivered");
    expect([host.stored, host.numbers]).toEqual([stored, [1]]);
    expect(host.logs).toMatchObject([
      { number: 1, outcome: "interrupted", duration_ms: WATCHDOG_MS, recorded: true },
      { number: 1, outcome: "delivered", recorded: false },
    ]);
  });

  it("an end that is reported again changes nothing and is not logged again", async () => {
    host.loop.apply(finish);
    const sender = await host.defer();
    await host.report(sender, "delivered", SECOND);
    const { stored, writes } = host;
    const before = writes.length;
    await host.report(sender, "delivered", SECOND);
    expect([host.stored, writes.length]).toEqual([stored, before]);
    expect(host.logs.filter(({ event }) => event === "callback.attempt")).toHaveLength(1);
  });

  it("the end of an attempt of a task that was erased changes neither a later task with its id nor the attempt with its number, and is logged", async () => {
    host.policyAt = () => ONCE;
    host.loop.apply(finish);
    const sender = await host.defer();
    await host.ring();
    await host.loop.applyAndErase({ type: "erase" });
    await host.report(sender, "delivered");
    expect(host.stored).toBeNull();
    host.loop.apply(finish);
    const later = await host.defer();
    const { stored } = host;
    await host.report(sender, "delivered", SECOND);
    expect(host.stored).toEqual(stored);
    await host.report(later, "rejected");
    expect(callbackOf(host.stored).attempts).toMatchObject([{ outcome: "rejected" }]);
    const late = { outcome: "delivered", recorded: false };
    const ends = [{ outcome: "interrupted", recorded: true }, late, late];
    const lines = host.logs.filter(({ event }) => event === "callback.attempt");
    expect(lines).toMatchObject([...ends, { outcome: "rejected", recorded: true }]);
  });
});

it.each([
  [5_500, ["sendNotice"]],
  [5_499, []],
])(
  "when the alarm of a task with an overdue operator event fires only %i ms before a callback attempt, the calls made before this attempt are %j, so that none delays it",
  async (clearanceMs, made) => {
    const attemptAt = NOW + HOUR;
    const state = { kind: "due", nextAttemptAt: attemptAt } as const;
    const waiting = aFinishedTask({ callback: aCallback({ state }) });
    const notices = [noticeOf("callback.failed", NOW, NOW)];
    host.policyAt = () => aPolicy({ isOperatorNotified: true });
    host.endings = {};
    host.commit({ ...waiting, notices }, attemptAt - clearanceMs);
    void host.ring();
    await runMicrotasks();
    expect(host.outside.openCalls.map(({ what }) => what)).toEqual(made);
    if (made.length === 0) expect(host.alarm).toBe(attemptAt);
  },
);

it.each([
  [5_500, ["sendNotice"]],
  [5_499, []],
])(
  "when a task has an overdue operator event and two of its callback attempts are %i ms apart, the calls made between them are %j, so that none delays the second attempt",
  async (waitMs, made) => {
    host.policyAt = () => aPolicy({ isOperatorNotified: true, scheduleMs: [0, waitMs] });
    host.endings = {};
    const opened = finished(host.loop.apply(finish));
    host.commit({ ...opened, notices: [noticeOf("callback.failed", NOW, NOW)] }, NOW + WATCHDOG_MS);
    await host.answer("rejected", SECOND);
    expect(host.outside.openCalls.map(({ what }) => what)).toEqual(made);
    if (made.length === 0) expect(host.alarm).toBe(NOW + SECOND + waitMs);
  },
);

it("the next event about a task sets its lost alarm again, even if an order to wake the task has failed to set the alarm before", () => {
  host.loop.apply(aRegistration());
  const { alarm } = host;
  host.restart();
  host.alarm = null;
  breakOnly("alarm");
  expect(() => host.loop.resume()).toThrow("alarm is broken");
  breakOnly();
  host.loop.apply(aReport({ status: "processing" }));
  expect(host.alarm).toBe(alarm);
});

it("an order to wake a task sets its lost alarm again and does not change its record", () => {
  expect(host.loop.resume()).toBe(false);
  host.loop.apply(aRegistration());
  const { alarm, stored } = host;
  host.alarm = null;
  expect(host.loop.resume()).toBe(true);
  expect(host).toMatchObject({ alarm, stored });
});

describe.each<[Operation, what: string]>([
  ["load", "in loading the task's record"],
  ["policy", "in reading the configuration"],
  ["commit", "in storing the task's record"],
])("an error in %s", (operation, what) => {
  it(`an error ${what} while an event is applied reaches the sender of the event, and nothing is written`, () => {
    breakOnly(operation);
    expect(() => host.loop.apply(finish)).toThrow(`${operation} is broken`);
    expect([host.stored, host.numbers, host.writes]).toEqual([null, [], []]);
  });

  it(`an error ${what} makes the alarm handler throw before it starts a callback attempt, and the next alarm sends the attempt`, async () => {
    host.loop.apply(finish);
    await host.answer("rejected");
    const { stored } = host;
    breakOnly(operation);
    await expect(host.ring()).rejects.toThrow(`${operation} is broken`);
    expect([host.stored, host.numbers]).toEqual([stored, [1]]);
    expect(host.alarm).toBe(NOW + FIRST_WAIT + MINUTE);
    breakOnly();
    await host.ringAndAnswer("delivered");
    expect(host.numbers).toEqual([1, 2]);
    expect(callbackOf(host.stored).state).toEqual({ kind: "delivered" });
  });

  it(`when an error ${what} loses the result of a callback attempt, the attempt is not sent again, and the next alarm records it as interrupted`, async () => {
    host.policyAt = () => ONCE;
    host.loop.apply(finish);
    await runMicrotasks();
    breakOnly(operation);
    await host.answer("delivered");
    expect(host.failures).toEqual([new Error(`${operation} is broken`)]);
    expect(callbackOf(host.stored).state.kind).toBe("in_flight");
    expect(host.alarm).toBe(NOW + WATCHDOG_MS);
    breakOnly();
    await host.ring();
    expect(host.numbers).toEqual([1]);
    const expected = { attempts: [INTERRUPTED], state: { kind: "failed" } };
    expect(callbackOf(host.stored)).toMatchObject(expected);
  });
});

describe("an error before or after a callback attempt", () => {
  beforeEach(() => {
    host.policyAt = () => ONCE;
  });

  it("a callback attempt during which the relay's own code throws stays without a result until the next alarm records it as interrupted", async () => {
    breakOnly("send");
    host.loop.apply(finish);
    await runMicrotasks();
    expect(host.failures).toEqual([new Error("send is broken")]);
    breakOnly();
    await host.ring();
    expect(host.numbers).toEqual([]);
    expect(callbackOf(host.stored).attempts).toEqual([INTERRUPTED]);
  });

  it("when a task's due steps are in progress and one of them throws, an alarm handler that waits for their end throws the same error", async () => {
    host.loop.apply(finish);
    const rung = host.ring();
    breakOnly("commit");
    host.end("send");
    await expect(rung).rejects.toThrow("commit is broken");
  });

  it("when an error prevents a callback request after its attempt was stored as started, no later run sends it, and the watchdog alarm finds it interrupted", async () => {
    let loads = 0;
    host.isBroken = (operation) => operation === "load" && ++loads === 2;
    host.loop.apply(finish);
    await runMicrotasks();
    expect(host.failures).toEqual([new Error("load is broken")]);
    host.loop.resume();
    await host.ring();
    expect(host.numbers).toEqual([]);
    expect(callbackOf(host.stored).attempts).toEqual([INTERRUPTED]);
  });

  it("an event that comes after an alarm handler has failed sets the task's alarm again before the due steps of the task run", async () => {
    host.policyAt = () => aPolicy({ scheduleMs: [MINUTE] });
    host.loop.apply(finish);
    breakOnly("send");
    await expect(host.ring()).rejects.toThrow("send is broken");
    expect(host.alarm).toBe(NOW + 2 * MINUTE);
    host.writes.length = 0;
    host.loop.apply({ type: "rewrite_index_row", isAlwaysDue: true });
    expect(host.writes.slice(0, 2)).toEqual(["put", "alarm"]);
  });
});

describe("due steps that do not end", () => {
  it("when a fault makes a task find another due step without end, it stops after 100 steps, sends nothing and sets its alarm", async () => {
    host.policyAt = () => aPolicy({ scheduleMs: [MINUTE] });
    host.loop.apply(finish);
    host.isForgetful = true;
    await expect(host.ring()).rejects.toThrow("100 steps without an end");
    expect([host.numbers, host.alarm]).toEqual([[], NOW + 2 * MINUTE]);
  });
});
