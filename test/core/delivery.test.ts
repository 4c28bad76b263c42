import { describe, expect, it } from "vitest";
import type { CallbackState } from "../../src/core/record/callback.ts";
import type { TaskEvent } from "../../src/core/events/event.ts";
import { OUTCOMES } from "../../src/core/record/outcome.ts";
import { nextStep, wakeAt } from "../../src/core/step.ts";
import { transition } from "../../src/core/transition.ts";
import {
  aCompletion,
  aCreation,
  anEnd,
  anEndAs,
  aPolicy,
  aReport,
  callbackAfter,
  type Happening,
  MINUTE,
  NOW,
  POLICY,
  SECOND,
  taskAfter,
} from "./builders.ts";

const start: TaskEvent = { type: "attempt_started" };
const report = aReport(aCompletion(), aCreation());
const finish: Happening = [0, report];

// Attempt 1 ends after 2 s, attempt 2 after 10 s; each next one counts from there.
const SECOND_AT = 2 * SECOND + 180_000;
const THIRD_AT = SECOND_AT + 10 * SECOND + 600_000;
const untilSecond: Happening[] = [finish, [2 * SECOND, anEnd(1)]];
const untilThird: Happening[] = [
  ...untilSecond,
  [SECOND_AT, start],
  [SECOND_AT + 10 * SECOND, anEnd(2)],
];
const untilFailed: Happening[] = [...untilThird, [THIRD_AT, start], [THIRD_AT + SECOND, anEnd(3)]];

function stateAfter(...happenings: Happening[]): CallbackState {
  return callbackAfter(...happenings).state;
}

describe("an automatic series", () => {
  it("opens its first attempt with the terminal event", () => {
    expect(stateAfter(finish)).toEqual({ kind: "in_flight", number: 1, startedAt: NOW });
  });

  it("plans the second attempt 180,000 ms after the end of the first", () => {
    expect(stateAfter(...untilSecond)).toEqual({ kind: "due", nextAttemptAt: NOW + SECOND_AT });
  });

  it("plans the third attempt 600,000 ms after the end of the second", () => {
    expect(stateAfter(...untilThird)).toEqual({ kind: "due", nextAttemptAt: NOW + THIRD_AT });
  });

  it("fails after the third and has no fourth", () => {
    const record = taskAfter(...untilFailed);
    expect(stateAfter(...untilFailed)).toEqual({ kind: "failed" });
    expect(transition(record, start, POLICY, NOW + 365 * 24 * 60 * MINUTE)).toEqual({
      kind: "unchanged",
      record,
    });
  });

  it("keeps a record of each attempt", () => {
    const ended = { series: 1, outcome: "rejected", statusCode: 500, responseExcerpt: null };
    expect(callbackAfter(...untilFailed)).toMatchObject({
      lastNumber: 3,
      series: { number: 1, started: 3, ordered: null },
      deliveredAt: null,
      attempts: [
        { ...ended, number: 1, startedAt: NOW, durationMs: 2 * SECOND },
        { ...ended, number: 2, startedAt: NOW + SECOND_AT, durationMs: 10 * SECOND },
        { ...ended, number: 3, startedAt: NOW + THIRD_AT, durationMs: SECOND },
      ],
    });
  });

  it("counts a late start from its own end", () => {
    const late = SECOND_AT + 7 * MINUTE;
    const state = stateAfter(...untilSecond, [late, start], [late + 1, anEnd(2)]);
    expect(state).toEqual({ kind: "due", nextAttemptAt: NOW + late + 1 + 600_000 });
  });

  it("does not start an attempt one millisecond early", () => {
    const record = taskAfter(...untilSecond);
    expect(transition(record, start, POLICY, NOW + SECOND_AT - 1)).toEqual({
      kind: "unchanged",
      record,
    });
    expect(transition(record, start, POLICY, NOW + SECOND_AT).kind).toBe("changed");
  });

  it("does not start an attempt while one is open", () => {
    const record = taskAfter(finish);
    expect(transition(record, start, POLICY, NOW + MINUTE)).toEqual({ kind: "unchanged", record });
  });

  it("keeps what the receiver answered", () => {
    const end = anEnd(1, { outcome: "timeout", statusCode: 524, responseExcerpt: "busy" });
    expect(callbackAfter(finish, [5, end]).attempts).toEqual([
      {
        number: 1,
        series: 1,
        startedAt: NOW,
        durationMs: 5,
        outcome: "timeout",
        statusCode: 524,
        responseExcerpt: "busy",
      },
    ]);
  });

  it("takes an attempt that ends before it began for one of no length", () => {
    const callback = callbackAfter(finish, [-MINUTE, anEnd(1)]);
    expect(callback.attempts[0]?.durationMs).toBe(0);
    expect(callback.state).toEqual({ kind: "due", nextAttemptAt: NOW + 180_000 });
  });
});

describe("the end of an attempt", () => {
  it.each([1, 2, 3])("stops the series when attempt %i is delivered", (n) => {
    const before = [[finish], untilSecond, untilThird][n - 1] ?? [];
    const began: Happening[] = n === 1 ? [] : [[THIRD_AT, start]];
    const at = THIRD_AT + SECOND;
    const callback = callbackAfter(...before, ...began, [at, anEndAs(n, "delivered")]);
    expect(callback).toMatchObject({ state: { kind: "delivered" }, deliveredAt: NOW + at });
    expect(callback.attempts).toHaveLength(n);
  });

  const failures = OUTCOMES.filter((outcome) => outcome !== "delivered");

  it.each(failures)("counts %s and goes on", (outcome) => {
    expect(stateAfter(finish, [SECOND, anEndAs(1, outcome)])).toEqual({
      kind: "due",
      nextAttemptAt: NOW + SECOND + 180_000,
    });
  });

  it.each(failures)("counts %s as the last attempt too", (outcome) => {
    const state = stateAfter(...untilThird, [THIRD_AT, start], [THIRD_AT, anEndAs(3, outcome)]);
    expect(state).toEqual({ kind: "failed" });
  });

  it.each([
    ["of a closed attempt", untilSecond, 1],
    ["of an attempt that is not the open one", [...untilSecond, [SECOND_AT, start]], 1],
    ["of an attempt that never was", [finish], 2],
    ["after the end of the series", untilFailed, 3],
  ] satisfies [string, Happening[], number][])(
    "%s changes nothing",
    (_what, happenings, number) => {
      const record = taskAfter(...happenings);
      const end = anEndAs(number, "delivered");
      expect(transition(record, end, POLICY, NOW + THIRD_AT)).toEqual({
        kind: "unchanged",
        record,
      });
    },
  );

  it("of a task without a callback changes nothing", () => {
    const record = taskAfter([0, aReport(aCompletion(), aCreation({ callbackUrl: null }))]);
    for (const event of [anEndAs(1, "delivered"), start]) {
      expect(transition(record, event, POLICY, NOW)).toEqual({ kind: "unchanged", record });
      expect(transition(null, event, POLICY, NOW)).toEqual({ kind: "unchanged", record: null });
    }
  });
});

describe("another schedule", () => {
  it("with a first wait opens nothing before its time", () => {
    const patient = aPolicy({ scheduleMs: [5 * SECOND, MINUTE] });
    const state = stateAfter([0, report, patient]);
    expect(state).toEqual({ kind: "due", nextAttemptAt: NOW + 5 * SECOND });
  });

  it("leaves the attempt that is planned already where it is", () => {
    const record = taskAfter(...untilSecond);
    const hasty = aPolicy({ scheduleMs: [0, 1, 1] });
    expect(record && wakeAt(record, hasty)).toBe(NOW + SECOND_AT);
    expect(transition(record, start, hasty, NOW + SECOND_AT - 1).kind).toBe("unchanged");
  });

  it("counts for the attempts after it", () => {
    const hasty = aPolicy({ scheduleMs: [0, 1, 2] });
    const state = stateAfter(...untilSecond, [SECOND_AT, start], [SECOND_AT, anEnd(2), hasty]);
    expect(state).toEqual({ kind: "due", nextAttemptAt: NOW + SECOND_AT + 2 });
  });

  it("may end the series sooner", () => {
    const short = aPolicy({ scheduleMs: [0] });
    expect(stateAfter(finish, [SECOND, anEnd(1), short])).toEqual({ kind: "failed" });
  });

  it("may prolong it while it runs, but not revive it", () => {
    const long = aPolicy({ scheduleMs: [0, 0, 0, MINUTE] });
    const last: Happening = [THIRD_AT, anEnd(3), long];
    expect(stateAfter(...untilThird, [THIRD_AT, start], last)).toEqual({
      kind: "due",
      nextAttemptAt: NOW + THIRD_AT + MINUTE,
    });
    const record = taskAfter(...untilFailed);
    expect(transition(record, start, long, NOW + THIRD_AT * 2)).toEqual({
      kind: "unchanged",
      record,
    });
  });
});

describe("while the relay is paused", () => {
  const until = NOW + 90 * SECOND;
  const paused = aPolicy({ pausedUntil: until });

  it("a terminal event opens no attempt, and the task wakes when the pause may end", () => {
    const record = taskAfter([0, report, paused]);
    expect(record && stateAfter([0, report, paused])).toEqual({ kind: "due", nextAttemptAt: NOW });
    expect(record && wakeAt(record, paused)).toBe(until);
    expect(record && nextStep(record, paused, until - 1)).toBeNull();
  });

  it("a due attempt is not started and not counted", () => {
    const record = taskAfter([0, report, paused]);
    expect(transition(record, start, paused, until - 1)).toEqual({ kind: "unchanged", record });
    expect(callbackAfter([0, report, paused])).toMatchObject({
      lastNumber: 0,
      series: { started: 0 },
      attempts: [],
    });
  });

  it("the end of an attempt is recorded, and the next keeps its own time", () => {
    const state = stateAfter(finish, [SECOND, anEnd(1), paused]);
    expect(state).toEqual({ kind: "due", nextAttemptAt: NOW + SECOND + 180_000 });
  });

  it("an attempt that is due after the hold keeps its own time", () => {
    const record = taskAfter(...untilSecond);
    expect(record && wakeAt(record, paused)).toBe(NOW + SECOND_AT);
  });

  it("the series goes on as if nothing had been, once it is over", () => {
    const held: Happening = [0, report, paused];
    expect(stateAfter(held, [90 * SECOND, start])).toMatchObject({ number: 1 });
    expect(stateAfter(held, [90 * SECOND, start], [91 * SECOND, anEnd(1)])).toEqual({
      kind: "due",
      nextAttemptAt: NOW + 91 * SECOND + 180_000,
    });
  });
});
