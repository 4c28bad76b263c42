import { describe, expect, it } from "vitest";
import type { CallbackState } from "../../src/core/record/callback.ts";
import { NO_KEYED_REDELIVERIES } from "../../src/core/record/redelivery-keys.ts";
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
  DAY,
  type TimedEvent,
  HOUR,
  MINUTE,
  NOW,
  URL_A,
  URL_B,
  runningSince,
} from "./builders.ts";
import { apply, expectRefused, expectUnchanged, finish } from "./decisions.ts";

const delivered: TimedEvent[] = [
  [0, aReport(aCompletion(), aCreation())],
  [250, anEndAs(1, "delivered")],
];
const anHourLater: TimedEvent = [HOUR, aRedelivery()];
const failed = aFinishedTask({
  callback: aCallback({
    attempts: [1, 2, 3].map((number) => anAttempt({ number, outcome: "timeout" })),
    lastNumber: 3,
    series: { number: 1, started: 3, ordered: null, keyName: null },
    state: { kind: "failed" },
    deliveredAt: null,
  }),
});

function due(afterMs: number): CallbackState {
  return { kind: "due", nextAttemptAt: NOW + afterMs };
}

describe("a redelivery", () => {
  it("a redelivery starts further callback attempts at once, with the next attempt number, and changes neither the task's result nor the callback's body", () => {
    expect(finish(failed, aRedelivery(), NOW + HOUR)).toEqual({
      ...failed,
      version: NOW + HOUR,
      expiresAt: NOW + HOUR + 28 * DAY,
      callback: {
        ...failed.callback,
        lastNumber: 4,
        series: { number: 2, started: 1, ordered: 1, keyName: null },
        state: runningSince(NOW + HOUR, 4),
      },
    });
  });

  it("the first attempt of a redelivery starts at once even if the schedule of callback attempts begins with a wait", () => {
    const policy = aPolicy({ scheduleMs: [MINUTE, MINUTE] });
    const { state } = callbackOf(apply(failed, aRedelivery(), NOW, policy));
    expect(state).toEqual(runningSince(NOW, 4));
  });

  it("the callback attempts of each redelivery are a series of their own, with the next series number", () => {
    const second: TimedEvent[] = [anHourLater, [HOUR, anEnd(2)]];
    const third: TimedEvent[] = [
      [2 * HOUR, aRedelivery()],
      [2 * HOUR, anEndAs(3, "delivered")],
    ];
    const { attempts } = callbackAfter(...delivered, ...second, ...third);
    expect(attempts.map(({ number, series }) => [number, series])).toEqual([
      [1, 1],
      [2, 2],
      [3, 3],
    ]);
  });

  it("after a redelivery that may make only one attempt, the callback has failed if that attempt fails", () => {
    expect(callbackAfter(...delivered, anHourLater, [HOUR, anEnd(2)]).state).toEqual({
      kind: "failed",
    });
  });

  it("a redelivery that is ordered while the relay is paused is accepted, but none of its callback attempts starts yet", () => {
    const paused = aPolicy({ pausedAt: NOW + 2 * HOUR });
    expect(callbackAfter(...delivered, [HOUR, aRedelivery(), paused])).toMatchObject({
      lastNumber: 1,
      series: { number: 2, started: 0, ordered: 1, keyName: null },
      state: due(HOUR),
    });
  });

  it("a redelivery ordered while a pause holds back a callback attempt adds no attempt: the waiting attempt gets the redelivery's URL and Idempotency-Key", () => {
    const paused = aPolicy({ pausedAt: NOW + 2 * HOUR });
    const waiting = aFinishedTask({ callback: aCallback({ state: due(HOUR), deliveredAt: null }) });
    expectUnchanged(waiting, aRedelivery(), NOW + HOUR, paused);
    const keyed = aRedelivery({ callbackUrl: URL_B, idempotencyKey: "a" });
    const joined = apply(waiting, keyed, NOW + HOUR, paused);
    const attempts = [anAttempt({ url: URL_A })];
    const keyedRedeliveries = { operator: [{ key: "a", callbackUrl: URL_B }], owner: [] };
    const callback = {
      ...waiting.callback,
      url: URL_B,
      attempts,
      keyedRedeliveries,
    };
    expect(joined).toMatchObject({ version: NOW + HOUR, callback });
    expectUnchanged(joined, keyed, NOW + 2 * HOUR);
    expectRefused(waiting, aRedelivery(), "series_running");
  });

  it.each([
    ["URL", { callbackUrl: URL_B }, { url: URL_B, keyedRedeliveries: NO_KEYED_REDELIVERIES }],
    [
      "Idempotency-Key",
      { idempotencyKey: "a" },
      { url: URL_A, keyedRedeliveries: { operator: [{ key: "a", callbackUrl: null }], owner: [] } },
    ],
  ])(
    "a redelivery ordered while a pause of the relay holds a callback attempt back gives its %s to this attempt",
    (_what, changes, expected) => {
      const paused = aPolicy({ pausedAt: NOW });
      const waiting = aFinishedTask({ callback: aCallback({ state: due(0) }) });
      const joined = callbackOf(apply(waiting, aRedelivery(changes), NOW, paused));
      expect(joined).toMatchObject({ ...expected, state: due(0) });
    },
  );

  it.each(["rejected", "delivered"] as const)(
    "after a redelivery with the outcome %s, the record still has the time at which the callback was delivered for the first time",
    (outcome) => {
      const callback = callbackAfter(...delivered, anHourLater, [HOUR, anEndAs(2, outcome)]);
      const kind = outcome === "delivered" ? "delivered" : "failed";
      expect(callback).toMatchObject({ state: { kind }, deliveredAt: NOW + 250 });
    },
  );

  it("the record of a callback after 25 attempts has the latest 20 with their numbers, and of the 5 before them only the counts of their outcomes", () => {
    const rounds = Array.from({ length: 24 }, (_, i): TimedEvent[] => [
      [i, aRedelivery()],
      [i, anEnd(i + 2)],
    ]);
    const callback = callbackAfter(...delivered, ...rounds.flat());
    expect(callback.attempts.map(({ number }) => number)).toEqual(
      Array.from({ length: 20 }, (_, i) => i + 6),
    );
    expect(callback).toMatchObject({ lastNumber: 25, deliveredAt: NOW + 250 });
    expect(callback.droppedOutcomes).toEqual({ delivered: 1, rejected: 4 });
  });
});

describe("a redelivery to another URL", () => {
  it("a redelivery to another URL replaces the task's callback URL from then on; earlier attempts are still shown with the URL to which they went", () => {
    const repaired: TimedEvent[] = [
      ...delivered,
      [HOUR, aRedelivery({ callbackUrl: URL_B })],
      [HOUR, anEnd(2)],
    ];
    const { url, attempts } = callbackAfter(...repaired);
    expect([url, ...attempts.map((attempt) => attempt.url)]).toEqual([URL_B, URL_A, null]);
    expect(callbackAfter(...repaired, [2 * HOUR, aRedelivery()]).url).toBe(URL_B);
    const urlC = "https://third.example.com/callbacks";
    const third = callbackAfter(...repaired, [2 * HOUR, aRedelivery({ callbackUrl: urlC })]);
    expect([third.url, ...third.attempts.map((each) => each.url)]).toEqual([urlC, URL_A, URL_B]);
  });

  it("a redelivery to a URL gives a callback to a task that had none, and its callback attempts are series number 2", () => {
    const task = aFinishedTask({ callback: null });
    expect(callbackOf(apply(task, aRedelivery({ callbackUrl: URL_B })))).toEqual({
      url: URL_B,
      attempts: [],
      droppedOutcomes: {},
      lastNumber: 1,
      series: { number: 2, started: 1, ordered: 1, keyName: null },
      state: runningSince(NOW),
      deliveredAt: null,
      keyedRedeliveries: NO_KEYED_REDELIVERIES,
    });
  });
});

function unsettled(state: CallbackState): TaskRecord {
  return aFinishedTask({ callback: aCallback({ state }) });
}

describe("a redelivery is refused", () => {
  const open = unsettled(runningSince(NOW));

  it.each<[string, TaskRecord | null, string]>([
    ["while the task is open", anOpenTask(), "task_open"],
    ["while an attempt is due", unsettled(due(0)), "series_running"],
    ["while an attempt is in flight", open, "series_running"],
    ["when no callback URL is known", aFinishedTask({ callback: null }), "no_callback"],
    ["when the task does not exist", null, "unknown_task"],
  ])("a redelivery is refused %s", (_when, record, code) => {
    expectRefused(record, aRedelivery({ idempotencyKey: "new" }), code);
  });

  it("a redelivery that states no URL, of a task without a callback URL, is refused also while the relay is paused", () => {
    const task = aFinishedTask({ callback: null });
    const decision = transition(task, aRedelivery(), aPolicy({ pausedAt: NOW }), NOW);
    expect(decision).toEqual({ kind: "reject", rejection: { code: "no_callback", task } });
  });

  it("a redelivery is refused while a callback attempt of the task is still due, even when the redelivery states a URL", () => {
    expectRefused(unsettled(due(0)), aRedelivery({ callbackUrl: URL_A }), "series_running");
  });
});

const ORDERERS = ["operator", "owner"] as const;

type Order = Parameters<typeof aRedelivery>[0];

/** Returns the record after these redeliveries, each of which has made its one attempt. */
function afterRedeliveries(record: TaskRecord, ...orders: readonly Order[]): TaskRecord {
  return orders.reduce<TaskRecord>((task, order) => {
    const running = apply(task, aRedelivery(order));
    return apply(running, anEnd(callbackOf(running).lastNumber));
  }, record);
}

function keys(...names: readonly string[]): readonly { idempotencyKey: string }[] {
  return names.map((idempotencyKey) => ({ idempotencyKey }));
}

describe("the Idempotency-Key of a redelivery", () => {
  const keyed = aRedelivery({ idempotencyKey: "k1" });
  const running = finish(failed, keyed);
  const settled = finish(running, anEnd(4));

  it("a redelivery repeated with the same Idempotency-Key starts no further callback attempts, neither during those of the first order nor afterwards", () => {
    for (const record of [running, settled]) expectUnchanged(record, keyed, NOW + HOUR);
  });

  it("an earlier redelivery that is repeated with its Idempotency-Key starts nothing, even after redeliveries with another key or without one", () => {
    const record = afterRedeliveries(failed, ...keys("k1", "k2"), { idempotencyKey: null });
    expectUnchanged(record, keyed);
    expectUnchanged(record, aRedelivery({ idempotencyKey: "k2" }));
  });

  it("a redelivery with a new Idempotency-Key starts further callback attempts", () => {
    const callback = callbackOf(apply(settled, aRedelivery({ idempotencyKey: "k2" })));
    expect(callback.series.number).toBe(3);
    expect(callback.keyedRedeliveries.operator.map(({ key }) => key)).toEqual(["k1", "k2"]);
  });

  it.each(ORDERERS)(
    "a task remembers the last eight Idempotency-Keys with which the %s ordered redeliveries; with an older key, a redelivery starts again",
    (orderedBy) => {
      const names = ["k1", "k2", "k3", "k4", "k5", "k6", "k7", "k8", "k9"];
      const orders = keys(...names).map((order) => ({ ...order, orderedBy }));
      const record = afterRedeliveries(failed, ...orders);
      expect(callbackOf(record).keyedRedeliveries[orderedBy]).toHaveLength(8);
      for (const order of orders.slice(1)) expectUnchanged(record, aRedelivery(order));
      const again = apply(record, aRedelivery(orders[0]));
      expect(callbackOf(again).series.number).toBe(11);
      expect(callbackOf(again).keyedRedeliveries[orderedBy]).toHaveLength(8);
    },
  );

  it("redeliveries by the operator do not make the task forget an Idempotency-Key of the account that owns the task", () => {
    const own = { idempotencyKey: "k1", orderedBy: "owner" } as const;
    const others = keys("k1", "k2", "k3", "k4", "k5", "k6", "k7", "k8", "k9");
    expectUnchanged(afterRedeliveries(failed, own, ...others), aRedelivery(own));
  });

  it.each([
    ["operator", "owner"],
    ["owner", "operator"],
  ] as const)(
    "the %s and the %s may use the same Idempotency-Key for redeliveries of their own",
    (orderedBy, other) => {
      const first = { ...keyed, orderedBy };
      const second = aRedelivery({ idempotencyKey: "k2", orderedBy: other });
      const record = afterRedeliveries(failed, first, { ...keyed, orderedBy: other }, second);
      expect(callbackOf(record).series.number).toBe(4);
      for (const order of [first, { ...keyed, orderedBy: other }, second]) {
        expectUnchanged(record, order);
      }
    },
  );

  it("a second redelivery without an Idempotency-Key is not a repetition of the first", () => {
    expect(apply(failed, aRedelivery()).version).toBeGreaterThan(failed.version);
    expect(callbackOf(apply(failed, aRedelivery())).keyedRedeliveries.operator).toEqual([]);
  });

  it("a redelivery that was merged into a callback attempt held back by a pause starts nothing when it is repeated with its Idempotency-Key, even after another redelivery", () => {
    const paused = aPolicy({ pausedAt: NOW });
    const state = { kind: "due", nextAttemptAt: NOW } as const;
    let record: TaskRecord = aFinishedTask({ callback: aCallback({ state, attempts: [] }) });
    for (const order of keys("k1", "k2")) record = apply(record, aRedelivery(order), NOW, paused);
    for (const order of keys("k1", "k2")) expectUnchanged(record, aRedelivery(order));
  });
});

describe("a redelivery under a remembered Idempotency-Key with another callback_url", () => {
  it.each([
    ["a callback_url, when the first named none", null, URL_A],
    ["another callback_url than the first", URL_A, URL_B],
    ["no callback_url, when the first named one", URL_B, null],
  ])(
    "a redelivery under an Idempotency-Key that was used before is refused if it now names %s",
    (_, first, then) => {
      const order = aRedelivery({ idempotencyKey: "k1", callbackUrl: first });
      const other = aRedelivery({ idempotencyKey: "k1", callbackUrl: then });
      const running = finish(failed, order);
      const settled = finish(running, anEnd(4));
      for (const record of [running, settled, afterRedeliveries(settled, ...keys("k2"))]) {
        expectRefused(record, other, "idempotency_key_reused");
        expectUnchanged(record, order);
      }
    },
  );

  it("a redelivery is accepted although another caller has used its Idempotency-Key with another callback_url", () => {
    const record = afterRedeliveries(failed, { idempotencyKey: "k1", callbackUrl: URL_A });
    const other = aRedelivery({ idempotencyKey: "k1", callbackUrl: URL_B, orderedBy: "owner" });
    expect(callbackOf(apply(record, other)).url).toBe(URL_B);
  });
});
