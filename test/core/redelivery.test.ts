import { describe, expect, it } from "vitest";
import type { CallbackState } from "../../src/core/record/callback.ts";
import type { TaskEvent } from "../../src/core/events/event.ts";
import type { TaskRecord } from "../../src/core/record/task.ts";
import { transition } from "../../src/core/transition.ts";
import {
  aCallback,
  aCompletion,
  aCreation,
  aFinishedTask,
  anAttempt,
  anEnd,
  anEndAs,
  anOpenTask,
  aPolicy,
  aRedelivery,
  aReport,
  callbackAfter,
  callbackOf,
  committed,
  DAY,
  finished,
  type Happening,
  HOUR,
  MINUTE,
  NOW,
  POLICY,
  URL_A,
  URL_B,
} from "./builders.ts";

const start: TaskEvent = { type: "attempt_started" };
const delivered: Happening[] = [
  [0, aReport(aCompletion(), aCreation())],
  [250, anEndAs(1, "delivered")],
];
const failed = aFinishedTask({
  callback: aCallback({
    attempts: [1, 2, 3].map((number) => anAttempt({ number, outcome: "timeout" })),
    lastNumber: 3,
    series: { number: 1, started: 3, ordered: null },
    state: { kind: "failed" },
    deliveredAt: null,
  }),
});

describe("an order to redeliver", () => {
  it("starts a new series at once; its attempt numbers go on", () => {
    expect(finished(transition(failed, aRedelivery(), POLICY, NOW + HOUR))).toEqual({
      ...failed,
      version: NOW + HOUR,
      expiresAt: NOW + HOUR + 28 * DAY,
      callback: {
        ...failed.callback,
        lastNumber: 4,
        series: { number: 2, started: 1, ordered: 1 },
        state: { kind: "in_flight", number: 4, startedAt: NOW + HOUR },
      },
    });
  });

  it("starts at once even where the schedule waits first", () => {
    const patient = aPolicy({ scheduleMs: [MINUTE, MINUTE] });
    const callback = callbackOf(committed(transition(failed, aRedelivery(), patient, NOW)));
    expect(callback.state).toEqual({ kind: "in_flight", number: 4, startedAt: NOW });
  });

  it("numbers each series one higher", () => {
    const callback = callbackAfter(
      ...delivered,
      [HOUR, aRedelivery()],
      [HOUR, anEnd(2)],
      [2 * HOUR, aRedelivery()],
      [2 * HOUR, anEndAs(3, "delivered")],
    );
    expect(callback.attempts.map(({ number, series }) => [number, series])).toEqual([
      [1, 1],
      [2, 2],
      [3, 3],
    ]);
  });

  it("of one attempt is over after one", () => {
    const callback = callbackAfter(...delivered, [HOUR, aRedelivery()], [HOUR, anEnd(2)]);
    expect(callback.state).toEqual({ kind: "failed" });
  });

  it("of three attempts waits like the schedule and is over after three", () => {
    const first: Happening[] = [...delivered, [0, aRedelivery({ attempts: 3 })], [1, anEnd(2)]];
    expect(callbackAfter(...first).state).toEqual({
      kind: "due",
      nextAttemptAt: NOW + 1 + 180_000,
    });
    const second: Happening[] = [...first, [HOUR, start], [HOUR + 2, anEnd(3)]];
    expect(callbackAfter(...second).state).toEqual({
      kind: "due",
      nextAttemptAt: NOW + HOUR + 2 + 600_000,
    });
    const third: Happening[] = [...second, [2 * HOUR, start], [2 * HOUR, anEnd(4)]];
    expect(callbackAfter(...third).state).toEqual({ kind: "failed" });
  });

  it("may have more attempts than the schedule; the last wait repeats", () => {
    const short = aPolicy({ scheduleMs: [0, MINUTE] });
    const callback = callbackAfter(
      ...delivered,
      [0, aRedelivery({ attempts: 3 }), short],
      [0, anEnd(2), short],
      [MINUTE, start, short],
      [MINUTE, anEnd(3), short],
    );
    expect(callback.state).toEqual({ kind: "due", nextAttemptAt: NOW + 2 * MINUTE });
  });

  it("is accepted while paused, and waits", () => {
    const paused = aPolicy({ pausedUntil: NOW + 2 * HOUR });
    const callback = callbackAfter(...delivered, [HOUR, aRedelivery(), paused]);
    expect(callback).toMatchObject({
      lastNumber: 1,
      series: { number: 2, started: 0, ordered: 1 },
      state: { kind: "due", nextAttemptAt: NOW + HOUR },
    });
  });

  it("keeps the first time of delivery, whatever comes of it", () => {
    const order: Happening = [HOUR, aRedelivery()];
    const refused = callbackAfter(...delivered, order, [HOUR, anEnd(2)]);
    const again = callbackAfter(...delivered, order, [HOUR, anEndAs(2, "delivered")]);
    expect([refused, again]).toMatchObject([
      { state: { kind: "failed" }, deliveredAt: NOW + 250 },
      { state: { kind: "delivered" }, deliveredAt: NOW + 250 },
    ]);
  });

  it("does not change the body or the result", () => {
    const { body, status, failure, registration } = failed;
    expect(committed(transition(failed, aRedelivery(), POLICY, NOW + DAY))).toMatchObject({
      body,
      status,
      failure,
      registration,
    });
  });
});

describe("a repaired URL", () => {
  it("replaces the old one from then on", () => {
    const order = aRedelivery({ callbackUrl: URL_B });
    const repaired = [...delivered, [HOUR, order], [HOUR, anEnd(2)]] satisfies Happening[];
    expect(callbackAfter(...repaired).url).toBe(URL_B);
    expect(callbackAfter(...repaired, [2 * HOUR, aRedelivery()]).url).toBe(URL_B);
  });

  it("gives a callback to a task that had none; its first series is not the automatic one", () => {
    const task = aFinishedTask({ callback: null });
    const order = aRedelivery({ callbackUrl: URL_B });
    expect(callbackOf(committed(transition(task, order, POLICY, NOW)))).toEqual({
      url: URL_B,
      attempts: [],
      lastNumber: 1,
      series: { number: 2, started: 1, ordered: 1 },
      state: { kind: "in_flight", number: 1, startedAt: NOW },
      deliveredAt: null,
      lastOrderKey: null,
    });
  });
});

describe("an Idempotency-Key", () => {
  const order = aRedelivery({ idempotencyKey: "k1" });
  const running = finished(transition(failed, order, POLICY, NOW));

  it("makes an order happen once, while its series runs and after it", () => {
    const settled = finished(transition(running, anEnd(4), POLICY, NOW));
    for (const record of [running, settled]) {
      expect(transition(record, order, POLICY, NOW + HOUR)).toEqual({ kind: "unchanged", record });
    }
  });

  it("that is another is another order", () => {
    const settled = finished(transition(running, anEnd(4), POLICY, NOW));
    const other = aRedelivery({ idempotencyKey: "k2" });
    expect(transition(settled, other, POLICY, NOW)).toMatchObject({
      kind: "changed",
      record: { callback: { lastOrderKey: "k2", series: { number: 3 } } },
    });
  });

  it("that is missing never matches a missing one", () => {
    expect(failed.callback?.lastOrderKey).toBeNull();
    expect(transition(failed, aRedelivery(), POLICY, NOW).kind).toBe("changed");
  });
});

function unsettled(state: CallbackState): TaskRecord {
  return aFinishedTask({ callback: aCallback({ state, lastOrderKey: "earlier" }) });
}

describe("an order is refused", () => {
  it.each([
    ["while the task is open", anOpenTask(), "task_open"],
    ["while an attempt is due", unsettled({ kind: "due", nextAttemptAt: NOW }), "series_running"],
    [
      "while an attempt is open",
      unsettled({ kind: "in_flight", number: 1, startedAt: NOW }),
      "series_running",
    ],
    ["where no URL is known", aFinishedTask({ callback: null }), "no_callback"],
  ])("%s", (_when, record, code) => {
    const order = aRedelivery({ idempotencyKey: "new" });
    expect(transition(record, order, POLICY, NOW)).toEqual({
      kind: "reject",
      rejection: { code, task: record },
    });
  });

  it("with a URL for the series that is running", () => {
    const record = unsettled({ kind: "due", nextAttemptAt: NOW });
    const order = aRedelivery({ callbackUrl: URL_A });
    expect(transition(record, order, POLICY, NOW)).toMatchObject({
      rejection: { code: "series_running" },
    });
  });

  it("where there is no task", () => {
    expect(transition(null, aRedelivery(), POLICY, NOW)).toEqual({
      kind: "reject",
      rejection: { code: "unknown_task" },
    });
  });
});

describe("a long history", () => {
  it("keeps the latest 20 attempts, and numbers go on", () => {
    const rounds = Array.from({ length: 24 }, (_, i): Happening[] => [
      [i, aRedelivery()],
      [i, anEnd(i + 2)],
    ]);
    const callback = callbackAfter(...delivered, ...rounds.flat());
    expect(callback.attempts.map(({ number }) => number)).toEqual(
      Array.from({ length: 20 }, (_, i) => i + 6),
    );
    expect(callback).toMatchObject({ lastNumber: 25, deliveredAt: NOW + 250 });
  });
});
