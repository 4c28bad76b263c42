import { describe, expect, it } from "vitest";
import type { SubmitEndedEvent, TaskEvent } from "../../src/core/events/event.ts";
import { passedAnswerMs } from "../../src/core/record/submission.ts";
import { isOpen, type TaskRecord } from "../../src/core/record/task.ts";
import { nextStep, wakeAt } from "../../src/core/step.ts";
import { transition } from "../../src/core/transition.ts";
import { taskView } from "../../src/core/views/task-view.ts";
import {
  aCompletion,
  aFinishedTask,
  anEndAs,
  anOpenTask,
  aPolicy,
  aRegistration,
  aReport,
  finished,
  ID,
  MINUTE,
  NOW,
  NOW_S,
  POLICY,
  PROCESSING,
  SECOND,
} from "./builders.ts";
import {
  aChargeEnd,
  aPricedRegistration,
  aRefundEnd,
  CHARGE_ID,
  credits,
  PRICE,
  refunding,
} from "./credit-builders.ts";
import { apply, expectRefused, expectUnchanged } from "./decisions.ts";
import {
  accepted,
  aChargingSubmission,
  aCustomerKey,
  anAcceptance,
  ANSWER,
  anUnknownOutcome,
  anUnknownTask,
  aPricedSubmission,
  aRefusal,
  aResultAtOnce,
  aSendingTask,
  aSubmission,
  aSubmissionHook,
  aSubmittedRegistration,
  knownOtherwise,
  NOT_SENT,
  OTHER_SUBMISSION_ID,
  SENDING_ENDS_AT,
  STATING,
  SUBMISSION_ID,
  unknown,
  withPrice,
} from "./submission-builders.ts";
import {
  aHook,
  aKeptHook,
  anAttachment,
  anUpstreamFailure,
  aPlan,
  aProvidedRegistration,
  aTracking,
  JOB,
  NO_OUTPUT,
  OTHER_JOB,
  QUEUED,
  UPSTREAM,
} from "./upstream-builders.ts";

const LATER = NOW + 3 * SECOND;
const sending = aSendingTask();
const priced = withPrice(sending);
const attached = apply(sending, anAcceptance(), LATER);
const REFUSALS: readonly (readonly [string, SubmitEndedEvent])[] = [
  ["refused", aRefusal()],
  ["not sent", NOT_SENT],
];

function viewOf(task: TaskRecord, reader: "operator" | "account" | "link") {
  return JSON.parse(taskView(task, reader));
}

describe("the registration of a task that the relay submits itself", () => {
  it('a registration with a submission creates a task whose submission is "sending" until SUBMIT_TIMEOUT_S and 10 s more have passed', () => {
    const task = apply(null, aSubmittedRegistration());
    expect(task).toMatchObject({ status: "pending", submission: aSubmission() });
    expect(wakeAt(task, POLICY)).toBe(SENDING_ENDS_AT);
    const quick = apply(null, aSubmittedRegistration(), NOW, aPolicy({ submitTimeoutMs: SECOND }));
    expect(quick.submission?.state).toEqual({ kind: "sending", endsAt: NOW + 11 * SECOND });
  });

  it.each([
    [90, 600],
    [600, 90],
  ])(
    'a submission whose answer is passed on is "sending" for 600 s, the longer of SUBMIT_TIMEOUT_S (%i) and ASYNC_TIMEOUT_S (%i), and three minutes more, in which a slow caller may read and files are stored',
    (submitS, asyncS) => {
      const times = { submitTimeoutMs: submitS * SECOND, asyncTimeoutMs: asyncS * SECOND };
      expect(passedAnswerMs(times)).toBe(12 * MINUTE);
      const policy = aPolicy(times);
      const state = { kind: "sending", endsAt: NOW + 13 * MINUTE };
      const passed = apply(null, aSubmittedRegistration({}, { isPassedOn: true }), NOW, policy);
      expect(passed.submission).toMatchObject({ isPassedOn: true, state });
      const charging = apply(
        null,
        aPricedSubmission({}, { isPassedOn: true }),
        NOW - MINUTE,
        policy,
      );
      expect(apply(charging, aChargeEnd(), NOW, policy).submission).toMatchObject({ state });
    },
  );

  it("a submission of an account keeps the version of the offer that has priced it, which is shown to the operator alone", () => {
    const offer = { name: "video", version: 3 };
    const task = apply(null, aSubmittedRegistration({}, { offer }));
    expect(task.submission).toEqual(aSubmission({ offer }));
    expect(viewOf(task, "operator")).toMatchObject({ submission: { offer } });
    expect(viewOf(task, "account").submission).not.toHaveProperty("offer");
  });

  it('a registration that is sent again while its submission is "sending" is refused with submission_running, even under another submission id', () => {
    expectRefused(sending, aSubmittedRegistration(), "submission_running", LATER);
    const again = aSubmittedRegistration({}, { id: OTHER_SUBMISSION_ID });
    expectRefused(sending, again, "submission_running", LATER);
  });

  it.each<[string, TaskRecord]>([
    ["accepted", attached],
    ["of unknown outcome", anUnknownTask()],
    ["of a task that has ended", apply(sending, aResultAtOnce(aCompletion()))],
  ])(
    "a registration that is sent again changes nothing when its submission is %s",
    (_state, task) => {
      const again = aSubmittedRegistration({}, { id: OTHER_SUBMISSION_ID });
      expectUnchanged(task, again, LATER);
    },
  );

  it.each<[string, TaskEvent]>([
    ["another request", aSubmittedRegistration({}, { requestDigest: "digest-2" })],
    ["another model", aSubmittedRegistration({ model: "other" })],
    ["another callback URL", aSubmittedRegistration({ callbackUrl: null })],
    ["no submission", aProvidedRegistration()],
  ])(
    "a registration that has %s under the id of a submitted task is refused as a conflict",
    (_what, event) => {
      for (const task of [sending, attached, anUnknownTask()]) {
        expectRefused(task, event, "task_exists", LATER);
      }
    },
  );

  it("when a task was registered without a submission, registering its id with a submission is refused as a conflict", () => {
    const task = apply(null, aRegistration({ provider: "ark" }));
    expectRefused(task, aSubmittedRegistration(), "task_exists", LATER);
  });
});

describe("the charge of a submission", () => {
  it("a submission is not shown while its price is being charged, and its time for sending begins only when the price is charged", () => {
    const task = apply(null, aPricedSubmission());
    expect(task).toMatchObject({ status: "charging", submission: aSubmission() });
    expect(nextStep(task, POLICY, NOW)).toMatchObject({ kind: "charge" });
    const charged = apply(task, aChargeEnd(), NOW + MINUTE);
    const state = { kind: "sending", endsAt: SENDING_ENDS_AT + MINUTE } as const;
    expect(charged).toMatchObject({
      status: "pending",
      submission: aSubmission({ startedAt: NOW + MINUTE, state }),
      credits: credits(),
    });
    expect(wakeAt(charged, POLICY)).toBe(SENDING_ENDS_AT + MINUTE);
  });

  it.each([
    ["charged", aChargingSubmission()],
    ["returned", apply(priced, aRefusal(), LATER)],
  ])(
    "a submission or registration with the id of a submission whose price is being %s is refused, because only the first caller may send the submission to the upstream",
    (_what, hidden) => {
      for (const event of [
        aPricedSubmission(),
        aPricedSubmission({}, { requestDigest: "digest-2" }),
        aPricedRegistration({ provider: "ark" }),
      ]) {
        expectRefused(hidden, event, "charging", LATER);
      }
    },
  );

  it.each([
    ["before", aChargingSubmission()],
    ["after", apply(aChargingSubmission(), NOT_SENT, LATER)],
  ])(
    "when the charge of a submission is refused %s its caller has given up, the submission is erased with the reason of the refusal",
    (_when, task) => {
      const answer = { kind: "insufficient", balance: 1, price: PRICE } as const;
      const because = { code: "insufficient_credits", balance: 1, price: PRICE };
      const decision = transition(task, aChargeEnd(answer), POLICY, LATER);
      expect(decision).toEqual({ kind: "erase", record: task, because });
    },
  );

  it("a submission whose caller gives up while the price is being charged is not sent; the charged price is returned, and the task is erased", () => {
    const unsent = apply(aChargingSubmission(), NOT_SENT, LATER);
    expect(unsent.submission).toEqual(aSubmission({ state: { kind: "unsent" } }));
    expect(nextStep(unsent, POLICY, LATER)).toMatchObject({ kind: "charge" });
    const unanswered = apply(unsent, aChargeEnd({ kind: "unknown" }), LATER);
    expect(wakeAt(unanswered, POLICY)).toBe(LATER + 5 * SECOND);
    const charged = apply(unanswered, aChargeEnd(), LATER);
    const { final: _, ...returned } = credits(refunding(LATER));
    expect(charged).toMatchObject({ status: "charging", credits: returned });
    expect(nextStep(charged, POLICY, LATER)).toMatchObject({
      kind: "refund",
      refund: { chargeId: CHARGE_ID, submissionId: SUBMISSION_ID },
    });
    const back = aRefundEnd(true, SUBMISSION_ID);
    expect(transition(charged, back, POLICY, LATER)).toEqual({
      kind: "erase",
      record: charged,
      because: "not_submitted",
    });
  });

  it.each([
    ["accepted", anAcceptance()],
    ["refused", aRefusal()],
    ["of unknown outcome", anUnknownOutcome()],
  ])(
    "a report that a submission was %s changes nothing while its price is being charged, because the submission has not been sent yet",
    (_outcome, event) => expectUnchanged(aChargingSubmission(), event, LATER),
  );
});

describe("a submission that the upstream has accepted", () => {
  it("an answer of the upstream that accepts a submission attaches its job, makes the relay poll the job, and is stored for callers that repeat the submission", () => {
    expect(attached).toEqual({
      ...sending,
      version: LATER,
      upstream: UPSTREAM,
      tracking: aTracking({ poll: aPlan({ attachedAt: LATER }) }),
      submission: aSubmission({ state: accepted(LATER), answer: ANSWER }),
    });
    const hooked = apply(sending, anAcceptance({ isHookExpected: true }), LATER);
    expect(hooked).toMatchObject({ tracking: { poll: { hookWaitMs: MINUTE } } });
  });

  it("when a submission is accepted, those stored hooks that are about its job take effect, and no others", () => {
    const kept = [aSubmissionHook(aCompletion(), { jobId: OTHER_JOB.id }), aSubmissionHook(QUEUED)];
    const named = kept.reduce<TaskRecord>((task, hook) => apply(task, hook, NOW + SECOND), sending);
    const hook = aSubmissionHook(PROCESSING);
    const heard = apply(apply(named, hook, NOW + SECOND), anAcceptance(), LATER);
    expect(heard).toMatchObject({ status: "processing", upstream: UPSTREAM });
    expect(heard).toMatchObject({ tracking: { keptHooks: [], poll: { hasHeardRunning: true } } });
    expect(heard).toMatchObject({ tracking: { poll: { hint: null } } });
  });

  it("an answer of the upstream that accepts a submission changes nothing when it is reported to the task a second time", () => {
    expectUnchanged(attached, anAcceptance(), LATER + SECOND);
    expectUnchanged(attached, anAcceptance({ job: OTHER_JOB }), LATER + SECOND);
    const ended = apply(sending, aResultAtOnce(aCompletion()), LATER);
    expectUnchanged(ended, aResultAtOnce(aCompletion()), LATER + SECOND);
  });

  it("when a signed hook has already attached the job, the answer that accepts the submission leaves the times of its polls as they are", () => {
    const hook = aSubmissionHook(QUEUED, { isSigned: true });
    const proven = apply(sending, hook, NOW + SECOND);
    expect(proven).toMatchObject({ upstream: UPSTREAM, submission: { state: knownOtherwise() } });
    expect(apply(proven, anAcceptance(), LATER)).toEqual({
      ...proven,
      version: LATER,
      submission: aSubmission({ state: accepted(LATER), answer: ANSWER }),
    });
  });

  it("an answer of the upstream that accepts a submission attaches the job in this answer in place of another job that was attached before", () => {
    const other = apply(sending, anAttachment(OTHER_JOB), NOW + SECOND);
    expect(apply(other, anAcceptance(), LATER)).toMatchObject({ upstream: UPSTREAM });
  });

  it.each(REFUSALS)(
    "an accepted submission is not changed by a later report that it was %s",
    (_what, event) => {
      expectUnchanged(attached, event, LATER + SECOND);
    },
  );

  it("a report that the outcome of a submission is unknown changes nothing once the submission's job is known", () => {
    expectUnchanged(attached, anUnknownOutcome(502), LATER + SECOND);
  });

  it.each([
    ["a success", aCompletion(), "completed", null],
    ["a failure", anUpstreamFailure(), "failed", "moderation"],
    ["a success without output", NO_OUTPUT, "failed", "provider"],
  ] as const)(
    "when the upstream's answer to a submission already contains %s of the job, the task ends at once",
    (_what, news, status, category) => {
      const record = finished(transition(sending, aResultAtOnce(news), POLICY, LATER));
      expect(record).toMatchObject({
        status,
        upstream: UPSTREAM,
        submission: { state: accepted(LATER) },
        finishedAt: LATER,
        callback: { state: { kind: "in_flight" } },
      });
      expect(record.failure?.category ?? null).toBe(category);
    },
  );

  it("when the upstream's answer to a submission contains the result but no job id, the task ends without a job", () => {
    const ended = finished(transition(sending, aResultAtOnce(aCompletion(), null), POLICY, LATER));
    expect(ended).toMatchObject({ status: "completed", upstream: { job: null } });
  });

  it("when the upstream's answer to a submission already contains a failure, the price is refunded before the callback is sent", () => {
    const ended = finished(transition(priced, aResultAtOnce(anUpstreamFailure()), POLICY, LATER));
    expect(ended.credits).toEqual(credits(refunding(LATER)));
    expect(ended.callback?.state).toEqual({ kind: "held" });
  });

  it.each([
    ["2 KB of one-byte characters", "x".repeat(2_048), true],
    ["one byte more than 2 KB", "x".repeat(2_049), false],
    ["2 KB of three-byte characters", `${"狐".repeat(682)}xx`, true],
    ["683 characters of three bytes", "狐".repeat(683), false],
    ["2 KB of the last one-byte character", "\u007f".repeat(2_048), true],
    ["2 KB of the first two-byte character and a byte", `${"\u0080".repeat(1_024)}x`, false],
    ["2 KB of the last two-byte character", "\u07ff".repeat(1_024), true],
    ["683 times the first three-byte character", "\u0800".repeat(683), false],
    ["2 KB of the last three-byte character and two bytes", `${"\uffff".repeat(682)}xx`, true],
    ["2 KB of the first four-byte character", "\u{10000}".repeat(512), true],
    ["2 KB of the first four-byte character and a byte", `${"\u{10000}".repeat(512)}x`, false],
  ])(
    "the upstream's answer to a submission is stored for callers that repeat it; an answer of %s is still stored after the task is settled: %s",
    (_what, body, isKept) => {
      const answer = { ...ANSWER, body };
      const started = apply(sending, aResultAtOnce(aCompletion(), JOB, answer), LATER);
      expect(started.submission?.answer).toEqual(answer);
      const delivered = apply(started, anEndAs(1, "delivered"), LATER + SECOND);
      const kept = isKept ? { answer } : {};
      expect(delivered.submission).toEqual(aSubmission({ state: accepted(LATER), ...kept }));
      const silent = { ...sending, callbackUrl: null };
      const settled = apply(silent, aResultAtOnce(aCompletion(), JOB, answer), LATER);
      expect(settled.submission?.answer).toEqual(isKept ? answer : null);
    },
  );
});

describe("a submission that was refused, or not sent", () => {
  it("when the waiting caller has been told of a task, a refusal that comes later fails the task, which keeps the answer and is refunded before its callback", () => {
    const refusal = { ...aRefusal(429, "busy", ANSWER), isTaskKnown: true } as const;
    const failed = apply(priced, refusal, LATER);
    expect(failed).toMatchObject({
      status: "failed",
      credits: credits(refunding(LATER)),
      callback: { state: { kind: "held" } },
      submission: { answer: ANSWER, state: { statusCode: 429, refusal: "busy", askAt: null } },
    });
    expect(apply(priced, { ...NOT_SENT, isTaskKnown: true }, LATER)).toMatchObject({
      status: "failed",
      submission: { state: { kind: "unsent" } },
    });
  });

  it.each(REFUSALS)(
    "a task without a price is erased when its submission was %s",
    (_what, event) => {
      expect(transition(sending, event, POLICY, LATER)).toEqual({
        kind: "erase",
        record: sending,
        because: "not_submitted",
      });
    },
  );

  const CHARGES = [
    ["the ledger", CHARGE_ID],
    ["the operator's own billing", null],
  ] as const;

  it.each(
    REFUSALS.flatMap(([what, event]) => CHARGES.map((by) => [what, by[0], by[1], event] as const)),
  )(
    "a submission that was %s, with a price charged by %s, is hidden while the price is refunded, and then erased",
    (_what, _by, chargeId, event) => {
      const hidden = apply(withPrice(sending, chargeId), event, LATER);
      expect(hidden).toMatchObject({ status: "charging", account: null, version: LATER });
      expect(wakeAt(hidden, POLICY)).toBe(LATER);
      const [accountId, amount, reason] = ["acme", PRICE, "submit_refused"];
      const order = { taskId: ID, accountId, chargeId, amount, reason };
      const refund = { ...order, submissionId: SUBMISSION_ID };
      expect(nextStep(hidden, POLICY, LATER)).toEqual({ kind: "refund", refund });
      const failed = apply(hidden, aRefundEnd(false, SUBMISSION_ID), LATER);
      expect(failed).toMatchObject({ status: "charging" });
      expect(failed.credits?.state).toEqual(refunding(LATER + 5 * SECOND, 1));
      expect(wakeAt(failed, POLICY)).toBe(LATER + 5 * SECOND);
      const decision = transition(failed, aRefundEnd(true, SUBMISSION_ID), POLICY, LATER);
      expect(decision).toEqual({ kind: "erase", record: failed, because: "not_submitted" });
    },
  );

  it("the ledger's answer to the refund of an earlier submission under the same id does not count as that of the present submission", () => {
    const hidden = apply(priced, aRefusal(), LATER);
    expectUnchanged(hidden, aRefundEnd(true, OTHER_SUBMISSION_ID), LATER);
    expectUnchanged(hidden, aRefundEnd(true), LATER);
    const failed = apply(priced, aReport({ status: "failed", error: { code: "x", message: "" } }));
    expectUnchanged(failed, aRefundEnd(true, OTHER_SUBMISSION_ID), LATER);
  });

  it.each<[string, TaskEvent]>([
    ["a hook", aSubmissionHook(PROCESSING)],
    ["a cancellation", { type: "cancel", isForced: false }],
    ["an erasure", { type: "erase" }],
    ["an order to write the index row", { type: "rewrite_index_row", isAlwaysDue: true }],
  ])(
    "%s is refused with unknown_task while the price of a refused submission is being returned",
    (_what, event) => {
      expectRefused(apply(priced, aRefusal(), LATER), event, "unknown_task", LATER);
    },
  );

  it.each<[string, TaskEvent]>([
    ["a report", aReport()],
    ["an attachment", anAttachment()],
  ])(
    "%s is refused with the code charging while the price of a refused submission is being returned",
    (_what, event) => {
      expectRefused(apply(priced, aRefusal(), LATER), event, "charging", LATER);
    },
  );

  it.each<[string, SubmitEndedEvent]>([
    ["refused", aRefusal()],
    ["accepted", anAcceptance()],
    ["of unknown outcome", anUnknownOutcome()],
  ])(
    "a submission that was refused stays refused when a later report says that it was %s",
    (_what, event) => {
      expectUnchanged(apply(priced, aRefusal(), LATER), event, LATER);
    },
  );
});

it.each<[string, TaskRecord | null]>([
  ["no task", null],
  ["a task that the relay has not submitted", anOpenTask()],
  [
    "a later submission under the same id",
    aSendingTask({ submission: aSubmission({ id: "later" }) }),
  ],
  [
    "a later submission whose price is being charged",
    aChargingSubmission({ submission: aSubmission({ id: "later" }) }),
  ],
  [
    "a later submission whose task has ended",
    aFinishedTask({ submission: aSubmission({ id: "later" }) }),
  ],
])(
  "a report that a submission was accepted, refused, not sent or of unknown outcome is refused when the task id belongs to %s",
  (_what, record) => {
    for (const event of [anAcceptance(), aRefusal(), NOT_SENT, anUnknownOutcome()]) {
      expectRefused(record, event, "unknown_task", LATER);
    }
  },
);

describe("other events about a submitted task", () => {
  it('a task cannot be canceled while its submission is "sending", because the upstream may be starting the job just then', () => {
    expectRefused(sending, { type: "cancel", isForced: false }, "submission_running", LATER);
  });

  it.each([
    ["accepted", attached],
    ["of unknown outcome", anUnknownTask()],
  ])("a task can be canceled when its submission is %s", (_state, task) => {
    const canceled = finished(transition(task, { type: "cancel", isForced: false }, POLICY, LATER));
    expect(canceled).toMatchObject({ status: "failed", failure: { category: "canceled" } });
    expect(canceled.submission?.state.kind).toBe(task.submission?.state.kind);
  });

  it.each([
    ["being sent", sending],
    ["of unknown outcome", anUnknownTask()],
  ])(
    "an event that reports the result ends a task whose submission is %s, and a later answer of the upstream does not change the result",
    (_state, task) => {
      const ended = finished(transition(task, aReport(), POLICY, LATER));
      expect(ended).toMatchObject({ status: "completed", submission: { state: knownOtherwise() } });
      for (const event of [aRefusal(), NOT_SENT, anUnknownOutcome()]) {
        expectUnchanged(ended, event, LATER + SECOND);
      }
      const answered = finished(transition(ended, anAcceptance(), POLICY, LATER + SECOND));
      const state = { kind: "accepted", answeredAt: LATER + SECOND };
      expect(answered).toMatchObject({ upstream: ended.upstream, submission: { state } });
      expect([answered.status, answered.body]).toEqual([ended.status, ended.body]);
    },
  );

  it.each([
    ["being sent", sending],
    ["of unknown outcome", anUnknownTask()],
  ])(
    "when an operator attaches a job to a task whose submission is %s, the submission counts as accepted",
    (_state, task) => {
      const settled = apply(task, anAttachment(), LATER);
      expect(settled).toMatchObject({
        upstream: UPSTREAM,
        submission: { state: accepted(null, null) },
      });
      expect(wakeAt(settled, POLICY)).toBeLessThan(LATER + MINUTE);
      for (const event of [aRefusal(), NOT_SENT, anUnknownOutcome()]) {
        expectUnchanged(settled, event, LATER + SECOND);
      }
    },
  );

  it("when an event reports that the job runs, its submission counts as accepted, and the task fails at its deadline unless its job becomes known", () => {
    const running = apply(sending, aReport(PROCESSING), LATER);
    expect(running).toMatchObject({
      status: "processing",
      submission: { state: knownOtherwise() },
    });
    expect(isOpen(running) && running.deadlineAt).toBe(wakeAt(running, POLICY));
    expect(apply(running, anAcceptance(), LATER + SECOND)).toMatchObject({ upstream: UPSTREAM });
  });

  it.each([
    ["the hook URL of a registered task", aHook(PROCESSING)],
    [
      "the hook URL of an earlier submission",
      aHook(PROCESSING, { submissionId: OTHER_SUBMISSION_ID }),
    ],
  ])(
    "a hook to %s is refused with unknown_task when the relay has submitted the task, even if the hook is signed",
    (_url, hook) => {
      for (const task of [sending, attached, anUnknownTask(), apply(sending, aReport())]) {
        expectRefused(task, { ...hook, isSigned: true }, "unknown_task", LATER);
      }
    },
  );

  it("a hook to the URL of a submission is refused with unknown_task when the task was registered without a submission", () => {
    expectRefused(anOpenTask({ upstream: UPSTREAM }), aSubmissionHook(PROCESSING), "unknown_task");
  });

  it('hooks that come while a submission is "sending" are stored, and the jobs whose ids they state are not polled yet', () => {
    const deadlineAt = NOW + SECOND;
    const task = apply({ ...sending, deadlineAt }, aSubmissionHook(aCompletion()), LATER, STATING);
    expect(task).toMatchObject({
      status: "pending",
      tracking: { keptHooks: [aKeptHook(aCompletion())] },
      submission: aSubmission(),
    });
    expect(nextStep(task, STATING, LATER)).toBeNull();
    expect(wakeAt(task, STATING)).toBe(SENDING_ENDS_AT);
  });
});

/** What an open task of an unknown outcome is shown to wait for. */
const AWAITING = { waits_for: "hook", waits_until: NOW_S + POLICY.submitUnknownMs / SECOND };

describe("the view of a submitted task", () => {
  it.each([
    ["sending", sending, {}],
    [
      "sending",
      aSendingTask({ submission: aSubmission({ customerKey: aCustomerKey() }) }),
      { key: "customer" },
    ],
    ["accepted", attached, { answered_at: NOW_S + 3, status_code: 200 }],
    ["unknown", anUnknownTask(), AWAITING],
    [
      "unknown",
      anUnknownTask({}, { submission: aSubmission({ state: unknown(), isHookless: true }) }),
      {},
    ],
    [
      "unknown",
      anUnknownTask({ answeredAt: NOW + MINUTE, statusCode: 502 }),
      { answered_at: NOW_S + 60, status_code: 502, ...AWAITING },
    ],
    [
      "unknown",
      apply(
        anUnknownTask({}, { submission: aSubmission({ state: unknown(), isHookless: true }) }),
        aSubmissionHook(QUEUED),
        LATER,
        STATING,
      ),
      { ...AWAITING, waits_for: "job" },
    ],
    ["unknown", apply(anUnknownTask(), { type: "cancel", isForced: false }, LATER), {}],
  ])(
    "operator and account see the state of a task's submission, here %s; a reader with the task's status link sees nothing of the submission",
    (state, task, more) => {
      const submission = { state, started_at: NOW_S, ...more };
      expect(viewOf(task, "operator")).toMatchObject({ submission });
      expect(viewOf(task, "account")).toMatchObject({ submission });
      expect(viewOf(task, "operator").submission).toEqual(submission);
      expect(viewOf(task, "link")).not.toHaveProperty("submission");
    },
  );

  it.each([
    ["an offer with its version", 7, { name: "video", version: 7 }],
    ["an offer of the variable OFFERS, which has no version", null, { name: "video" }],
  ])(
    "only the operator sees by which offer the account has submitted a job: %s",
    (_what, version, offer) => {
      const submission = aSubmission({ offer: { name: "video", version } });
      const task = aSendingTask({ submission });
      expect(viewOf(task, "operator").submission.offer).toEqual(offer);
      expect(viewOf(task, "account").submission).not.toHaveProperty("offer");
    },
  );

  it("no reader of a task sees the id of its submission, the hash of the submitted request or the stored answer of the upstream", () => {
    const { body } = ANSWER;
    for (const reader of ["operator", "account", "link"] as const) {
      const text = taskView(attached, reader);
      for (const hidden of [SUBMISSION_ID, "digest-1", JSON.stringify(body)]) {
        expect(text).not.toContain(hidden);
      }
    }
  });

  it("a task that the relay has not submitted shows no submission", () => {
    expect(viewOf(anOpenTask(), "operator")).not.toHaveProperty("submission");
  });
});
