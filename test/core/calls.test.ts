import { describe, expect, it } from "vitest";
import { callStartOf } from "../../src/core/events/call-start.ts";
import type { TaskEvent } from "../../src/core/events/event.ts";
import { parseRecord } from "../../src/core/record/record-schema.ts";
import type { TaskRecord } from "../../src/core/record/task.ts";
import type { UnreadReason } from "../../src/core/record/unread-answer.ts";
import { nextStep, wakeAt } from "../../src/core/step.ts";
import { transition } from "../../src/core/transition.ts";
import { taskFacts } from "../../src/core/views/task-facts.ts";
import { rowOf } from "../../src/core/views/index-row.ts";
import { taskView } from "../../src/core/views/task-view.ts";
import {
  aCompletion,
  aFinishedTask,
  aPolicy,
  aReport,
  HOUR,
  LIMITS,
  MINUTE,
  NOW,
  NOW_S,
  POLICY,
  SECOND,
} from "./builders.ts";
import { cancelable } from "./cancel-builders.ts";
import { aChargeEnd, credits, refunding } from "./credit-builders.ts";
import { apply, expectRefused, expectUnchanged, finish } from "./decisions.ts";
import {
  accepted,
  aCallingTask,
  aCallStart,
  aChargingSubmission,
  aCustomerKey,
  anAcceptance,
  anAttemptStart,
  ANSWER,
  anUnknownOutcome,
  aStay,
  aPricedSubmission,
  aQueuedTask,
  aRefusal,
  aRefusedCall,
  aResultAtOnce,
  aSendingTask,
  aSubmission,
  aSubmissionHook,
  aSubmitEnd,
  aSubmittedRegistration,
  aWaitingTask,
  CALL_ENDS_AT,
  MEMBER_A,
  NOT_SENT,
  OTHER_SUBMISSION_ID,
  POOL,
  QUEUE_ENDS_AT,
  SEALED_KEY,
  SUBMISSION_ID,
  withPrice,
} from "./submission-builders.ts";
import { anAttachment, aProvidedRegistration, JOB } from "./upstream-builders.ts";

const LATER = NOW + 3 * SECOND;
const queued = aQueuedTask();
const calling = aCallingTask();
const canceled: TaskEvent = { type: "cancel", isForced: false };
const canceledByAccount: TaskEvent = { type: "cancel_submitted" };
const UNSENT = { kind: "unsent" } as const;

/** Returns what the object of a call is told after its order to begin the call. */
function startOf(record: TaskRecord | null, now = LATER, submissionId = SUBMISSION_ID) {
  const start = aCallStart(submissionId);
  const decision = transition(record, start, POLICY, now);
  const after = decision.kind === "changed" ? decision.record : record;
  return callStartOf(after, start);
}

function errorOf({ body }: { readonly body: string }): string {
  return JSON.parse(body).error.code;
}

function submissionOf(task: TaskRecord, reader: "operator" | "account") {
  return JSON.parse(taskView(task, reader)).submission;
}

describe("the registration of a call whose caller does not wait", () => {
  it("a call is queued for an hour, and is not sent by the request that registers it", () => {
    const task = apply(null, aSubmittedRegistration({}, { isCall: true, isHookless: true }));
    expect(task).toMatchObject({ status: "pending", submission: queued.submission });
    expect(wakeAt(task, POLICY)).toBe(QUEUE_ENDS_AT);
    expect(parseRecord(task)).toEqual(task);
  });

  it("a call is queued no longer than to the deadline of its task", () => {
    const event = aSubmittedRegistration({ deadlineMs: 5 * MINUTE }, { isCall: true });
    const task = apply(null, event);
    expect(task.submission?.state).toEqual({ kind: "queued", failsAt: NOW + 5 * MINUTE });
  });

  it("a call with a price is queued for an hour from its registration on, and may be sent when the price is charged", () => {
    const charging = apply(null, aPricedSubmission({}, { isCall: true }));
    const task = apply(charging, aChargeEnd(), LATER);
    expect(task).toMatchObject({
      status: "pending",
      submission: { startedAt: LATER, state: { kind: "queued", failsAt: QUEUE_ENDS_AT } },
    });
  });

  const isCall = true;
  const again = aSubmittedRegistration({}, { id: OTHER_SUBMISSION_ID, isCall });
  const waiting = aSubmittedRegistration({}, { id: OTHER_SUBMISSION_ID });

  it.each([
    ["queued", queued],
    ["being sent", calling],
    ["refused", apply(calling, aRefusal(), LATER)],
  ])("the repetition of a call that is %s gets the task as it is", (_state, task) => {
    expectUnchanged(task, again, LATER);
  });

  it.each([
    ["queued, by a caller who waits", queued, waiting],
    ["being sent, by a caller who waits", calling, waiting],
    ["of a caller who waits, by one who does not", aSendingTask(), again],
  ])("the repetition of a call that is %s is refused", (_state, task, event) => {
    expectRefused(task, event, "submission_running", LATER);
  });

  it("a registration without a submission under the id of a call is refused as a conflict", () => {
    expectRefused(calling, aProvidedRegistration(), "task_exists", LATER);
  });

  it("the repetition of a call waits for the charge of its task, but not when the call will not be sent", () => {
    const charging = aChargingSubmission({ submission: queued.submission });
    const priced = aPricedSubmission({}, { id: OTHER_SUBMISSION_ID, isCall });
    expectUnchanged(charging, priced, LATER);
    expectRefused(charging, aPricedSubmission({}, { id: OTHER_SUBMISSION_ID }), "charging");
    expectRefused(apply(charging, NOT_SENT), priced, "charging");
  });
});

describe("a call that begins", () => {
  it("a queued call is sent when its object begins it: the upstream then has ASYNC_TIMEOUT_S, and the object a minute to report", () => {
    const task = apply(queued, aCallStart(), LATER);
    const state = { kind: "sending", endsAt: LATER + POLICY.asyncTimeoutMs + MINUTE } as const;
    const submission = { ...queued.submission, startedAt: LATER, state };
    expect(task).toEqual({ ...queued, version: LATER, submission });
    const quick = apply(queued, aCallStart(), LATER, aPolicy({ asyncTimeoutMs: 10 * SECOND }));
    expect(quick.submission?.state).toMatchObject({ endsAt: LATER + 70 * SECOND });
  });

  it("the object of a call that begins gets the customer's key and what the keys of its files need", () => {
    const owned = aQueuedTask({ recordedAt: NOW - 1 }, { customerKey: aCustomerKey() });
    const endsAt = LATER + POLICY.asyncTimeoutMs + MINUTE;
    const facts = { recordedAt: NOW - 1, endsAt };
    expect(startOf(owned)).toEqual({ kind: "send", customerKey: SEALED_KEY, ...facts });
    expect(startOf(queued)).toMatchObject({ kind: "send", customerKey: null });
  });

  it("the object of a call that asks again while the call is being sent gets the same answer and changes nothing", () => {
    expectUnchanged(calling, aCallStart(), LATER);
    expect(startOf(calling)).toMatchObject({ kind: "send", endsAt: CALL_ENDS_AT });
  });

  it("a call waits while the price of its task is being charged", () => {
    const charging = aChargingSubmission({ submission: queued.submission });
    expectUnchanged(charging, aCallStart(), LATER);
    expect(startOf(charging)).toEqual({ kind: "wait" });
  });

  it.each<[string, TaskRecord | null]>([
    ["whose task does not exist", null],
    ["of an earlier task with the same id", aQueuedTask({}, { id: OTHER_SUBMISSION_ID })],
    ["of a task without a submission", aFinishedTask()],
  ])("a call %s is rejected and gone", (_what, record) => {
    expectRefused(record, aCallStart(), "unknown_task", LATER);
    expect(startOf(record)).toEqual({ kind: "gone" });
  });

  const unsent = apply(aChargingSubmission({ submission: queued.submission }), NOT_SENT);

  it.each<[string, TaskRecord]>([
    ["that will not be sent", unsent],
    ["whose price is being returned", apply(unsent, aChargeEnd())],
    ["that was canceled", apply(queued, canceled, NOW)],
    ["that has ended", apply(calling, aRefusal(), NOW)],
    ["whose job is known already", apply(queued, anAttachment(JOB), NOW)],
    [
      "whose outcome is unknown",
      apply({ ...calling, submission: aSubmission() }, anUnknownOutcome()),
    ],
  ])("a call %s is gone, and its task does not change", (_what, record) => {
    expectUnchanged(record, aCallStart(), LATER);
    expect(startOf(record)).toEqual({ kind: "gone" });
  });

  it("a call that is begun when its time to wait is over fails its task instead", () => {
    const task = finish(queued, aCallStart(), QUEUE_ENDS_AT);
    expect(errorOf(task)).toBe("queue_timeout");
    expect(startOf(queued, QUEUE_ENDS_AT)).toEqual({ kind: "gone" });
    expect(startOf(queued, QUEUE_ENDS_AT - 1)).toMatchObject({ kind: "send" });
  });
});

describe("a call that is not begun in time", () => {
  const lost: TaskEvent = { type: "submission_lost" };

  it("a call that was not begun in time fails with queue_timeout before any other event, and its price is refunded before the callback", () => {
    const priced = withPrice(queued);
    const step = nextStep(priced, POLICY, QUEUE_ENDS_AT);
    expect(step).toEqual({ kind: "event", event: lost });
    const task = finish(priced, lost, QUEUE_ENDS_AT);
    expect(errorOf(task)).toBe("queue_timeout");
    expect(task).toMatchObject({
      failure: { category: "timeout", retryable: true },
      credits: credits(refunding(QUEUE_ENDS_AT)),
      callback: { state: { kind: "held" } },
      submission: { state: UNSENT },
    });
  });

  it("a call that a member of a pool has refused, and that was not begun again in time, fails with queue_timeout although a hook has named a job", () => {
    const limits = { ...LIMITS, isCreationStated: true };
    const policy = aPolicy({ polls: new Map([POOL, MEMBER_A].map((name) => [name, limits])) });
    const state = { kind: "queued", failsAt: QUEUE_ENDS_AT } as const;
    const submission = aSubmission({ isCall: true, state, stay: aStay() });
    const hook = aSubmissionHook(aCompletion(), { connection: POOL });
    const task = [anAttemptStart(), hook, aRefusedCall()].reduce<TaskRecord>(
      (record, event) => apply(record, event, LATER, policy),
      aWaitingTask({ submission }),
    );
    expect(task).toMatchObject({
      submission: { state: { kind: "queued", failsAt: QUEUE_ENDS_AT } },
      tracking: { keptHooks: [{ jobId: JOB.id }] },
    });
    expect(nextStep(task, policy, QUEUE_ENDS_AT)).toEqual({ kind: "event", event: lost });
  });

  it("at the deadline of its task, a queued call fails with queue_timeout", () => {
    const early = { kind: "queued", failsAt: queued.deadlineAt } as const;
    const task = aQueuedTask({}, { state: early });
    expect(nextStep(task, POLICY, queued.deadlineAt)).toEqual({ kind: "event", event: lost });
  });

  it("a queued call does not fail before its time", () => {
    expectUnchanged(queued, lost, QUEUE_ENDS_AT - 1);
    expect(nextStep(queued, POLICY, QUEUE_ENDS_AT - 1)?.kind).not.toBe("event");
    expectUnchanged(calling, lost, QUEUE_ENDS_AT);
  });
});

describe("the end of a call", () => {
  it.each([
    ["queued", queued],
    ["being sent", calling],
  ])(
    "a refusal fails the task of a call that is %s, which keeps the answer, is refunded and has its callback",
    (_state, task) => {
      const refused = finish(withPrice(task), aRefusal(400, "final", ANSWER), LATER);
      expect(errorOf(refused)).toBe("upstream_error");
      expect(refused).toMatchObject({
        failure: { category: "invalid_input" },
        credits: credits(refunding(LATER)),
        callback: { state: { kind: "held" } },
        submission: { answer: ANSWER, state: { statusCode: 400, refusal: "final" } },
      });
      expect(parseRecord(refused)).toEqual(refused);
    },
  );

  it("a refusal with a reason of the upstream's own fails the task for this reason", () => {
    const error = { code: "upstream_error", message: "Rejected by the safety system." };
    const failure = { category: "moderation", retryable: false } as const;
    const outcome = { kind: "refused", statusCode: 400, refusal: "final" } as const;
    const refused = finish(calling, aSubmitEnd({ ...outcome, end: { error, failure } }), LATER);
    expect(JSON.parse(refused.body)).toMatchObject({ error });
    expect(refused).toMatchObject({ failure, submission: { state: { refusal: "final" } } });
  });

  it.each([
    ["queued", queued],
    ["being sent", calling],
  ])("a call that is %s and could not be sent fails its task, which is refunded", (_s, task) => {
    const failed = finish(withPrice(task), NOT_SENT, LATER);
    expect(errorOf(failed)).toBe("upstream_error");
    expect(failed).toMatchObject({
      failure: { category: "provider", retryable: true },
      credits: credits(refunding(LATER)),
      submission: { state: UNSENT },
    });
  });

  it("the task of a call with an unknown outcome fails at once if nothing can show a job, and otherwise waits", () => {
    for (const task of [queued, calling]) {
      expect(errorOf(finish(task, anUnknownOutcome(524), LATER))).toBe("submit_unknown");
    }
    const { isHookless: _, ...submission } = aSubmission({ ...calling.submission });
    const hooked = apply({ ...calling, submission }, anUnknownOutcome(524), LATER);
    expect(hooked).toMatchObject({ status: "pending", submission: { state: { kind: "unknown" } } });
  });

  it.each<[UnreadReason, boolean, RegExp]>([
    ["broken", true, /is not what its type says, or is cut short/],
    ["too_large", false, /is larger than the relay takes, or a file in it is/],
    ["too_many", false, /has more files than the relay takes/],
    ["unreachable", true, /broke off, or did not arrive in time/],
    ["not_stored", true, /the relay could not store a file in it/],
  ])(
    "a task whose answer could not be read (%s) tells why, and that it may have been billed; retryable is %s",
    (unread, retryable, reason) => {
      const outcome = { kind: "unknown", statusCode: 200, unread } as const;
      const failed = finish(withPrice(calling), aSubmitEnd(outcome), LATER);
      const { code, message } = JSON.parse(failed.body).error;
      expect(code).toBe("submit_unknown");
      expect(message).toMatch(reason);
      expect(message).toMatch(/ The upstream may have billed the call\.$/);
      expect(failed.failure).toEqual({ category: "timeout", retryable });
      expect(failed.credits).toEqual(credits(refunding(LATER)));
    },
  );

  it("a call that its object does not report fails its task when the time for the report is over", () => {
    const step = nextStep(calling, POLICY, CALL_ENDS_AT);
    expect(step).toMatchObject({ event: { type: "submit_ended", outcome: { kind: "unknown" } } });
    expect(nextStep(calling, POLICY, CALL_ENDS_AT - 1)?.kind).not.toBe("event");
  });

  it("a call that starts a job is accepted as any submission", () => {
    const state = accepted(LATER);
    expect(apply(calling, anAcceptance(), LATER)).toMatchObject({ submission: { state } });
  });

  it("the second report about a call changes nothing", () => {
    for (const event of [aRefusal(), NOT_SENT, anUnknownOutcome(), aResultAtOnce(aCompletion())]) {
      expectUnchanged(apply(calling, event, LATER), event, LATER + SECOND);
    }
  });
});

describe("news of another job or result than that of a call", () => {
  const processing = aReport({ status: "processing" });

  const passing = aSendingTask({ submission: aSubmission({ isPassedOn: true }) });

  it.each([
    ["a report of a result", aReport()],
    ["a report of progress", processing],
    ["an order to attach a job", anAttachment()],
  ])(
    "%s is refused while the call may be storing files under the keys of the task's outputs",
    (_what, event) => {
      for (const task of [calling, passing]) {
        expectRefused(task, event, "submission_running", LATER);
      }
    },
  );

  it.each([
    ["waits", queued],
    ["has a caller who waits", aSendingTask({ submission: aSubmission({ isHookless: true }) })],
    ["can get a hook", aSendingTask({ submission: aSubmission({ isCall: true }) })],
  ])("is taken by a task whose call %s", (_state, task) => {
    expect(finish(task, aReport(), LATER).status).toBe("completed");
    expect(apply(task, anAttachment(), LATER)).toMatchObject({ upstream: { job: JOB } });
  });

  it("a report and an order to attach a job find a task as ended that has ended while its call was under way", () => {
    const failed = finish(calling, anUnknownOutcome(), LATER);
    expectRefused(failed, aReport(), "conflicting_result", LATER);
    expectRefused(failed, anAttachment(), "task_settled", LATER);
  });
});

describe("an order to cancel a call", () => {
  const own = aQueuedTask({}, { isByOwner: true });

  it.each([
    ["the operator", queued, canceled],
    ["the account that has submitted it", own, canceledByAccount],
  ])("a queued call is canceled at once by %s, and its price is refunded", (_who, task, event) => {
    const ended = finish(withPrice(task), event, LATER);
    expect(errorOf(ended)).toBe("canceled");
    expect(ended).toMatchObject({
      credits: credits(refunding(LATER)),
      submission: { state: UNSENT },
      cancellation: { state: { kind: "not_sent" } },
    });
    expect(startOf(ended)).toEqual({ kind: "gone" });
  });

  it("a queued call is canceled at once even if its job could be canceled, because its caller has chosen the job's id", () => {
    const named = aQueuedTask({ upstream: { connection: "ark", job: JOB } });
    expect(errorOf(finish(named, canceled, LATER, cancelable()))).toBe("canceled");
  });

  it("an account cannot cancel a queued call of the operator", () => {
    expectRefused(queued, canceledByAccount, "not_cancelable", LATER);
  });

  it("a call that is being sent cannot be canceled", () => {
    expectRefused(calling, canceled, "submission_running", LATER);
  });

  it("the console offers to cancel a queued call to the operator and to the account that has submitted it", () => {
    const effects = [
      taskFacts(own, "operator", POLICY),
      taskFacts(own, "account", POLICY),
      taskFacts(queued, "account", POLICY),
    ];
    expect(effects.map(({ cancelEffect }) => cancelEffect)).toEqual(["fail", "fail", null]);
  });
});

describe("what readers see of a call", () => {
  it.each(["operator", "account"] as const)(
    "a queued call shows since when it waits and until when it must be sent to the %s",
    (reader) => {
      const times = { started_at: NOW_S, start_by: NOW_S + HOUR / SECOND };
      expect(submissionOf(queued, reader)).toEqual({ state: "queued", ...times });
    },
  );

  it("a refused call shows that it was refused, with the status of the answer, and its class to the operator alone", () => {
    const task = apply(calling, aRefusal(402, "funds"), LATER);
    const shown = { state: "refused", answered_at: NOW_S + 3, status_code: 402 };
    expect(submissionOf(task, "account")).toEqual({ ...shown, started_at: NOW_S });
    expect(submissionOf(task, "operator")).toMatchObject({ ...shown, refusal: "funds" });
  });

  it("a call that was never sent shows so", () => {
    expect(submissionOf(apply(queued, canceled), "account")).toMatchObject({ state: "unsent" });
  });

  it("the index has a queued call until it fails, a refused call with its class, and no submission for a call that was never sent", () => {
    expect(rowOf(queued, POLICY)).toMatchObject({ submission: "queued", dueAt: QUEUE_ENDS_AT });
    const refused = finish(calling, aRefusal(402, "funds"));
    expect(rowOf(refused, POLICY)).toMatchObject({ submission: "refused", refusal: "funds" });
    expect(rowOf(finish(queued, canceled), POLICY).submission).toBeNull();
  });
});
