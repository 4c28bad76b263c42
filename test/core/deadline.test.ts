import { describe, expect, it } from "vitest";
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
} from "./builders.ts";
import { failedBody } from "./credit-builders.ts";
import { apply, expectRefused, expectUnchanged, finish } from "./decisions.ts";

const deadline: TaskEvent = { type: "deadline" };
const erase: TaskEvent = { type: "erase" };
const task = anOpenTask({ deadlineAt: NOW + HOUR });
const AT = NOW + HOUR;
const timedOut = finish(task, deadline, AT);

describe("the deadline of an open task", () => {
  it("fails the task with upstream_timeout and sends that like any failure", () => {
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
          series: { number: 1, started: 1, ordered: null },
          state: { kind: "in_flight", number: 1, startedAt: AT },
          deliveredAt: null,
        }),
        finishedAt: AT,
        expiresAt: AT + 28 * DAY,
      }),
    );
  });

  it("fails a processing task too", () => {
    const open = anOpenTask({ status: "processing", deadlineAt: NOW });
    expect(apply(open, deadline).status).toBe("failed");
  });

  it.each([
    ["the deadline is one millisecond ahead", task, AT - 1],
    ["the task is finished", aFinishedTask(), NOW + 365 * DAY],
    ["there is no task", null, NOW],
  ])("changes nothing when %s", (_when, record, now) => {
    expectUnchanged(record, deadline, now);
  });

  it("is what an open task wakes for, paused or not, whatever is configured now", () => {
    for (const changes of [{}, { pausedUntil: NOW + DAY }, { taskDeadlineMs: 1 }]) {
      const policy = aPolicy(changes);
      expect(wakeAt(task, policy)).toBe(AT);
      expect(nextStep(task, policy, AT - 1)).toBeNull();
      expect(nextStep(task, policy, AT)).toEqual({ kind: "event", event: deadline });
    }
  });

  it.each([
    ["success", aCompletion()],
    ["other failure", aFailure()],
  ])("makes a later report of a %s a conflict", (_what, result) => {
    expectRefused(timedOut, aReport(result), "conflicting_result", AT + HOUR);
  });
});

describe("a finished task", () => {
  it.each([
    ["with a settled callback", aFinishedTask({ expiresAt: AT })],
    ["without a callback", aFinishedTask({ callback: null, expiresAt: AT })],
  ])("%s expires when its retention ends, not before", (_what, record) => {
    expect(wakeAt(record, POLICY)).toBe(AT);
    expect(nextStep(record, POLICY, AT - 1)).toBeNull();
    expect(nextStep(record, POLICY, AT)).toEqual({ kind: "event", event: erase });
  });

  it("does not expire while its callback is unsettled, however late", () => {
    const state = { kind: "due", nextAttemptAt: NOW + 9 * DAY } as const;
    const record = aFinishedTask({ callback: aCallback({ state }), expiresAt: AT });
    expect(wakeAt(record, POLICY)).toBe(NOW + 9 * DAY);
    expect(nextStep(record, POLICY, AT)).toBeNull();
  });

  it("gives its open attempt all that is needed to send it", () => {
    const state = { kind: "in_flight", number: 3, startedAt: NOW } as const;
    const record = aFinishedTask({ account: ACCOUNT, callback: aCallback({ state }) });
    const { id: taskId, account, status, body, origin } = record;
    const { url } = aCallback();
    const attempt = { url, number: 3, startedAt: NOW, provider: null };
    expect(nextStep(record, POLICY, NOW)).toEqual({
      kind: "send",
      delivery: { taskId, account, status, body, origin, ...attempt },
    });
  });
});

describe("an order to erase", () => {
  const due = { kind: "due", nextAttemptAt: NOW } as const;
  const inFlight = { kind: "in_flight", number: 1, startedAt: NOW } as const;

  it.each([
    ["was delivered", aFinishedTask()],
    ["failed for good", aFinishedTask({ callback: aCallback({ state: { kind: "failed" } }) })],
    ["does not exist", aFinishedTask({ callback: null })],
  ])("erases a finished task whose callback %s", (_what, record) => {
    const decision = { kind: "erase", record, because: "settled" };
    expect(transition(record, erase, POLICY, NOW)).toEqual(decision);
  });

  it.each([
    ["the task is open", anOpenTask(), "task_open"],
    ["an attempt is due", aFinishedTask({ callback: aCallback({ state: due }) }), "series_running"],
    ["an attempt is open", inFlightTask(), "series_running"],
    ["there is no task", null, "unknown_task"],
  ])("is refused when %s", (_when, record, code) => {
    expectRefused(record, erase, code);
  });

  function inFlightTask() {
    return aFinishedTask({ callback: aCallback({ state: inFlight }) });
  }
});
