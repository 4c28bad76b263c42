import { describe, expect, it } from "vitest";
import { hostLookWaitMs } from "../../src/core/backoff.ts";
import type { TaskEvent } from "../../src/core/events/event.ts";
import { readingNeeded } from "../../src/core/freshness.ts";
import { pauseEnd } from "../../src/core/plans/callback-attempt-plan.ts";
import { PAUSE_FRESHNESS } from "../../src/core/plans/host-pause.ts";
import type { Policy } from "../../src/core/policy.ts";
import { parseRecord } from "../../src/core/record/record-schema.ts";
import type { TaskRecord } from "../../src/core/record/task.ts";
import { nextStep, wakeAt } from "../../src/core/step.ts";
import { toSeconds } from "../../src/core/time.ts";
import { rowOf } from "../../src/core/views/index-row.ts";
import { taskFacts } from "../../src/core/views/task-facts.ts";
import { taskView } from "../../src/core/views/task-view.ts";
import {
  aCompletion,
  aCreation,
  anEnd,
  aPolicy,
  aRedelivery,
  aReport,
  callbackOf,
  DAY,
  HOUR,
  MINUTE,
  NOW,
  POLICY,
  SECOND,
  taskAfter,
  type TimedEvent,
  URL_A,
  URL_B,
} from "./builders.ts";
import { apply, expectRefused, expectUnchanged } from "./decisions.ts";

const HOST_A = "client.example.com";
const UNTIL = NOW + DAY;
const start: TaskEvent = { type: "attempt_started" };
const report = aReport(aCompletion(), aCreation());
const paused = pausing(UNTIL);
/** A task that has ended while its receiver's host was known to be paused. */
const resting = taskAfter([0, report, paused]);

function pausing(until: number, host = HOST_A, changes: Partial<Policy> = {}): Policy {
  return aPolicy({ pausedHosts: new Map([[host, until]]), ...changes });
}

function stateOf(record: TaskRecord | null) {
  return callbackOf(record).state;
}

function shown(record: TaskRecord | null) {
  if (record === null || record.status === "charging") throw new Error("expected a task");
  const { callback } = JSON.parse(taskView(record, "operator"));
  return { row: rowOf(record, POLICY), callback, facts: taskFacts(record, "operator", POLICY) };
}

it.each([
  ["has just become due", MINUTE, 0],
  ["has rested for 4 minutes", MINUTE, 4 * MINUTE],
  ["has rested for 8 minutes", 2 * MINUTE, 8 * MINUTE],
  ["has rested for 20 minutes", 5 * MINUTE, 20 * MINUTE],
  ["has rested for a day", 5 * MINUTE, DAY],
])(
  "a callback attempt to a paused host that %s looks again after a wait of %d ms or, at random, up to twice that",
  (_what, waitMs, ageMs) => {
    expect(hostLookWaitMs(ageMs, 0)).toBe(waitMs);
    expect(hostLookWaitMs(ageMs, 0.5)).toBe(1.5 * waitMs);
    expect(hostLookWaitMs(ageMs, 1)).toBe(2 * waitMs);
  },
);

it.each([
  ["its host is paused", URL_A, [HOST_A, UNTIL], UNTIL],
  [
    "its host with its port is paused",
    "https://a.example:8443/x",
    ["a.example:8443", UNTIL],
    UNTIL,
  ],
  ["another port of its host is paused", "https://a.example:8443/x", ["a.example", UNTIL], null],
  ["another host is paused", URL_B, [HOST_A, UNTIL], null],
  ["the pause ends at this moment", URL_A, [HOST_A, NOW], null],
  ["it goes to listeners, which are paused", "listen:", ["listen", UNTIL], UNTIL],
] as const)("the end of the pause of a callback is right where %s", (_what, url, pause, until) => {
  expect(pauseEnd(url, { pausedHosts: new Map([pause]) }, NOW)).toBe(until);
});

it.each([
  ["none", "less than 8 s", 8 * SECOND - 1],
  ["beside", "8 s", 8 * SECOND],
  ["beside", "less than 10 s", 10 * SECOND - 1],
  ["wait", "10 s, so that no attempt starts later than that after the order", 10 * SECOND],
] as const)(
  "the reading of the paused hosts that an attempt needs is %s when their list is as old as %s",
  (need, _age, ageMs) => {
    const times = { readAt: NOW - ageMs, failedAt: null };
    expect(readingNeeded(times, PAUSE_FRESHNESS, NOW)).toBe(need);
  },
);

describe("while the receiver's host is paused", () => {
  it("the callback of a task that ends starts no attempt, and rests until the next look at the pause", () => {
    expect(callbackOf(resting)).toMatchObject({ lastNumber: 0, series: { started: 0 } });
    const rest = { until: UNTIL, lookAt: NOW + MINUTE };
    expect(stateOf(resting)).toEqual({ kind: "due", nextAttemptAt: NOW, rest });
    expect(resting && wakeAt(resting, POLICY)).toBe(NOW + MINUTE);
    expect(resting && nextStep(resting, POLICY, NOW + MINUTE - 1)).toBeNull();
    expectUnchanged(resting, start, NOW + MINUTE - 1);
  });

  it("a planned attempt rests from the time for which it was planned, and keeps this time", () => {
    const retried = taskAfter([0, report], [SECOND, anEnd(1)]);
    const planned = stateOf(retried);
    if (planned.kind !== "due") throw new Error("expected a planned attempt");
    const at = planned.nextAttemptAt;
    expectUnchanged(retried, start, at - 1, paused);
    const rest = { until: UNTIL, lookAt: at + MINUTE };
    expect(stateOf(apply(retried, start, at, paused))).toEqual({ ...planned, rest });
  });

  it("a check that finds the host still paused changes only the time of the next check, which no reader sees", () => {
    const again = apply(resting, start, NOW + 8 * MINUTE, paused);
    const rest = { until: UNTIL, lookAt: NOW + 10 * MINUTE };
    expect(stateOf(again)).toMatchObject({ rest });
    expect(again.version).toBe(resting?.version);
    expect(shown(again)).toEqual(shown(resting));
  });

  it("a check that finds another end of the pause changes the task for readers", () => {
    const again = apply(resting, start, NOW + 8 * MINUTE, pausing(UNTIL + HOUR));
    expect(again.version).toBe(NOW + 8 * MINUTE);
    expect(shown(again).callback).toMatchObject({ paused_until: toSeconds(UNTIL + HOUR) });
  });

  it("an attempt that was started before the pause was known rests without having been counted, and its number is used later", () => {
    const opened = taskAfter([0, report]);
    expect(stateOf(opened)).toMatchObject({ kind: "in_flight", number: 1 });
    const rested = { type: "attempt_rested", number: 1, until: UNTIL } as const;
    const held = apply(opened, rested, NOW + 40);
    expect(callbackOf(held)).toMatchObject({ lastNumber: 0, series: { started: 0 }, attempts: [] });
    const rest = { until: UNTIL, lookAt: NOW + 40 + MINUTE };
    expect(stateOf(held)).toEqual({ kind: "due", nextAttemptAt: NOW, rest });
    expect(stateOf(apply(held, start, NOW + HOUR))).toMatchObject({ kind: "in_flight", number: 1 });
    expectUnchanged(opened, { ...rested, number: 2 });
    expectUnchanged(held, rested);
  });

  it("a task whose attempt rests is read as it was stored", () => {
    expect(resting && parseRecord(structuredClone(resting))).toEqual(resting);
  });

  it("the callback has the status paused and the end of the pause, and its row is overdue only ten minutes after it", () => {
    const { row, callback, facts } = shown(resting);
    expect(callback).toMatchObject({ status: "paused", paused_until: toSeconds(UNTIL) });
    expect(callback).not.toHaveProperty("next_attempt_at");
    expect(row).toMatchObject({ callback: "paused", attempts: 0, dueAt: UNTIL + 10 * MINUTE });
    expect(facts.callback).toMatchObject({ nextAttemptAt: null, pausedUntil: UNTIL });
  });

  it("while the relay is paused too, the next check of the host is made at the time of the next check of the relay's pause", () => {
    const policy = aPolicy({ pausedAt: NOW + HOUR });
    expect(resting && wakeAt(resting, policy)).toBe(NOW + HOUR + 15 * MINUTE);
  });
});

describe("after the pause", () => {
  it.each([
    ["has ended by itself", pausing(NOW + HOUR)],
    ["was ended by the operator", POLICY],
    ["has moved to another host", pausing(UNTIL, "repaired.example.com")],
  ])("a resting attempt starts at its next look when the pause %s", (_what, policy) => {
    const opened = apply(resting, start, NOW + HOUR, policy);
    expect(stateOf(opened)).toEqual({
      kind: "in_flight",
      number: 1,
      dueAt: NOW,
      startedAt: NOW + HOUR,
    });
  });

  it("an attempt that has rested and failed is followed by the next after the usual wait", () => {
    const opened = apply(resting, start, NOW + HOUR);
    const ended = apply(opened, anEnd(1), NOW + HOUR + SECOND);
    expect(stateOf(ended)).toEqual({ kind: "due", nextAttemptAt: NOW + HOUR + 181 * SECOND });
  });
});

describe("a redelivery to a paused host", () => {
  const failed: TimedEvent[] = [
    [0, report, aPolicy({ scheduleMs: [0] })],
    [SECOND, anEnd(1), aPolicy({ scheduleMs: [0] })],
  ];

  it("rests like every other attempt", () => {
    const ordered = taskAfter(...failed, [HOUR, aRedelivery(), paused]);
    const rest = { until: UNTIL, lookAt: NOW + HOUR + MINUTE };
    expect(stateOf(ordered)).toEqual({ kind: "due", nextAttemptAt: NOW + HOUR, rest });
    expect(callbackOf(ordered)).toMatchObject({ series: { number: 2, started: 0 } });
  });

  it("that is ordered while an attempt rests starts no further series, and is remembered by its key", () => {
    expectUnchanged(resting, aRedelivery(), NOW + HOUR);
    const order = aRedelivery({ idempotencyKey: "k" });
    const joined = apply(resting, order, NOW + HOUR);
    expect(stateOf(joined)).toEqual(stateOf(resting));
    expectUnchanged(joined, order, NOW + 2 * HOUR);
  });

  it("goes at once to another host to which it is ordered", () => {
    const at = NOW + SECOND;
    const joined = apply(resting, aRedelivery({ callbackUrl: URL_B }), at, paused);
    expect(callbackOf(joined)).toMatchObject({ url: URL_B, series: { number: 1 } });
    expect(nextStep(joined, paused, at)).toEqual({ kind: "event", event: start });
    expect(stateOf(apply(joined, start, at, paused))).toMatchObject({ kind: "in_flight" });
  });

  it("is refused while a planned attempt waits that is not due yet", () => {
    expectRefused(taskAfter([0, report], [SECOND, anEnd(1)]), aRedelivery(), "series_running");
  });
});
