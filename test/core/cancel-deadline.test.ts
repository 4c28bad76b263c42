import { describe, expect, it } from "vitest";
import { cancelJob } from "../../src/core/duties/cancel-job.ts";
import type { PollAnswer } from "../../src/core/events/event.ts";
import { nextStep, wakeAt } from "../../src/core/step.ts";
import type { OpenTask, TaskRecord } from "../../src/core/record/task.ts";
import {
  aCompletion,
  anOpenTask,
  DAY,
  HOUR,
  MINUTE,
  NOW,
  POLICY,
  PROCESSING,
  SECOND,
} from "./builders.ts";
import {
  aCancelEnd,
  aCancelingTask,
  aCancellation,
  answeredAs,
  cancelable,
  CANCELABLE,
} from "./cancel-builders.ts";
import { failedBody } from "./credit-builders.ts";
import { apply, expectUnchanged, finish } from "./decisions.ts";
import {
  anAnswer,
  anAttachedTask,
  anAttachment,
  anUpstreamFailure,
  aPlan,
  aPollEnd,
  aTracking,
  DEADLINE_STEP,
  JOB,
  newsAnswer,
  NO_OUTPUT,
  OTHER_JOB,
  QUEUED,
  UNANSWERED,
  UNAUTHORIZED,
} from "./upstream-builders.ts";

const deadlineAt = NOW + 4 * HOUR;
const LATE = deadlineAt + 3 * SECOND;
const ENDS_AT = LATE + 30 * SECOND;
const TIMEOUT_BODY = failedBody(
  "upstream_timeout",
  "The upstream did not report a result before the deadline.",
);
const CANCELED_JOB = anUpstreamFailure({ failure: { category: "canceled", retryable: false } });

/** Builds a task whose next poll is planned after its deadline, which has been extended already. */
function anExtendedTask(changes: Partial<OpenTask> = {}): OpenTask {
  const poll = aPlan({ postponedTo: deadlineAt + 2 * MINUTE });
  const tracking = aTracking({ poll, isExtended: true });
  return anAttachedTask({}, { deadlineAt, tracking, ...changes });
}

/** Returns the task after the final poll at its deadline, in settings in which jobs can be canceled. */
function afterLastPoll(answer: PollAnswer, task = anExtendedTask()): TaskRecord {
  return apply(task, aPollEnd(answer), LATE, CANCELABLE);
}

/** The cancellation that begins at the deadline. */
const AT_DEADLINE = aCancellation({
  reason: "deadline",
  requestedAt: LATE,
  endsAt: ENDS_AT,
  state: { kind: "asking", retryAt: LATE, tries: 0 },
});
const canceling = anExtendedTask({ cancellation: AT_DEADLINE });

describe("the deadline of a task whose job the relay can cancel", () => {
  it("when the poll at a task's deadline finds the job still running, the relay first extends the deadline, once, and does not cancel the job yet", () => {
    const task = anExtendedTask({ tracking: aTracking() });
    const extended = afterLastPoll(newsAnswer(PROCESSING), task);
    expect(extended).toMatchObject({ tracking: { isExtended: true }, cancellation: null });
  });

  it.each([
    ["states that the job is still running", newsAnswer(PROCESSING), anExtendedTask()],
    ["is missing", UNANSWERED, anExtendedTask()],
    [
      "is missing and the deadline has never been extended",
      UNANSWERED,
      anExtendedTask({ tracking: aTracking() }),
    ],
    ["refuses the key", UNAUTHORIZED, anExtendedTask()],
  ])(
    "when the upstream's answer to the poll at a task's deadline %s, the relay does not fail the task yet, but tries for 30 s to cancel its job at the upstream",
    (_what, answer, task) => {
      const after = afterLastPoll(answer, task);
      expect(after).toMatchObject({ cancellation: AT_DEADLINE });
      expect(nextStep(after, CANCELABLE, LATE)).toMatchObject({ kind: "cancelJob" });
    },
  );

  it("a task whose job cannot be canceled fails at once after the last poll at its deadline, without a cancellation", () => {
    const end = finish(anExtendedTask(), aPollEnd(UNANSWERED), LATE, POLICY);
    expect(end).toMatchObject({ body: TIMEOUT_BODY, cancellation: null });
  });

  it("while the relay is paused, a task fails at its deadline without a poll, and the upstream is not asked to cancel the job", () => {
    const policy = cancelable({ pausedAt: deadlineAt });
    expect(nextStep(anExtendedTask(), policy, deadlineAt)).toEqual(DEADLINE_STEP);
  });

  it("when the relay cancels a job because its task's deadline has come, and the upstream confirms this, the task fails with upstream_timeout, not as canceled", () => {
    expect(finish(canceling, aCancelEnd("canceled"), LATE, CANCELABLE)).toMatchObject({
      body: TIMEOUT_BODY,
      failure: { category: "timeout", retryable: true },
      cancellation: { state: { kind: "confirmed" } },
    });
  });

  it.each([
    ["refused", "refused"],
    ["unclear", "unknown"],
  ] as const)(
    "when the upstream's answer to the call that cancels a job at its task's deadline is %s, the relay polls the job at once for the last time, and then fails the task",
    (kind, state) => {
      const after = apply(canceling, aCancelEnd(kind, 409), LATE, CANCELABLE);
      expect(after).toMatchObject({ cancellation: { endsAt: LATE, state: { kind: state } } });
      expect(nextStep(after, CANCELABLE, LATE)).toMatchObject({ kind: "poll" });
      const end = finish(after, aPollEnd(newsAnswer(PROCESSING)), LATE, CANCELABLE);
      expect(end).toMatchObject({ body: TIMEOUT_BODY });
    },
  );

  it.each(["accepted", "ended"] as const)(
    "when the upstream's answer to the call that cancels a job at its task's deadline is %s, the task stays open for up to 30 s, in which the relay polls the job",
    (kind) => {
      const after = apply(canceling, aCancelEnd(kind), LATE, CANCELABLE);
      expect(after).toMatchObject({ cancellation: { endsAt: ENDS_AT, state: { kind } } });
      const running = aPollEnd(newsAnswer(PROCESSING), { askedAt: LATE });
      const polled = apply(after, running, LATE, CANCELABLE);
      expect(polled.status).toBe("processing");
      expect(wakeAt(polled, cancelable({ polledAt: LATE + 20 * SECOND }))).toBe(ENDS_AT);
      const last = aPollEnd(newsAnswer(PROCESSING), { askedAt: ENDS_AT });
      expect(finish(polled, last, ENDS_AT, CANCELABLE)).toMatchObject({ body: TIMEOUT_BODY });
    },
  );

  it.each([
    ["finds a result completes the task", aCompletion(), { status: "completed" }],
    [
      "finds a failure fails the task with the category of the failure",
      anUpstreamFailure(),
      { failure: { category: "moderation" } },
    ],
    [
      "finds the job canceled fails the task with upstream_timeout",
      CANCELED_JOB,
      { body: TIMEOUT_BODY },
    ],
  ])(
    "when the upstream has answered the call to cancel a job at its task's deadline by saying that the job has ended already, a poll that then %s",
    (_what, news, expected) => {
      const after = apply(canceling, aCancelEnd("ended"), LATE, CANCELABLE);
      expect(finish(after, aPollEnd(newsAnswer(news)), LATE, CANCELABLE)).toMatchObject(expected);
    },
  );

  it("at the deadline, a call to cancel the job that gets no answer is repeated for 30 s at most; then the job is polled once more, and the task fails", () => {
    const unanswered = aCancelEnd("unanswered", null);
    const retried = apply(canceling, unanswered, ENDS_AT - 4 * SECOND, CANCELABLE);
    expect(wakeAt(retried, CANCELABLE)).toBe(ENDS_AT);
    expect(nextStep(retried, CANCELABLE, ENDS_AT + DAY)).toMatchObject({ kind: "poll" });
    const end = finish(retried, aPollEnd(UNANSWERED), ENDS_AT, CANCELABLE);
    expect(end).toMatchObject({ body: TIMEOUT_BODY });
  });

  it("once the relay has begun to cancel a job at its task's deadline, a poll that finds the job queued does not extend this deadline, even if it was never extended before", () => {
    const task = { ...canceling, tracking: aTracking() };
    const end = finish(task, aPollEnd(newsAnswer(QUEUED)), ENDS_AT, CANCELABLE);
    expect(end).toMatchObject({ body: TIMEOUT_BODY });
  });

  it("when the operator removes the connection's API key while the relay cancels a job at its task's deadline, the task fails 30 s after the cancellation began", () => {
    const noKey = cancelable({ polls: new Map() });
    const asked = { ...canceling, cancellation: { ...AT_DEADLINE, state: answeredAs("accepted") } };
    expect(nextStep(asked, noKey, ENDS_AT)).toEqual(DEADLINE_STEP);
    expectUnchanged(asked, DEADLINE_STEP.event, ENDS_AT - 1, noKey);
    expect(finish(asked, DEADLINE_STEP.event, ENDS_AT, noKey)).toMatchObject({
      body: TIMEOUT_BODY,
    });
  });

  it("when polls find a job successful without output while the relay cancels it at its task's deadline, the task still waits for the output after the 30 s of the cancellation", () => {
    const since = ENDS_AT - MINUTE;
    const poll = aPlan({ answer: anAnswer("no_output", since) });
    const task = { ...canceling, tracking: aTracking({ poll }) };
    const last = aPollEnd(newsAnswer(NO_OUTPUT), { askedAt: ENDS_AT });
    expectUnchanged(task, last, ENDS_AT, CANCELABLE);
  });

  it("while the relay is canceling a job because its task's deadline has come, a client's order to cancel the task changes nothing, also once the upstream has answered", () => {
    const order = { type: "cancel", isForced: false } as const;
    expectUnchanged(canceling, order, LATE, CANCELABLE);
    const answered = apply(canceling, aCancelEnd("accepted"), LATE, CANCELABLE);
    expectUnchanged(answered, order, LATE, CANCELABLE);
  });

  it("when a second job is attached to a task while the first is being canceled at the deadline, the relay cancels the second one instead", () => {
    expect(apply(canceling, anAttachment(OTHER_JOB), LATE, CANCELABLE)).toMatchObject({
      upstream: { job: OTHER_JOB },
      cancellation: AT_DEADLINE,
    });
  });
});

describe("an order to cancel whose outcome is open at the deadline", () => {
  it.each([
    ["asking", { kind: "asking", retryAt: LATE + SECOND, tries: 1 }],
    ["accepted", answeredAs("accepted")],
  ] as const)(
    "when a client's order to cancel a task is in the state %s at the task's deadline, the upstream gets 30 s more; if it then cancels the job, the task fails as canceled, not as timed out",
    (_kind, state) => {
      const cancellation = aCancellation({ state });
      const after = afterLastPoll(UNANSWERED, anExtendedTask({ cancellation }));
      expect(after).toMatchObject({ cancellation: { ...cancellation, endsAt: ENDS_AT } });
      const end = finish(after, aPollEnd(newsAnswer(CANCELED_JOB)), LATE, CANCELABLE);
      expect(end).toMatchObject({ body: failedBody("canceled", "The task was canceled.") });
    },
  );

  it.each(["ended", "refused", "unknown"] as const)(
    "at a task's deadline, the relay asks the upstream again to cancel the job when a client's earlier order to cancel it is in the state %s",
    (kind) => {
      const cancellation = aCancellation({ state: answeredAs(kind) });
      const after = afterLastPoll(UNANSWERED, anExtendedTask({ cancellation }));
      expect(after).toMatchObject({ cancellation: AT_DEADLINE });
    },
  );

  it("when the upstream has refused a client's order to cancel a job, the task keeps its deadline, and the job is polled then as usual", () => {
    const state = answeredAs("refused");
    const task = aCancelingTask({ state }, { deadlineAt });
    const policy = cancelable({ polledAt: deadlineAt - 1, pollLateness: 1 });
    expect(wakeAt(task, policy)).toBe(deadlineAt);
    expect(nextStep(task, policy, deadlineAt)).toMatchObject({ kind: "poll", poll: { job: JOB } });
  });
});

it("a task without a job fails as soon as its deadline has come", () => {
  const end = finish(anOpenTask({ deadlineAt }), DEADLINE_STEP.event, deadlineAt, CANCELABLE);
  expect(end).toMatchObject({ body: TIMEOUT_BODY, cancellation: null });
});

it("the relay does not repeat an unanswered call to cancel a job when the repetition would be due only at the time at which the task fails anyway", () => {
  const endsAt = NOW + MINUTE;
  const [before, at] = [endsAt - 1, endsAt].map((retryAt) =>
    cancelJob(aCancelingTask({ endsAt, state: { kind: "asking", retryAt, tries: 1 } })),
  );
  expect(before?.dueAt).toBe(endsAt - 1);
  expect(at).toBeNull();
});
