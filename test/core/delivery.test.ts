import { describe, expect, it } from "vitest";
import { isEndStored, isRunning } from "../../src/core/duties/callback-attempt.ts";
import { type CallbackState, callbackStatus } from "../../src/core/record/callback.ts";
import type { TaskEvent } from "../../src/core/events/event.ts";
import { type Outcome, OUTCOMES } from "../../src/core/record/outcome.ts";
import type { TaskRecord } from "../../src/core/record/task.ts";
import { nextStep, wakeAt } from "../../src/core/step.ts";
import {
  aCompletion,
  aCreation,
  anEnd,
  anEndAs,
  aFinishedTask,
  anOpenTask,
  aPolicy,
  aRedelivery,
  aReport,
  callbackAfter,
  callbackOf,
  type TimedEvent,
  MINUTE,
  NOW,
  SECOND,
  taskAfter,
} from "./builders.ts";
import { apply, expectUnchanged } from "./decisions.ts";

const start: TaskEvent = { type: "attempt_started" };
const report = aReport(aCompletion(), aCreation());
const finish: TimedEvent = [0, report];

// Attempt 1 ends after 2 s and attempt 2 after 10 s; each wait counts from the end of the attempt before.
const SECOND_AT = 2 * SECOND + 180_000;
const THIRD_AT = SECOND_AT + 10 * SECOND + 600_000;
const untilSecond: TimedEvent[] = [finish, [2 * SECOND, anEnd(1)]];
const untilThird: TimedEvent[] = [
  ...untilSecond,
  [SECOND_AT, start],
  [SECOND_AT + 10 * SECOND, anEnd(2)],
];
const untilFailed: TimedEvent[] = [...untilThird, [THIRD_AT, start], [THIRD_AT + SECOND, anEnd(3)]];

function stateAfter(...happenings: TimedEvent[]): CallbackState {
  return callbackAfter(...happenings).state;
}

function due(afterMs: number): CallbackState {
  return { kind: "due", nextAttemptAt: NOW + afterMs };
}

describe("an automatic series", () => {
  it("under the default schedule, a callback has three automatic attempts and no fourth", () => {
    expectUnchanged(taskAfter(...untilFailed), start, NOW + 365 * 24 * 60 * MINUTE);
  });

  it("a task stores number, start, duration and outcome of each of its automatic callback attempts", () => {
    const ended = {
      series: 1,
      outcome: "rejected",
      statusCode: 500,
      responseExcerpt: null,
      cloudflareError: null,
    };
    expect(callbackAfter(...untilFailed)).toMatchObject({
      lastNumber: 3,
      series: { number: 1, started: 3, ordered: null, keyName: null },
      deliveredAt: null,
      attempts: [
        { ...ended, number: 1, startedAt: NOW, durationMs: 2 * SECOND },
        { ...ended, number: 2, startedAt: NOW + SECOND_AT, durationMs: 10 * SECOND },
        { ...ended, number: 3, startedAt: NOW + THIRD_AT, durationMs: SECOND },
      ],
    });
  });

  it("the wait before a callback attempt counts from the end of the attempt before it, even if that one started late", () => {
    const late = SECOND_AT + 7 * MINUTE;
    const state = stateAfter(...untilSecond, [late, start], [late + 1, anEnd(2)]);
    expect(state).toEqual(due(late + 1 + 600_000));
  });

  it("a callback attempt does not start one millisecond before its planned time", () => {
    const record = taskAfter(...untilSecond);
    expectUnchanged(record, start, NOW + SECOND_AT - 1);
    expect(callbackOf(apply(record, start, NOW + SECOND_AT)).state.kind).toBe("in_flight");
  });

  it("a callback attempt of a task does not start while the task's previous attempt has not ended", () => {
    expectUnchanged(taskAfter(finish), start, NOW + MINUTE);
  });

  it("a task stores for each ended callback attempt its planned and real start, its duration, the hash of what was sent, and the receiver's answer", () => {
    const answer = { contentType: "text/plain", locationHost: null, retryAfter: "60" };
    const answered = { statusCode: 530, cloudflareError: 1016, responseExcerpt: "busy", answer };
    const end = { outcome: "unreachable", ...answered, sentDigest: "0123" } as const;
    const lateStart: TimedEvent = [SECOND_AT + 40, start];
    const late = callbackAfter(...untilSecond, lateStart, [SECOND_AT + 45, anEnd(2, end)]);
    const times = { dueAt: NOW + SECOND_AT, startedAt: NOW + SECOND_AT + 40, durationMs: 5 };
    const none = { url: null, keyName: null, cause: null };
    const attempt = { number: 2, series: 1, ...none, ...times, ...end };
    expect(late.attempts.at(-1)).toEqual(attempt);
  });

  it("the recorded duration of a callback attempt is not negative when the clock stepped back meanwhile", () => {
    const callback = callbackAfter(finish, [-MINUTE, anEnd(1)]);
    expect(callback.attempts[0]?.durationMs).toBe(0);
    expect(callback.state).toEqual(due(180_000));
  });
});

describe("the end of an attempt", () => {
  it.each([1, 2, 3])("no further callback attempt follows when attempt %i is delivered", (n) => {
    const before = [[finish], untilSecond, untilThird][n - 1] ?? [];
    const began: TimedEvent[] = n === 1 ? [] : [[THIRD_AT, start]];
    const at = THIRD_AT + SECOND;
    const callback = callbackAfter(...before, ...began, [at, anEndAs(n, "delivered")]);
    expect(callback).toMatchObject({ state: { kind: "delivered" }, deliveredAt: NOW + at });
    expect(callback.attempts).toHaveLength(n);
  });

  it.each(OUTCOMES.filter((outcome) => outcome !== "delivered"))(
    'a callback attempt with the outcome "%s" is followed by the next attempt or, if it was the last that the schedule allows, the callback has failed',
    (outcome) => {
      const waitMs = outcome === "interrupted" ? 5 * SECOND : 180_000;
      expect(stateAfter(finish, [SECOND, anEndAs(1, outcome)])).toEqual(due(SECOND + waitMs));
      const last: TimedEvent[] = [
        [THIRD_AT, start],
        [THIRD_AT, anEndAs(3, outcome)],
      ];
      expect(stateAfter(...untilThird, ...last)).toEqual({ kind: "failed" });
    },
  );

  it.each([
    ["that attempt has ended already", untilSecond, 1],
    ["another attempt is in flight", [...untilSecond, [SECOND_AT, start]], 1],
    ["that attempt was never started", [finish], 2],
    ["all attempts of the schedule have ended", untilFailed, 3],
  ] satisfies [string, TimedEvent[], number][])(
    "the internal event that a callback attempt was delivered is ignored when %s",
    (_when, happenings, n) => {
      expectUnchanged(taskAfter(...happenings), anEndAs(n, "delivered"), NOW + THIRD_AT);
    },
  );

  it("the internal events that a callback attempt starts or ends change nothing when the task has no callback URL or does not exist", () => {
    const record = taskAfter([0, aReport(aCompletion(), aCreation({ callbackUrl: null }))]);
    for (const event of [anEndAs(1, "delivered"), start]) {
      expectUnchanged(record, event);
      expectUnchanged(null, event);
    }
  });
});

describe("an attempt that its sender has started or reports as ended", () => {
  const withoutCallback = aFinishedTask({ callback: null });
  const running = taskAfter(...untilSecond, [SECOND_AT, start]);
  const startedAt = NOW + SECOND_AT;
  const second = { number: 2, startedAt };

  it("is sent while it is stored as running", () => {
    expect(isRunning(running, second)).toBe(true);
  });

  it.each<[string, TaskRecord | null, Partial<typeof second>]>([
    ["was erased", null, {}],
    ["is open", anOpenTask(), {}],
    ["has no callback", withoutCallback, {}],
    ["has the attempt planned, and not begun", taskAfter(...untilSecond), {}],
    ["has stored its end", taskAfter(...untilThird), {}],
    ["has another attempt running", running, { number: 1 }],
    ["has the attempt running from another start on", running, { startedAt: startedAt - 1 }],
  ])("is not sent when its task %s", (_when, record, changes) => {
    expect(isRunning(record, { ...second, ...changes })).toBe(false);
  });

  it("is a repetition when its end is stored with the same number, start and outcome", () => {
    expect(isEndStored(taskAfter(...untilThird), second, { outcome: "rejected" })).toBe(true);
  });

  it.each<[string, TaskRecord | null, Partial<typeof second>, Outcome]>([
    ["its task was erased", null, {}, "rejected"],
    ["its task is open", anOpenTask(), {}, "rejected"],
    ["its task has no callback", withoutCallback, {}, "rejected"],
    ["it is stored as running", running, {}, "rejected"],
    [
      "another attempt is stored with this number",
      taskAfter(...untilThird),
      { startedAt: NOW },
      "rejected",
    ],
    ["it was stored with another outcome", taskAfter(...untilThird), {}, "interrupted"],
    ["only other attempts have ended", taskAfter(...untilThird), { number: 3 }, "rejected"],
  ])("is no repetition when %s", (_when, record, changes, outcome) => {
    expect(isEndStored(record, { ...second, ...changes }, { outcome })).toBe(false);
  });
});

describe("another schedule of callback attempts", () => {
  it("when the schedule of callback attempts begins with a wait other than 0, the first attempt comes after this wait", () => {
    const policy = aPolicy({ scheduleMs: [5 * SECOND, MINUTE] });
    expect(stateAfter([0, report, policy])).toEqual(due(5 * SECOND));
  });

  it("when the configured schedule of callback attempts changes, an attempt that is already planned keeps its time", () => {
    const record = taskAfter(...untilSecond);
    const policy = aPolicy({ scheduleMs: [0, 1, 1] });
    expect(record && wakeAt(record, policy)).toBe(NOW + SECOND_AT);
    expectUnchanged(record, start, NOW + SECOND_AT - 1, policy);
  });

  it("when the configured schedule of callback attempts changes, the attempts after the planned one have the waits of the new schedule", () => {
    const policy = aPolicy({ scheduleMs: [0, 1, 2] });
    const state = stateAfter(...untilSecond, [SECOND_AT, start], [SECOND_AT, anEnd(2), policy]);
    expect(state).toEqual(due(SECOND_AT + 2));
  });

  it("when the configured schedule of callback attempts becomes shorter, a callback that is being sent gets fewer attempts", () => {
    const policy = aPolicy({ scheduleMs: [0] });
    expect(stateAfter(finish, [SECOND, anEnd(1), policy])).toEqual({ kind: "failed" });
  });

  it("when the configured schedule of callback attempts becomes longer, a callback that is being sent gets more attempts; one that has failed for good gets none", () => {
    const policy = aPolicy({ scheduleMs: [0, 0, 0, MINUTE] });
    const last: TimedEvent[] = [
      [THIRD_AT, start],
      [THIRD_AT, anEnd(3), policy],
    ];
    expect(stateAfter(...untilThird, ...last)).toEqual(due(THIRD_AT + MINUTE));
    expectUnchanged(taskAfter(...untilFailed), start, NOW + THIRD_AT * 2, policy);
  });
});

describe("while the relay is paused", () => {
  const until = NOW + 90 * SECOND;
  const paused = aPolicy({ pausedAt: until - MINUTE });
  const held: TimedEvent = [0, report, paused];

  it("a task that ends while the relay is paused starts no callback attempt, and sets its alarm for the time at which it checks again whether the pause is over", () => {
    const record = taskAfter(held);
    expect(callbackOf(record)).toMatchObject({
      lastNumber: 0,
      series: { started: 0 },
      attempts: [],
      state: due(0),
    });
    expect(record && wakeAt(record, paused)).toBe(until);
    expect(record && nextStep(record, paused, until - 1)).toBeNull();
    expectUnchanged(record, start, until - 1, paused);
  });

  it("a callback attempt that ends while the relay is paused is recorded, and the next attempt keeps its planned time", () => {
    const happenings: TimedEvent[] = [finish, [2 * SECOND, anEnd(1), paused]];
    const record = taskAfter(...happenings);
    expect(stateAfter(...happenings)).toEqual(due(SECOND_AT));
    expect(record && wakeAt(record, paused)).toBe(NOW + SECOND_AT);
  });

  it("callback attempts that are planned wait while the relay is paused, and continue after the pause with the usual waits between them", () => {
    expect(stateAfter(held, [90 * SECOND, start])).toMatchObject({ number: 1 });
    const ended: TimedEvent[] = [
      [90 * SECOND, start],
      [91 * SECOND, anEnd(1)],
    ];
    expect(stateAfter(held, ...ended)).toEqual(due(91 * SECOND + 180_000));
  });
});

describe("the status of a callback", () => {
  it('the status of a callback is "sending" until its first attempt has ended, and then "retrying" until an attempt is delivered or the last one has failed', () => {
    const statuses = [
      [finish],
      untilSecond,
      [...untilSecond, [SECOND_AT, start]],
      untilThird,
      [...untilThird, [THIRD_AT, start]],
      untilFailed,
    ] satisfies TimedEvent[][];
    expect(statuses.map((happenings) => callbackStatus(callbackAfter(...happenings)))).toEqual([
      "sending",
      "retrying",
      "retrying",
      "retrying",
      "retrying",
      "failed",
    ]);
  });

  it('the status of a callback is "sending" while its first attempt waits for the time in the schedule, and "retrying" after an interrupted attempt', () => {
    const policy = aPolicy({ scheduleMs: [MINUTE] });
    expect(callbackStatus(callbackAfter([0, report, policy]))).toBe("sending");
    const cut = callbackAfter(finish, [SECOND, anEndAs(1, "interrupted")]);
    expect(callbackStatus(cut)).toBe("retrying");
  });

  it('the status of a callback that has failed is "sending" again during the first attempt of a redelivery, and "retrying" after it', () => {
    const order: TimedEvent = [THIRD_AT * 2, aRedelivery({ attempts: 2 })];
    const again = [...untilFailed, order];
    expect(callbackStatus(callbackAfter(...again))).toBe("sending");
    const ended: TimedEvent = [THIRD_AT * 2 + SECOND, anEnd(4)];
    expect(callbackStatus(callbackAfter(...again, ended))).toBe("retrying");
  });
});
