import { describe, expect, it } from "vitest";
import { startedDelivery } from "../../src/core/duties/callback-attempt.ts";
import type { TaskEvent } from "../../src/core/events/event.ts";
import { nextStep, wakeAt } from "../../src/core/step.ts";
import { transition } from "../../src/core/transition.ts";
import {
  ACCOUNT,
  aCallback,
  aCompletion,
  aFailure,
  aFinishedTask,
  anOpenTask,
  aPolicy,
  aReport,
  DAY,
  HOUR,
  NOW,
  POLICY,
  runningSince,
} from "./builders.ts";
import { failedBody } from "./credit-builders.ts";
import { apply, expectRefused, expectUnchanged, finish } from "./decisions.ts";

const deadline: TaskEvent = { type: "deadline" };
const erase: TaskEvent = { type: "erase" };
const task = anOpenTask({ deadlineAt: NOW + HOUR });
const AT = NOW + HOUR;
const timedOut = finish(task, deadline, AT);

describe("the deadline of an open task", () => {
  it("when an open task's deadline comes, the task fails with upstream_timeout, and the first attempt of its callback begins", () => {
    const message = "The upstream did not report a result before the deadline.";
    expect(timedOut).toEqual(
      aFinishedTask({
        version: AT,
        registration: task.registration,
        status: "failed",
        body: failedBody("upstream_timeout", message),
        failure: { category: "timeout", retryable: true },
        callback: aCallback({
          attempts: [],
          lastNumber: 1,
          series: { number: 1, started: 1, ordered: null, keyName: null },
          state: runningSince(AT),
          deliveredAt: null,
        }),
        finishedAt: AT,
        expiresAt: AT + 28 * DAY,
      }),
    );
  });

  it("a task with the status processing fails at its deadline, too", () => {
    const open = anOpenTask({ status: "processing", deadlineAt: NOW });
    expect(apply(open, deadline).status).toBe("failed");
  });

  it.each([
    ["the deadline is one millisecond ahead", task, AT - 1],
    ["the task is already finished", aFinishedTask(), NOW + 365 * DAY],
    ["there is no task", null, NOW],
  ])(
    "the internal event by which a task fails at its deadline changes nothing when %s",
    (_when, record, now) => {
      expectUnchanged(record, deadline, now);
    },
  );

  it("the alarm of an open task is set for the deadline that the task stores, even while the relay is paused or after the configured deadline has changed", () => {
    for (const changes of [{}, { pausedAt: NOW + DAY }, { taskDeadlineMs: 1 }]) {
      const policy = aPolicy(changes);
      expect(wakeAt(task, policy)).toBe(AT);
      expect(nextStep(task, policy, AT - 1)).toBeNull();
      expect(nextStep(task, policy, AT)).toEqual({ kind: "event", event: deadline });
    }
  });

  it.each([
    ["success", aCompletion()],
    ["different failure", aFailure()],
  ])(
    "a %s that is reported by POST /v1/events after the task has failed at its deadline is refused with the code conflicting_result",
    (_what, result) => {
      expectRefused(timedOut, aReport(result), "conflicting_result", AT + HOUR);
    },
  );
});

describe("a finished task", () => {
  it.each([
    ["with a delivered callback", aFinishedTask({ expiresAt: AT })],
    ["without a callback", aFinishedTask({ callback: null, expiresAt: AT })],
  ])(
    "a finished task %s is erased when the time for which it is stored ends, and not before",
    (_what, record) => {
      expect(wakeAt(record, POLICY)).toBe(AT);
      expect(nextStep(record, POLICY, AT - 1)).toBeNull();
      expect(nextStep(record, POLICY, AT)).toEqual({ kind: "event", event: erase });
    },
  );

  it("a finished task whose next callback attempt is still planned is not erased, even when the time for which it should be stored is over", () => {
    const state = { kind: "due", nextAttemptAt: NOW + 9 * DAY } as const;
    const record = aFinishedTask({ callback: aCallback({ state }), expiresAt: AT });
    expect(wakeAt(record, POLICY)).toBe(NOW + 9 * DAY);
    expect(nextStep(record, POLICY, AT)).toBeNull();
  });

  it("when a change starts a callback attempt, the callback is sent: to its URL, with its body and the number of the attempt", () => {
    const state = runningSince(NOW, 3);
    const record = aFinishedTask({ account: ACCOUNT, callback: aCallback({ state }) });
    const { id: taskId, account, status, body, origin } = record;
    const { url } = aCallback();
    const attempt = { url, number: 3, startedAt: NOW, provider: null };
    const delivery = { taskId, account, status, body, origin, ...attempt };
    expect(startedDelivery(aFinishedTask({ callback: aCallback() }), record)).toEqual(delivery);
    expect(startedDelivery(record, { ...record, expiresAt: AT })).toBeNull();
  });
});

describe("an order to erase a task", () => {
  const due = { kind: "due", nextAttemptAt: NOW } as const;
  const inFlight = runningSince(NOW);

  it.each([
    ["whose callback was delivered", aFinishedTask()],
    [
      "whose callback failed for good",
      aFinishedTask({ callback: aCallback({ state: { kind: "failed" } }) }),
    ],
    ["that has no callback", aFinishedTask({ callback: null })],
  ])("a request to erase a task removes a finished task %s", (_what, record) => {
    const decision = { kind: "erase", record, because: "settled" };
    expect(transition(record, erase, POLICY, NOW)).toEqual(decision);
  });

  it.each([
    ["the task is open", anOpenTask(), "task_open"],
    [
      "its callback is due",
      aFinishedTask({ callback: aCallback({ state: due }) }),
      "series_running",
    ],
    ["its callback is being sent", inFlightTask(), "series_running"],
    ["the task does not exist", null, "unknown_task"],
  ])("a request to erase a task is refused when %s", (_when, record, code) => {
    expectRefused(record, erase, code);
  });

  function inFlightTask() {
    return aFinishedTask({ callback: aCallback({ state: inFlight }) });
  }
});
