import { describe, expect, it } from "vitest";
import type { CancelEvent } from "../../src/core/events/event.ts";
import type { OpenTask } from "../../src/core/record/task.ts";
import { nextStep, wakeAt } from "../../src/core/step.ts";
import { transition } from "../../src/core/transition.ts";
import { taskFacts } from "../../src/core/views/task-facts.ts";
import {
  aFinishedTask,
  aReport,
  anOpenTask,
  HOUR,
  NOW,
  POLICY,
  SECOND,
  URL_A,
} from "./builders.ts";
import {
  aCancelEnd,
  aCancelingTask,
  aCancellation,
  answeredAs,
  cancelable,
  CANCELABLE,
} from "./cancel-builders.ts";
import { aChargedTask, credits, failedBody, refunding } from "./credit-builders.ts";
import { apply, expectRefused, expectUnchanged, finish } from "./decisions.ts";
import { aSendingTask, aSubmission, accepted } from "./submission-builders.ts";
import {
  anAttachedTask,
  anAttachment,
  anUpstreamFailure,
  aHook,
  aPollEnd,
  aProvidedTask,
  FIRST_POLL,
  JOB,
  newsAnswer,
  OTHER_JOB,
  UPSTREAM,
} from "./upstream-builders.ts";

const later = NOW + HOUR;
const cancel: CancelEvent = { type: "cancel", isForced: false };
const byOwner = { type: "cancel_submitted" } as const;
const byForce: CancelEvent = { type: "cancel", isForced: true };
const CANCELED_BODY = failedBody("canceled", "The task was canceled.");
const NOT_SENT = aCancellation({ state: { kind: "not_sent" } });
const CANCELED_JOB = anUpstreamFailure({ failure: { category: "canceled", retryable: false } });

/** Builds a task whose job the account has submitted. */
function anOwnTask(): OpenTask {
  const submission = aSubmission({ isByOwner: true, state: accepted() });
  return anAttachedTask({}, { submission });
}

const CALL = {
  kind: "cancelJob",
  cancel: {
    taskId: anOpenTask().id,
    ...UPSTREAM,
    customerKey: null,
    createdAt: NOW,
    isRepeat: false,
  },
} as const;

describe("cancel of a task whose job the relay cannot cancel", () => {
  it.each(["pending", "processing"] as const)(
    "an order to cancel fails a %s task without a provider at once, and the task states that no upstream was asked to cancel a job",
    (status) => {
      expect(finish(anOpenTask({ status }), cancel, later)).toMatchObject({
        status: "failed",
        body: CANCELED_BODY,
        failure: { category: "canceled", retryable: false },
        cancellation: { ...NOT_SENT, requestedAt: later },
        credits: null,
        callback: { url: URL_A, state: { kind: "in_flight", number: 1 } },
      });
    },
  );

  it.each([
    ["no provider", anOpenTask(), CANCELABLE],
    ["no job yet", aProvidedTask(), CANCELABLE],
    ["a job that cannot be canceled", anAttachedTask(), POLICY],
  ])("an order to cancel fails a task with %s at once", (_what, task, policy) => {
    expect(finish(task, cancel, NOW, policy)).toMatchObject({ cancellation: NOT_SENT });
  });
});

describe("cancel of a task whose job the relay can cancel", () => {
  const asked = apply(anAttachedTask(), cancel, NOW, CANCELABLE);

  it("an order to cancel a task whose upstream can cancel jobs is stored, leaves the task open, and makes the relay ask the upstream at once to cancel the job", () => {
    expect(asked).toEqual({
      ...anAttachedTask(),
      version: NOW + 1,
      cancellation: aCancellation(),
      indexRow: expect.anything(),
    });
    expect(wakeAt(asked, CANCELABLE)).toBe(NOW);
    expect(nextStep(asked, CANCELABLE, NOW)).toEqual(CALL);
  });

  it("when a cancellation and a poll of the same job are both due, the relay asks the upstream to cancel before it polls, and does so even while the relay is paused", () => {
    const overdue = { ...asked, tracking: aCancelingTask().tracking };
    const policy = cancelable({ pausedAt: later });
    expect(nextStep(overdue, CANCELABLE, later)).toEqual(CALL);
    expect(nextStep(overdue, policy, later)).toEqual(CALL);
  });

  it("a second order to cancel a task changes nothing while the relay is asking the upstream to cancel the job", () => {
    expectUnchanged(asked, cancel, later, CANCELABLE);
  });

  it.each(["accepted", "ended", "refused", "unknown"] as const)(
    "a second order to cancel a task makes the relay ask the upstream again when the state of the first order, set by the upstream's answer, is %s",
    (kind) => {
      const task = aCancelingTask({ state: answeredAs(kind) });
      expect(apply(task, cancel, later, CANCELABLE)).toMatchObject({
        cancellation: {
          requestedAt: later,
          state: { kind: "asking", retryAt: later, tries: 0 },
        },
      });
    },
  );

  it("the operator's order to cancel a task with force fails it at once, even when the upstream has refused to cancel the job or was not asked", () => {
    const refused = aCancelingTask({ state: answeredAs("refused", 409) });
    expect(finish(refused, byForce, later, CANCELABLE)).toMatchObject({
      body: CANCELED_BODY,
      cancellation: { state: answeredAs("refused", 409) },
    });
    expect(finish(anAttachedTask(), byForce, NOW, CANCELABLE)).toMatchObject({
      body: CANCELED_BODY,
      cancellation: NOT_SENT,
    });
  });
});

describe("cancel by the account that owns the task", () => {
  const own = anOwnTask();

  it("an account can cancel a task that it has submitted", () => {
    const task = apply(own, byOwner, NOW, CANCELABLE);
    expect(task).toMatchObject({ status: "pending", cancellation: aCancellation() });
  });

  it.each([
    ["is unknown", null, "unknown_task"],
    ["has ended", aFinishedTask(), "task_settled"],
    ["is being submitted", aSendingTask(), "submission_running"],
  ])("an account's request to cancel a task is refused when the task %s", (_what, record, code) => {
    expectRefused(record, byOwner, code, later);
  });

  it.each([
    ["registered by the operator", anAttachedTask(), CANCELABLE],
    [
      "submitted by the operator",
      anAttachedTask({}, { submission: aSubmission({ state: accepted() }) }),
      CANCELABLE,
    ],
    ["whose job is not known", aProvidedTask({ submission: own.submission }), CANCELABLE],
    ["whose job cannot be canceled", own, POLICY],
  ])(
    "an account's request to cancel its task is refused with not_cancelable for a task %s",
    (_what, task, policy) => {
      const decision = transition(task, byOwner, policy, NOW);
      expect(decision).toEqual({ kind: "reject", rejection: { code: "not_cancelable", task } });
    },
  );
});

describe("the upstream's answer to a cancellation", () => {
  const task = aCancelingTask();

  it("when the upstream confirms the cancellation, the task fails with the category canceled and is refunded", () => {
    const paid = { ...aChargedTask(), ...task, credits: credits() };
    expect(finish(paid, aCancelEnd("canceled"), later, CANCELABLE)).toMatchObject({
      body: CANCELED_BODY,
      failure: { category: "canceled", retryable: false },
      cancellation: { state: { kind: "confirmed" } },
      credits: { state: refunding(later) },
    });
  });

  it.each([
    ["accepted", "accepted"],
    ["ended", "ended"],
    ["refused", "refused"],
    ["unclear", "unknown"],
  ] as const)(
    "when the upstream's answer to a call to cancel a job is %s, the cancellation gets the state %s, the task stays open, and the relay polls the job at once",
    (kind, state) => {
      const after = apply(task, aCancelEnd(kind, 409), NOW, CANCELABLE);
      expect(after).toMatchObject({
        status: "pending",
        version: NOW + 1,
        cancellation: { endsAt: null, state: answeredAs(state, 409) },
      });
      expect(nextStep(after, CANCELABLE, NOW)).toMatchObject({
        kind: "poll",
        poll: { job: JOB, purpose: "result", isUrgent: true },
      });
    },
  );

  it.each([
    [120, true],
    [121, false],
  ])(
    "a poll made %i s after the upstream has answered a call to cancel the job is urgent, i.e. goes before polls of other tasks under the connection's limit: %s",
    (seconds, isFirst) => {
      const after = apply(task, aCancelEnd("refused"), NOW, CANCELABLE);
      expect(nextStep(after, CANCELABLE, NOW + seconds * SECOND)).toMatchObject({
        kind: "poll",
        poll: { isUrgent: isFirst },
      });
    },
  );

  it("when a job was polled in the same millisecond in which the upstream answered a call to cancel it, the relay polls again, because the poll may be older", () => {
    const policy = cancelable({ polledAt: NOW });
    const after = apply(task, aCancelEnd("ended"), NOW, policy);
    expect(after).toMatchObject({ cancellation: { state: { answeredAt: NOW + 1 } } });
    expect(wakeAt(after, policy)).toBe(NOW + 1);
  });

  it("a call to cancel that gets no answer is repeated after 5 s and 10 s, without a new version of the task; after the third call the outcome is unknown", () => {
    const unanswered = aCancelEnd("unanswered", null);
    const once = apply(task, unanswered, NOW, CANCELABLE);
    expect(once).toMatchObject({
      version: NOW,
      cancellation: { state: { kind: "asking", retryAt: NOW + 5 * SECOND, tries: 1 } },
    });
    expect(nextStep(once, CANCELABLE, NOW + 5 * SECOND)).toMatchObject({
      cancel: { isRepeat: true },
    });
    const twice = apply(once, unanswered, NOW + 5 * SECOND, CANCELABLE);
    expect(twice).toMatchObject({
      cancellation: { state: { kind: "asking", retryAt: NOW + 15 * SECOND, tries: 2 } },
    });
    const thrice = apply(twice, unanswered, NOW + 15 * SECOND, CANCELABLE);
    expect(thrice).toMatchObject({
      cancellation: {
        state: { kind: "unknown", answeredAt: NOW + 15 * SECOND, statusCode: null },
      },
    });
  });

  it.each([
    ["the task has ended", aFinishedTask()],
    ["nobody has ordered a cancellation", anAttachedTask()],
    ["the upstream has answered already", aCancelingTask({ state: answeredAs("refused") })],
    ["there is no task", null],
  ])(
    "an upstream's answer to a call to cancel a task's job changes nothing when %s",
    (_when, record) => {
      expectUnchanged(record, aCancelEnd("canceled"), NOW, CANCELABLE);
    },
  );

  it("the upstream's answer to a call to cancel a job changes nothing of the task when another job has been attached meanwhile", () => {
    expectUnchanged(task, aCancelEnd("canceled", 200, OTHER_JOB), NOW, CANCELABLE);
  });

  it("a job that is attached to a task while the relay is canceling the task's earlier job is canceled too; one that is attached after the upstream's answer is not", () => {
    const tried = aCancelingTask({ state: { kind: "asking", retryAt: later, tries: 2 } });
    expect(apply(tried, anAttachment(OTHER_JOB), NOW, CANCELABLE)).toMatchObject({
      cancellation: aCancellation(),
    });
    const refused = aCancelingTask({ state: answeredAs("refused") });
    expect(apply(refused, anAttachment(OTHER_JOB), NOW, CANCELABLE)).toMatchObject({
      cancellation: null,
    });
  });
});

describe("the polls after the answer to a cancellation", () => {
  it.each([
    ["accepted", [0, 1, 3, 10, 30, 60, 120]],
    ["ended", [0, 1, 3, 10, 30, 60, 120]],
    ["unknown", [0, 1, 3, 10, 30, 60, 120]],
    ["refused", [0]],
  ] as const)(
    "when the upstream's answer has set a cancellation to the state %s, the relay polls the job, in addition to its regular polls, this many seconds after the answer: %j",
    (kind, seconds) => {
      const task = aCancelingTask({ state: answeredAs(kind) });
      let polledAt = NOW - 1;
      for (const at of [...seconds.map((second) => NOW + second * SECOND), Infinity]) {
        const policy = cancelable({ polledAt, pollLateness: 0.5 });
        const regular = wakeAt(anAttachedTask(), policy) ?? NaN;
        expect(wakeAt(task, policy)).toBe(Math.min(at, regular));
        polledAt = at;
      }
    },
  );

  it("the poll after the upstream's answer to a call to cancel the job keeps the provider's minimum time between polls, but does not wait behind polls of other tasks", () => {
    const task = aCancelingTask({ state: { ...answeredAs("ended"), answeredAt: NOW + 500 } });
    expect(wakeAt(task, cancelable({ polledAt: NOW, askedAt: NOW }))).toBe(NOW + SECOND);
    const deferred = cancelable({ pollDeferredAt: NOW, pollDeferredTo: later });
    expect(wakeAt(task, deferred)).toBe(NOW + 500);
  });

  it.each(["asking", "accepted", "refused", "unknown"] as const)(
    "when a poll finds a job canceled and an order to cancel it is in the state %s, the task fails as canceled, and the order counts as confirmed",
    (kind) => {
      const state = kind === "asking" ? aCancellation().state : answeredAs(kind);
      const poll = aPollEnd(newsAnswer(CANCELED_JOB));
      expect(finish(aCancelingTask({ state }), poll, later, CANCELABLE)).toMatchObject({
        body: CANCELED_BODY,
        cancellation: { state: { kind: "confirmed" } },
        found: { by: "poll" },
      });
    },
  );

  it("when a signed hook says that a job is canceled which the relay has asked the upstream to cancel, the task fails as canceled, and the order counts as confirmed", () => {
    const hook = aHook(CANCELED_JOB, { isSigned: true });
    expect(finish(aCancelingTask(), hook, later, CANCELABLE)).toMatchObject({
      body: CANCELED_BODY,
      found: { by: "hook" },
    });
  });

  it("when a poll finds a job canceled although no client has ordered that at the relay, the task fails with the code upstream_error and the category canceled", () => {
    const poll = aPollEnd(newsAnswer(CANCELED_JOB));
    expect(finish(anAttachedTask(), poll, later, CANCELABLE)).toMatchObject({
      failure: { category: "canceled" },
      body: expect.stringContaining("upstream_error"),
    });
  });

  it("a success that is reported by POST /v1/events while the relay is canceling the job completes the task", () => {
    expect(finish(aCancelingTask(), aReport(), later, CANCELABLE)).toMatchObject({
      status: "completed",
      cancellation: aCancellation(),
    });
  });

  it("while the relay is asking the upstream to cancel a job, the job's next regular poll has the same time as without a cancellation", () => {
    const asking = { kind: "asking", retryAt: later, tries: 1 } as const;
    expect(wakeAt(aCancelingTask({ state: asking }), CANCELABLE)).toBe(FIRST_POLL);
  });
});

it.each([
  ["with a job", anAttachedTask(), "ask", null],
  ["that the account has submitted", anOwnTask(), "ask", "ask"],
  ["without a job", aProvidedTask(), "fail", null],
  ["whose submission is under way", aSendingTask(), null, null],
  ["that has ended", aFinishedTask(), null, null],
] as const)(
  "the console's page of a task %s says what an order to cancel would do: ask the upstream, fail the task, or nothing",
  (_what, task, byOperator, byAccount) => {
    const effectFor = (reader: "operator" | "account", policy = CANCELABLE) =>
      taskFacts(task, reader, policy).cancelEffect;
    expect([effectFor("operator"), effectFor("account")]).toEqual([byOperator, byAccount]);
    expect([effectFor("operator", POLICY), effectFor("account", POLICY)]).toEqual([
      byOperator && "fail",
      null,
    ]);
  },
);

const canceled = apply(anOpenTask(), cancel);

it.each([
  ["cancel of an unknown task", null, cancel, "unknown_task"],
  ["cancel of a completed task", aFinishedTask(), cancel, "task_settled"],
  ["cancel of a failed task", aFinishedTask({ status: "failed" }), cancel, "task_settled"],
  ["cancel of a canceled task", canceled, cancel, "task_settled"],
  ["the late result of a canceled task", canceled, aReport(), "conflicting_result"],
])(
  "the relay refuses to cancel a task that is not open, and refuses a result of a canceled task: %s is refused",
  (_what, record, event, code) => {
    expectRefused(record, event, code, later);
  },
);
