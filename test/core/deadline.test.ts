import { describe, expect, it } from "vitest";
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
  finished,
  HOUR,
  ID,
  MODEL,
  NOW,
  NOW_S,
  POLICY,
} from "./builders.ts";

const deadline = { type: "deadline" } as const;
const task = anOpenTask({ deadlineAt: NOW + HOUR });
const AT = NOW + HOUR;

const timedOut = finished(transition(task, deadline, POLICY, AT));

describe("the deadline of an open task", () => {
  it("fails it with upstream_timeout and sends that like any failure", () => {
    const { registration } = task;
    expect(timedOut).toEqual(
      aFinishedTask({
        version: AT,
        registration,
        status: "failed",
        body: JSON.stringify({
          id: ID,
          status: "failed",
          model: MODEL,
          created_at: NOW_S,
          error: {
            code: "upstream_timeout",
            message: "The upstream did not report a result before the deadline.",
          },
        }),
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

  it.each(["pending", "processing"] as const)("ends a %s task", (status) => {
    const open = anOpenTask({ status, deadlineAt: NOW });
    expect(transition(open, deadline, POLICY, NOW).kind).toBe("changed");
  });

  it("does nothing one millisecond early", () => {
    expect(transition(task, deadline, POLICY, AT - 1)).toEqual({ kind: "unchanged", record: task });
  });

  it("does nothing to a finished task", () => {
    const record = aFinishedTask();
    expect(transition(record, deadline, POLICY, NOW + 365 * DAY)).toEqual({
      kind: "unchanged",
      record,
    });
  });

  it("does nothing where there is no task", () => {
    expect(transition(null, deadline, POLICY, NOW)).toEqual({ kind: "unchanged", record: null });
  });

  it("is what an open task wakes for, paused or not", () => {
    const paused = aPolicy({ pausedUntil: NOW + DAY });
    for (const policy of [POLICY, paused]) {
      expect(wakeAt(task, policy)).toBe(AT);
      expect(nextStep(task, policy, AT - 1)).toBeNull();
      expect(nextStep(task, policy, AT)).toEqual({ kind: "event", event: { type: "deadline" } });
    }
  });

  it("is kept when the configured one changes", () => {
    expect(wakeAt(task, aPolicy({ taskDeadlineMs: 1 }))).toBe(AT);
  });
});

describe("a report after the deadline", () => {
  it.each([
    ["a success", aCompletion()],
    ["another failure", aFailure()],
  ])("that is %s is a conflict with the timed-out task", (_what, result) => {
    expect(transition(timedOut, aReport(result), POLICY, AT + HOUR)).toEqual({
      kind: "reject",
      rejection: { code: "conflicting_result", task: timedOut },
    });
  });
});

describe("a finished task", () => {
  it("is erased when its retention ends, not before", () => {
    const record = aFinishedTask({ expiresAt: AT });
    expect(wakeAt(record, POLICY)).toBe(AT);
    expect(nextStep(record, POLICY, AT - 1)).toBeNull();
    expect(nextStep(record, POLICY, AT)).toEqual({ kind: "event", event: { type: "erase" } });
  });

  it("without a callback is erased too", () => {
    const record = aFinishedTask({ callback: null, expiresAt: AT });
    expect(nextStep(record, POLICY, AT)).toEqual({ kind: "event", event: { type: "erase" } });
  });

  it("is not erased while its callback is unsettled, however late", () => {
    const state = { kind: "due", nextAttemptAt: NOW + 9 * DAY } as const;
    const record = aFinishedTask({ callback: aCallback({ state }), expiresAt: AT });
    expect(wakeAt(record, POLICY)).toBe(NOW + 9 * DAY);
    expect(nextStep(record, POLICY, AT)).toBeNull();
  });

  it("says all that its open attempt needs to be sent", () => {
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

describe("erase", () => {
  const due = { kind: "due", nextAttemptAt: NOW } as const;
  const inFlight = { kind: "in_flight", number: 1, startedAt: NOW } as const;

  it.each([
    ["delivered", aFinishedTask()],
    ["failed for good", aFinishedTask({ callback: aCallback({ state: { kind: "failed" } }) })],
    ["never to be sent", aFinishedTask({ callback: null })],
  ])("erases a task whose callback is %s", (_what, record) => {
    const decision = transition(record, { type: "erase" }, POLICY, NOW);
    expect(decision).toEqual({ kind: "erase", record, because: "settled" });
  });

  it.each([
    ["open", anOpenTask(), "task_open"],
    [
      "waiting for an attempt",
      aFinishedTask({ callback: aCallback({ state: due }) }),
      "series_running",
    ],
    ["being sent", aFinishedTask({ callback: aCallback({ state: inFlight }) }), "series_running"],
  ])("is refused while a task is %s", (_what, record, code) => {
    expect(transition(record, { type: "erase" }, POLICY, NOW)).toEqual({
      kind: "reject",
      rejection: { code, task: record },
    });
  });

  it("does not know a task that is not there", () => {
    expect(transition(null, { type: "erase" }, POLICY, NOW)).toEqual({
      kind: "reject",
      rejection: { code: "unknown_task" },
    });
  });
});
