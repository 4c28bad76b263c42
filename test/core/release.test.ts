import { describe, expect, it } from "vitest";
import { startedDelivery } from "../../src/core/duties/callback-attempt.ts";
import { release } from "../../src/core/duties/release.ts";
import type { TaskEvent } from "../../src/core/events/event.ts";
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
  runningSince,
  SECOND,
} from "./builders.ts";
import {
  aChargedTask,
  aPricedRegistration,
  aReleaseEnd,
  aReleasingTask,
  CHARGE_ID,
  credits,
  PRICE,
  PRICE_RULE,
} from "./credit-builders.ts";
import { expectRefused, expectUnchanged, finish } from "./decisions.ts";

const later = NOW + HOUR;
const told = aPolicy({ isOperatorNotified: true });
const registration = { ...aPricedRegistration().registration, priceRule: PRICE_RULE };
const task = aChargedTask({ registration });
/** Report of a completed job that has used this many seconds, each of which costs half a credit. */
const used = (seconds: number) => aReport({ ...aCompletion(), usage: { seconds } });

describe("the end of a task with a price by usage", () => {
  it("when a completed task costs less than was charged, the difference is released to its account, and the callback does not wait for this release", () => {
    const completed = finish(task, used(25), later);
    expect(completed.usage).toEqual({ seconds: 25 });
    expect(completed.credits).toEqual(
      credits(
        { kind: "releasing", retryAt: later, tries: 0 },
        { final: { credits: 13, basis: "usage" } },
      ),
    );
    expect(completed.callback?.state).toEqual(runningSince(later));
    expect(startedDelivery(task, completed)?.number).toBe(1);
    const delivered = finish(completed, anEndAs(1, "delivered"), later);
    expect(nextStep(delivered, POLICY, later)).toEqual({
      kind: "release",
      release: {
        taskId: ID,
        accountId: ACCOUNT.id,
        chargeId: CHARGE_ID,
        amount: PRICE - 13,
        final: 13,
        usage: { seconds: 25 },
      },
    });
  });

  it.each([
    ["costs all that was charged", 80],
    ["costs more than was charged", 81],
  ])("no credits are released for a completed task that %s", (_what, seconds) => {
    const completed = finish(task, used(seconds), later);
    const final = { credits: PRICE, basis: "usage" } as const;
    expect(completed.credits).toEqual(credits(undefined, { final }));
  });

  it("when nobody states the usage of a completed task with a price by usage, the task costs all charged credits, and the operator is sent one event about it", () => {
    const completed = finish(task, aReport(), later, told);
    const final = { credits: PRICE, basis: "hold" } as const;
    expect(completed.credits).toEqual(credits(undefined, { final }));
    expect(completed.notices).toMatchObject([
      {
        kind: "price.unknown",
        version: later,
        details: { credits: PRICE, usage: "seconds", reason: "absent" },
      },
    ]);
    expectUnchanged(completed, aReport(), later, told);
  });

  it("when a task's price by usage is above the charged credits, the operator is sent an event with the difference", () => {
    const { notices } = finish(task, used(100), later, told);
    const details = { credits: PRICE, usage: "seconds", missing: 10 };
    expect(notices).toMatchObject([{ kind: "price.above_hold", version: later, details }]);
  });

  it("the operator is sent no event about a price by usage within the charged credits, and none about any price when OPERATOR_EVENTS leaves out the events about prices", () => {
    expect(finish(task, used(25), later, told).notices).toEqual([]);
    const unwantedNotices = new Set(["price.unknown", "price.above_hold"]);
    for (const event of [used(100), aReport()]) {
      expect(finish(task, event, later, { ...told, unwantedNotices }).notices).toEqual([]);
    }
  });

  it("all charged credits of a failed task are refunded, whatever usage its job states", () => {
    const failed = finish(task, aReport({ ...aFailure(), usage: { seconds: 25 } }), later);
    expect(failed.usage).toEqual({ seconds: 25 });
    expect(failed.credits).toEqual(credits({ kind: "refunding", retryAt: later, tries: 0 }));
  });

  it("a usage that the job states does not change a task with a fixed price or without a price", () => {
    expect(finish(aChargedTask(), used(25), later, told)).toMatchObject({
      credits: credits(),
      notices: [],
    });
    expect(finish({ ...task, credits: null }, used(25), later, told)).toMatchObject({
      credits: null,
      notices: [],
    });
  });
});

describe("the end of a release", () => {
  const releasing = aReleasingTask();

  it("when the credits that a task did not cost have been released to its account, the task stores this, and its retention begins anew", () => {
    expect(finish(releasing, aReleaseEnd(true), later)).toEqual({
      ...releasing,
      version: later,
      credits: credits({ kind: "released", at: later }, { final: { credits: 13, basis: "usage" } }),
      expiresAt: later + 28 * DAY,
    });
  });

  it("when the ledger does not answer a release of the credits that a task did not cost, the release is repeated for the same amount, with the waits of a refund and without end", () => {
    let record: TaskRecord = releasing;
    const waits: number[] = [];
    let now = NOW;
    for (let i = 0; i < 10_000; i++) {
      record = finish(record, aReleaseEnd(false), now);
      const wake = wakeAt(record, POLICY);
      waits.push((wake - now) / SECOND);
      now = wake;
    }
    expect(waits.slice(0, 8)).toEqual([5, 10, 20, 40, 80, 160, 300, 300]);
    expect(now - NOW).toBeGreaterThan(POLICY.retentionMs);
    expect(nextStep(record, POLICY, now)).toMatchObject({
      kind: "release",
      release: { amount: PRICE - 13, final: 13 },
    });
    expect(nextStep(record, POLICY, now - 1)).toBeNull();
  });

  it("the operator is sent one event when the ledger has not confirmed a release of credits for 5 minutes", () => {
    let record: TerminalTask = { ...releasing, finishedAt: NOW };
    for (let now = NOW; now < NOW + HOUR; now = wakeAt({ ...record, notices: [] }, told)) {
      record = finish(record, aReleaseEnd(false), now, told);
    }
    expect(record.notices.map(({ kind }) => kind)).toEqual(["refund.delayed"]);
  });

  it.each<[string, TaskRecord | null]>([
    ["a task that does not exist", null],
    ["an open task", task],
    ["a task without a price", aFinishedTask()],
    ["a task with a fixed price", aFinishedTask({ credits: credits() })],
    ["a refunded task", aFinishedTask({ credits: credits({ kind: "refunded", at: NOW }) })],
    [
      "a task whose release is already confirmed",
      aReleasingTask({ credits: credits({ kind: "released", at: NOW }) }),
    ],
  ])(
    "the ledger's answer to a release of credits is ignored when it arrives for %s",
    (_what, record) => {
      for (const isReleased of [true, false]) {
        expectUnchanged(record, aReleaseEnd(isReleased), later);
      }
    },
  );
});

it("when the credits above a task's cost have been released, no further order to release them is given", () => {
  const { credits: pending } = aReleasingTask();
  const state = { kind: "released", at: later } as const;
  expect(release(aReleasingTask(), POLICY)).not.toBeNull();
  expect(release(aReleasingTask({ credits: pending && { ...pending, state } }), POLICY)).toBeNull();
});

describe("a task whose release is pending", () => {
  it.each<[string, TaskEvent, string]>([
    ["an erasure", { type: "erase" }, "series_running"],
    ["a cancellation", { type: "cancel", isForced: false }, "task_settled"],
    ["another result", aReport(aFailure()), "conflicting_result"],
  ])("a task whose release of credits is pending refuses %s", (_what, event, code) => {
    expectRefused(aReleasingTask(), event, code, later);
  });

  it("when a task's release of credits is pending, the answer to a refund does not refund the task", () => {
    const event = { type: "refund_ended", isRefunded: true, submissionId: null } as const;
    expectUnchanged(aReleasingTask(), event, later);
  });

  it("while a task's release of credits is pending, a redelivery starts at once, and the release stays planned", () => {
    const pending = aReleasingTask();
    const sent = finish(pending, aRedelivery(), later);
    expect(sent.callback?.state).toEqual(runningSince(later, 2));
    expect(sent.credits).toEqual(pending.credits);
  });

  it.each([
    ["by the ledger", CHARGE_ID, 2_500],
    ["by the operator's own billing", null, 24_500],
  ])(
    "a release of credits %s is not started so shortly before a callback attempt that it could delay the attempt",
    (_what, chargeId, clearanceMs) => {
      const waiting = (nextAttemptAt: number) => {
        const callback = aCallback({ state: { kind: "due", nextAttemptAt } });
        const { final } = aReleasingTask().credits ?? { final: null };
        const state = { kind: "releasing", retryAt: later, tries: 0 } as const;
        return aReleasingTask({
          version: NOW,
          callback,
          credits: credits(state, { chargeId, final }),
        });
      };
      expect(nextStep(waiting(later + clearanceMs), POLICY, later)?.kind).toBe("release");
      expect(nextStep(waiting(later + clearanceMs - 1), POLICY, later)).toBeNull();
      expect(wakeAt(waiting(later + MINUTE), POLICY)).toBe(later);
    },
  );

  it("credits are released also while the relay is paused", () => {
    const paused = aPolicy({ pausedAt: later });
    const callback = aCallback({ state: { kind: "due", nextAttemptAt: later } });
    const waiting = aReleasingTask({ callback });
    expect(nextStep(waiting, paused, later)?.kind).toBe("release");
  });
});
