import { describe, expect, it } from "vitest";
import { parseConfig } from "../../src/config/config.ts";
import type { TaskEvent } from "../../src/core/events/event.ts";
import type { Outcome } from "../../src/core/record/outcome.ts";
import type { TaskRecord } from "../../src/core/record/task.ts";
import { transition } from "../../src/core/transition.ts";
import {
  aCompletion,
  aCreation,
  anEndAs,
  aPolicy,
  aRegistration,
  aRedelivery,
  aReport,
  callbackOf,
  NOW,
  POLICY,
  SECOND,
} from "./builders.ts";
import { apply } from "./decisions.ts";

const [i, r, d] = ["interrupted", "rejected", "delivered"] as const;
const report = aReport(aCompletion(), aCreation());
const DEFAULT_S = defaultScheduleS();

/** Outcomes of the attempts of a series, and the wait before each after the end of the one before. */
const SERIES: [when: string, scheduleS: readonly number[], readonly Outcome[], waitsS: number[]][] =
  [
    ["no attempt is interrupted", DEFAULT_S, [r, r, r], [0, 180, 600]],
    ["attempt 1 is interrupted", DEFAULT_S, [i, r, r], [0, 5, 180]],
    ["attempt 1 is interrupted and attempt 2 is delivered", DEFAULT_S, [i, d], [0, 5]],
    ["attempt 2 is interrupted", DEFAULT_S, [r, i, r], [0, 180, 5]],
    ["attempt 3 is interrupted", DEFAULT_S, [r, r, i], [0, 180, 600]],
    ["attempts 1 and 2 are interrupted", DEFAULT_S, [i, i, r], [0, 5, 180]],
    ["attempts 1 and 3 are interrupted", DEFAULT_S, [i, r, i], [0, 5, 180]],
    ["attempts 2 and 3 are interrupted", DEFAULT_S, [r, i, i], [0, 180, 5]],
    ["all attempts are interrupted", DEFAULT_S, [i, i, i], [0, 5, 180]],
    ["the first wait is not 0 and attempt 1 is interrupted", [7, 60, 90], [i, r, r], [7, 5, 60]],
  ];

it.each(SERIES)(
  "when a crash interrupts a callback attempt for the first time, the next attempt starts 5 s later; all others start after the next wait of the configured schedule: %s",
  (_when, scheduleS, outcomes, waitsS) => {
    expect(play(null, report, scheduleS, outcomes)).toMatchObject({
      waitsS,
      last: endAfter(outcomes),
    });
  },
);

it.each(SERIES)(
  "a redelivery starts its first callback attempt at once, and its later attempts after the same waits as automatic attempts, also after a crash: %s",
  (_when, scheduleS, outcomes, [, ...waitsS]) => {
    const failed = play(null, report, DEFAULT_S, [i, i, i]).task;
    const series = play(failed, aRedelivery({ attempts: 3 }), scheduleS, outcomes);
    expect(series).toMatchObject({ waitsS: [0, ...waitsS], last: endAfter(outcomes) });
  },
);

it.each<[readonly Outcome[], number[]]>([
  [
    [i, r, r, r, r],
    [0, 5, 1, 2, 3],
  ],
  [
    [r, r, i, r, r],
    [0, 1, 2, 5, 3],
  ],
  [
    [i, i, i, i, i],
    [0, 5, 1, 2, 3],
  ],
  [
    [r, i, r, i, r],
    [0, 1, 5, 2, 3],
  ],
])(
  "under the schedule of waits [0,1,2,3,4] s, only the first callback attempt that a crash interrupts adds a wait of 5 s: attempts that end as %j start after the waits %j",
  (outcomes, waitsS) => {
    expect(play(null, report, [0, 1, 2, 3, 4], outcomes)).toMatchObject({ waitsS, last: "failed" });
  },
);

describe("a task with waits of its own", () => {
  const scheduleMs = [7 * SECOND, 60 * SECOND, 90 * SECOND, 1_000 * SECOND];
  const own = aReport(aCompletion(), aCreation({ callbackScheduleMs: scheduleMs }));

  it.each([
    ["of three waits", DEFAULT_S],
    ["of one wait", [0]],
    ["of ten waits", [0, 1, 1, 1, 1, 1, 1, 1, 1, 1]],
  ])(
    "a task that was created with waits of its own makes as many callback attempts after exactly these waits, whatever schedule is configured: one %s",
    (_what, configured) => {
      const series = play(null, own, configured, [r, r, i, r]);
      expect(series).toMatchObject({ waitsS: [7, 60, 90, 5], last: "failed" });
      const again = play(series.task, aRedelivery({ attempts: 3 }), configured, [r, r, r]);
      expect(again).toMatchObject({ waitsS: [0, 60, 90], last: "failed" });
    },
  );

  it("a task that was registered with waits of its own makes its callback attempts after them", () => {
    const registration = aRegistration({ callbackScheduleMs: scheduleMs });
    const open = apply(null, registration);
    const series = play(open, aReport(aCompletion()), DEFAULT_S, [r, r, r, r]);
    expect(series).toMatchObject({ waitsS: [7, 60, 90, 1_000], last: "failed" });
  });

  it("a registration that is repeated with other waits before callback attempts conflicts with the first one", () => {
    const open = apply(null, aRegistration({ callbackScheduleMs: scheduleMs }));
    const repeat = (changes: object) => transition(open, aRegistration(changes), POLICY, NOW);
    expect(repeat({ callbackScheduleMs: [...scheduleMs] }).kind).toBe("unchanged");
    for (const changes of [{}, { callbackScheduleMs: [0] }]) {
      expect(repeat(changes)).toMatchObject({ rejection: { code: "task_exists" } });
    }
  });
});

it("a redelivery that may make only one callback attempt counts as failed when a crash interrupts this attempt", () => {
  const failed = play(null, report, DEFAULT_S, [r, r, r]).task;
  expect(play(failed, aRedelivery(), DEFAULT_S, [i])).toMatchObject({
    waitsS: [0],
    last: "failed",
  });
});

/** Returns the schedule of a configuration that sets none, in seconds. */
function defaultScheduleS(): readonly number[] {
  const secrets = { RELAY_SECRET: "test-only-relay-secret-0123456789abcdef" };
  const vars = { ...secrets, OPERATOR_KEYS: "test-only-operator-key" };
  const config = parseConfig(vars, {
    global_fetch_strictly_public: true,
    durable_object_io_tasks_prevent_eviction: true,
  });
  if (!config.ok) throw new Error(JSON.stringify(config));
  return config.value.scheduleMs.map((waitMs) => waitMs / SECOND);
}

/**
 * Plays a series of attempts. Each ends 20 s after its start, or is found interrupted at that time.
 * @param order event that starts the series.
 * @returns the task, the wait before each attempt, and the state of the callback after the last one.
 */
function play(
  before: TaskRecord | null,
  order: TaskEvent,
  scheduleS: readonly number[],
  outcomes: readonly Outcome[],
): { task: TaskRecord; waitsS: readonly number[]; last: string } {
  const policy = aPolicy({ scheduleMs: scheduleS.map((waitS) => waitS * SECOND) });
  const waitsS: number[] = [];
  let now = NOW;
  let task = apply(before, order, now, policy);
  for (const outcome of outcomes) {
    const { state } = callbackOf(task);
    if (state.kind === "due") {
      task = apply(task, { type: "attempt_started" }, state.nextAttemptAt, policy);
    }
    const open = callbackOf(task).state;
    if (open.kind !== "in_flight") throw new Error(`expected an attempt: ${open.kind}`);
    waitsS.push((open.startedAt - now) / SECOND);
    now = open.startedAt + 20 * SECOND;
    task = apply(task, anEndAs(open.number, outcome), now, policy);
  }
  return { task, waitsS, last: callbackOf(task).state.kind };
}

function endAfter(outcomes: readonly Outcome[]): string {
  return outcomes.at(-1) === d ? "delivered" : "failed";
}
