import { describe, expect, it } from "vitest";
import { startedDelivery } from "../../src/core/duties/callback-attempt.ts";
import type { TaskEvent } from "../../src/core/events/event.ts";
import { unsentCancellation } from "../../src/core/record/cancellation.ts";
import { nextStep, wakeAt } from "../../src/core/step.ts";
import type { TaskRecord, TerminalTask } from "../../src/core/record/task.ts";
import {
  ACCOUNT,
  aCallback,
  aCompletion,
  aFailure,
  aFinishedTask,
  anEndAs,
  aPolicy,
  aRedelivery,
  aReport,
  DAY,
  HOUR,
  ID,
  MINUTE,
  NOW,
  POLICY,
  SECOND,
  URL_B,
  runningSince,
} from "./builders.ts";
import {
  aChargedTask,
  aHeldCallback,
  aRefundEnd,
  aRefundingTask,
  CHARGE_ID,
  credits,
  failedBody,
  PRICE,
  refunding,
} from "./credit-builders.ts";
import { expectRefused, expectUnchanged, finish } from "./decisions.ts";

const later = NOW + HOUR;
const cancel: TaskEvent = { type: "cancel", isForced: false };

const failures: [string, TaskEvent, string, TerminalTask["failure"], string][] = [
  ["a reported failure", aReport(aFailure()), "content_policy", null, "The prompt was refused."],
  [
    "its deadline",
    { type: "deadline" },
    "upstream_timeout",
    { category: "timeout", retryable: true },
    "The upstream did not report a result before the deadline.",
  ],
  [
    "a cancellation",
    cancel,
    "canceled",
    { category: "canceled", retryable: false },
    "The task was canceled.",
  ],
];

describe.each(failures)(
  "a charged task that fails because of %s",
  (what, event, code, failure, message) => {
    const task = aChargedTask({ deadlineAt: later });
    const failed = finish(task, event, later);

    it(`a charged task that fails because of ${what} sends no callback until its credits are refunded`, () => {
      expect(failed).toEqual(
        aRefundingTask({
          version: later,
          body: failedBody(code, message),
          failure,
          cancellation: event.type === "cancel" ? unsentCancellation(later) : null,
          credits: credits(refunding(later)),
          finishedAt: later,
          found: event.type === "report" ? { by: "report", lateMs: null } : null,
          expiresAt: later + 28 * DAY,
        }),
      );
    });

    it(`when a charged task fails because of ${what}, the refund is the only step planned next, and is due at once`, () => {
      const refund = { taskId: ID, accountId: ACCOUNT.id, chargeId: CHARGE_ID, amount: PRICE };
      expect(wakeAt(failed, POLICY)).toBe(later);
      for (const at of [later, later + 365 * DAY]) {
        expect(nextStep(failed, POLICY, at)).toEqual({
          kind: "refund",
          refund: { ...refund, reason: code, submissionId: null },
        });
      }
    });

    it(`a charged task without a callback_url is refunded when it fails because of ${what}`, () => {
      const silent = finish({ ...task, callbackUrl: null }, event, later);
      expect(silent).toEqual({ ...failed, callback: null });
      expect(nextStep(silent, POLICY, later)?.kind).toBe("refund");
    });

    it(`a task charged by the operator's own billing is refunded by that billing when the task fails because of ${what}`, () => {
      const own = { ...task, credits: credits(undefined, { chargeId: null }) };
      const settling = finish(own, event, later);
      expect(nextStep(settling, POLICY, later)).toMatchObject({ refund: { chargeId: null } });
      expect(settling.callback).toEqual(failed.callback);
    });

    it(`a task without a price is not refunded when it fails because of ${what}`, () => {
      const free = finish({ ...task, credits: null }, event, later);
      expect(free.credits).toBeNull();
      expect(free.callback?.state).toEqual(runningSince(later));
    });
  },
);

describe("a charged task that completes", () => {
  it("a charged task that completes is not refunded, and its callback is sent at once", () => {
    const completed = finish(aChargedTask(), aReport(), later);
    expect(completed.credits).toEqual(credits());
    expect(completed.callback?.state).toEqual(runningSince(later));
    expect(startedDelivery(aChargedTask(), completed)?.number).toBe(1);
  });
});

describe("the end of a refund", () => {
  const held = aRefundingTask();
  const refunded = {
    ...held,
    version: later,
    credits: credits({ kind: "refunded", at: later }),
    expiresAt: later + 28 * DAY,
  };

  it("a successful refund and the start of the first callback attempt are stored in one commit", () => {
    const callback = aHeldCallback();
    expect(finish(held, aRefundEnd(true), later)).toEqual({
      ...refunded,
      callback: {
        ...callback,
        lastNumber: 1,
        series: { ...callback.series, started: 1 },
        state: runningSince(later),
      },
    });
  });

  it.each([
    ["after the first wait of the schedule", aPolicy({ scheduleMs: [MINUTE, 0] }), MINUTE],
    ["after the pause, when the relay is paused", aPolicy({ pausedAt: later }), MINUTE],
  ])("after a successful refund, the first callback attempt starts %s", (_what, policy, waitMs) => {
    const record = finish(held, aRefundEnd(true), later, policy);
    expect(record.callback?.state.kind).toBe("due");
    expect(wakeAt(record, policy)).toBe(later + waitMs);
  });

  it("a task without a callback has no step left after a successful refund but its erasure", () => {
    const silent = { ...held, callback: null };
    const record = finish(silent, aRefundEnd(true), later);
    expect(record).toEqual({ ...refunded, callback: null });
    expect(wakeAt(record, POLICY)).toBe(later + 28 * DAY);
  });

  it("a refund that gets no answer is repeated after 5 s, then each time after twice the wait up to 5 min, without end", () => {
    let record: TaskRecord = held;
    const waits: number[] = [];
    let now = NOW;
    for (let i = 0; i < 10_000; i++) {
      record = finish(record, aRefundEnd(false), now);
      const wake = wakeAt(record, POLICY);
      waits.push((wake - now) / SECOND);
      now = wake;
    }
    expect(waits.slice(0, 8)).toEqual([5, 10, 20, 40, 80, 160, 300, 300]);
    expect(waits.slice(8).every((wait) => wait === 300)).toBe(true);
    // The time is more than a month later: after the end of the retention, a pending refund is still tried.
    expect(now - NOW).toBeGreaterThan(POLICY.retentionMs);
    expect(nextStep(record, POLICY, now)?.kind).toBe("refund");
    expect(nextStep(record, POLICY, now - 1)).toBeNull();
    expect(record).toMatchObject({ callback: held.callback, body: held.body });
    const done = finish(record, aRefundEnd(true), now);
    expect(done.callback?.state).toEqual(runningSince(now));
  });

  it("a refund that the ledger confirms when the task's callback is already delivered or has failed does not begin the callback attempts anew", () => {
    for (const kind of ["delivered", "failed"] as const) {
      const callback = aCallback({ state: { kind } });
      const done = finish(aRefundingTask({ callback }), aRefundEnd(true), later);
      expect(done.callback).toEqual(callback);
    }
  });

  it.each<[string, TaskRecord | null]>([
    ["a task that does not exist", null],
    ["an open task", aChargedTask()],
    ["a task without a price", aFinishedTask()],
    ["a completed task", aFinishedTask({ credits: credits() })],
    ["a refunded task", aFinishedTask({ credits: credits({ kind: "refunded", at: NOW }) })],
  ])("the ledger's answer to a refund is ignored when it arrives for %s", (_what, record) => {
    for (const isRefunded of [true, false]) {
      expectUnchanged(record, aRefundEnd(isRefunded), later);
    }
  });
});

describe("a task whose refund is pending", () => {
  const tasks = [aRefundingTask(), aRefundingTask({ callback: null })];

  it.each<[string, TaskEvent, string]>([
    ["a redelivery", aRedelivery({ idempotencyKey: "k" }), "series_running"],
    ["a redelivery to another URL", aRedelivery({ callbackUrl: URL_B }), "series_running"],
    ["an erasure", { type: "erase" }, "series_running"],
    ["a cancellation", cancel, "task_settled"],
    ["another result", aReport(aCompletion()), "conflicting_result"],
  ])("a task whose refund is pending refuses %s", (_what, event, code) => {
    for (const record of tasks) {
      expectRefused(record, event, code, later);
    }
  });

  it.each<[string, TaskEvent]>([
    ["the same failure again", aReport(aFailure())],
    ["the passing of its deadline", { type: "deadline" }],
    ["the start of a callback attempt", { type: "attempt_started" }],
    ["the end of a callback attempt", anEndAs(1, "delivered")],
  ])("a task whose refund is pending is not changed by %s", (_what, event) => {
    for (const record of tasks) {
      expectUnchanged(record, event, later);
    }
  });
});

describe("a redelivery", () => {
  it.each([
    ["charged", aFinishedTask({ credits: credits() })],
    [
      "refunded",
      aFinishedTask({ status: "failed", credits: credits({ kind: "refunded", at: NOW }) }),
    ],
  ])("a redelivery of a task whose credits are %s changes no credits", (_what, task) => {
    const sent = finish(task, aRedelivery(), later);
    expect(sent.callback?.state).toEqual(runningSince(later, 2));
    const ended = finish(sent, anEndAs(2, "timeout"), later);
    expect([sent.credits, ended.credits]).toEqual([task.credits, task.credits]);
    expect(wakeAt(ended, POLICY)).toBe(later + 28 * DAY);
  });
});
