import { describe, expect, it } from "vitest";
import type { SubmitEndedEvent, TaskEvent } from "../../src/core/events/event.ts";
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
  it("a registration with a submission creates a task whose submission is sending until SUBMIT_TIMEOUT_S and 10 s more have passed", () => {
    const task = apply(null, aSubmittedRegistration());
    expect(task).toMatchObject({ status: "pending", submission: aSubmission() });
    expect(wakeAt(task, POLICY)).toBe(SENDING_ENDS_AT);
    const quick = apply(null, aSubmittedRegistration(), NOW, aPolicy({ submitTimeoutMs: SECOND }));
    expect(quick.submission?.state).toEqual({ kind: "sending", endsAt: NOW + 11 * SECOND });
  });

  it("a repeated registration is refused with submission_running while the submission is sending, even if its own submission id is another", () => {
    expectRefused(sending, aSubmittedRegistration(), "submission_running", LATER);
    const again = aSubmittedRegistration({}, { id: OTHER_SUBMISSION_ID });
    expectRefused(sending, again, "submission_running", LATER);
  });

  it.each<[string, TaskRecord]>([
    ["accepted", attached],
    ["of an unknown outcome", anUnknownTask()],
    ["of a task that has ended", apply(sending, aResultAtOnce(aCompletion()))],
  ])("a repeated registration changes nothing when the submission is %s", (_state, task) => {
    const again = aSubmittedRegistration({}, { id: OTHER_SUBMISSION_ID });
    expectUnchanged(task, again, LATER);
  });

  it.each<[string, TaskEvent]>([
    ["another request", aSubmittedRegistration({}, { requestDigest: "digest-2" })],
    ["another model", aSubmittedRegistration({ model: "other" })],
    ["another callback URL", aSubmittedRegistration({ callbackUrl: null })],
    ["no submission", aProvidedRegistration()],
  ])("a registration with %s under the id of a submitted task is a conflict", (_what, event) => {
    for (const task of [sending, attached, anUnknownTask()]) {
      expectRefused(task, event, "task_exists", LATER);
    }
  });

  it("when a task was registered without a submission, a registration with a submission under its id is a conflict", () => {
    const task = apply(null, aRegistration({ provider: "ark" }));
    expectRefused(task, aSubmittedRegistration(), "task_exists", LATER);
  });
});

describe("the charge of a submission", () => {
  it("a submission with a price is hidden while its price is charged, and its time for sending begins when it is charged", () => {
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
    "a registration is refused while the price of a submission with the same id is being %s, because only one caller may send the call",
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

  it("a submission that is given up while its price is charged is not sent; the charged price is returned, then the task is erased", () => {
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
    ["unknown", anUnknownOutcome()],
  ])(
    "a submission whose price is being charged is not changed by a report that its outcome is %s, because it has not been sent",
    (_outcome, event) => expectUnchanged(aChargingSubmission(), event, LATER),
  );
});

describe("a submission that the upstream has accepted", () => {
  it("the answer that accepts a submission attaches its job, plans the polls, and is stored for repetitions of the call", () => {
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

  it("the job of an accepted submission gets those stored hooks that are about this job, and no others", () => {
    const kept = [aSubmissionHook(aCompletion(), { jobId: OTHER_JOB.id }), aSubmissionHook(QUEUED)];
    const named = kept.reduce<TaskRecord>((task, hook) => apply(task, hook, NOW + SECOND), sending);
    const hook = aSubmissionHook(PROCESSING);
    const heard = apply(apply(named, hook, NOW + SECOND), anAcceptance(), LATER);
    expect(heard).toMatchObject({ status: "processing", upstream: UPSTREAM });
    expect(heard).toMatchObject({ tracking: { keptHooks: [], poll: { hasHeardRunning: true } } });
    expect(heard).toMatchObject({ tracking: { poll: { hint: null } } });
  });

  it("an answer that accepts a submission changes nothing when it is repeated", () => {
    expectUnchanged(attached, anAcceptance(), LATER + SECOND);
    expectUnchanged(attached, anAcceptance({ job: OTHER_JOB }), LATER + SECOND);
    const ended = apply(sending, aResultAtOnce(aCompletion()), LATER);
    expectUnchanged(ended, aResultAtOnce(aCompletion()), LATER + SECOND);
  });

  it("the answer that accepts a submission keeps the plan of polls when a signed hook has attached the same job before", () => {
    const hook = aSubmissionHook(QUEUED, { isSigned: true });
    const proven = apply(sending, hook, NOW + SECOND);
    expect(proven).toMatchObject({ upstream: UPSTREAM, submission: { state: knownOtherwise() } });
    expect(apply(proven, anAcceptance(), LATER)).toEqual({
      ...proven,
      version: LATER,
      submission: aSubmission({ state: accepted(LATER), answer: ANSWER }),
    });
  });

  it("the answer that accepts a submission attaches the job that it names in place of one that was attached before", () => {
    const other = apply(sending, anAttachment(OTHER_JOB), NOW + SECOND);
    expect(apply(other, anAcceptance(), LATER)).toMatchObject({ upstream: UPSTREAM });
  });

  it.each(REFUSALS)(
    "a submission that was accepted is not changed by a later report that it was %s",
    (_what, event) => {
      expectUnchanged(attached, event, LATER + SECOND);
    },
  );

  it("a report that the outcome is unknown changes nothing once the job of the submission is known", () => {
    expectUnchanged(attached, anUnknownOutcome(502), LATER + SECOND);
  });

  it.each([
    ["a success", aCompletion(), "completed", null],
    ["a failure", anUpstreamFailure(), "failed", "moderation"],
    ["a success without output", NO_OUTPUT, "failed", "provider"],
  ] as const)(
    "when the upstream's answer to a submission is itself %s of the job, the task ends at once",
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

  it("when the upstream's answer to a submission is itself the result and names no job, the task ends without a job", () => {
    const ended = finished(transition(sending, aResultAtOnce(aCompletion(), null), POLICY, LATER));
    expect(ended).toMatchObject({ status: "completed", upstream: { job: null } });
  });

  it("when the upstream's answer to a submission is itself a failure, the price is refunded before the callback is sent", () => {
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
    ["2 KB of four-byte characters and a byte", `${"🦊".repeat(512)}x`, false],
  ])(
    "an answer of the upstream that has %s is stored for repetitions of the call; that it is still stored after its task is settled is %s",
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
  it.each(REFUSALS)(
    "when a submission without a price was %s, its task is erased",
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
    "a submission that was %s, with a price charged by %s, is hidden and refunded, and erased once the price is refunded",
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

  it("the refund of an earlier submission under the same id does not count as the refund of the present submission", () => {
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
    "%s is refused as about an unknown task while the price of a refused submission is being returned",
    (_what, event) => {
      expectRefused(apply(priced, aRefusal(), LATER), event, "unknown_task", LATER);
    },
  );

  it.each<[string, TaskEvent]>([
    ["a report", aReport()],
    ["an attachment", anAttachment()],
  ])(
    "%s is refused with charging while the price of a refused submission is being returned",
    (_what, event) => {
      expectRefused(apply(priced, aRefusal(), LATER), event, "charging", LATER);
    },
  );

  it.each<[string, SubmitEndedEvent]>([
    ["refused", aRefusal()],
    ["accepted", anAcceptance()],
    ["unknown", anUnknownOutcome()],
  ])(
    "a submission that was refused stays refused when it is reported as %s later",
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
  "the report of the end of a submission is refused when the id belongs to %s",
  (_what, record) => {
    for (const event of [anAcceptance(), aRefusal(), NOT_SENT, anUnknownOutcome()]) {
      expectRefused(record, event, "unknown_task", LATER);
    }
  },
);

describe("other events about a submitted task", () => {
  it("a task cannot be canceled while its submission is sending, because the upstream may be starting the job", () => {
    expectRefused(sending, { type: "cancel", isForced: false }, "submission_running", LATER);
  });

  it.each([
    ["accepted", attached],
    ["unknown", anUnknownTask()],
  ])("a task whose submission is %s can be canceled", (_state, task) => {
    const canceled = finished(transition(task, { type: "cancel", isForced: false }, POLICY, LATER));
    expect(canceled).toMatchObject({ status: "failed", failure: { category: "canceled" } });
    expect(canceled.submission?.state.kind).toBe(task.submission?.state.kind);
  });

  it.each([
    ["sending", sending],
    ["unknown", anUnknownTask()],
  ])(
    "a reported result ends a task whose submission is %s, and a later answer does not change it",
    (_state, task) => {
      const ended = finished(transition(task, aReport(), POLICY, LATER));
      expect(ended).toMatchObject({ status: "completed", submission: { state: knownOtherwise() } });
      for (const event of [anAcceptance(), aRefusal(), NOT_SENT, anUnknownOutcome()]) {
        expectUnchanged(ended, event, LATER + SECOND);
      }
    },
  );

  it.each([
    ["sending", sending],
    ["unknown", anUnknownTask()],
  ])("an operator who attaches a job settles a submission that is %s", (_state, task) => {
    const settled = apply(task, anAttachment(), LATER);
    expect(settled).toMatchObject({
      upstream: UPSTREAM,
      submission: { state: accepted(null, null) },
    });
    expect(wakeAt(settled, POLICY)).toBeLessThan(LATER + MINUTE);
    for (const event of [aRefusal(), NOT_SENT, anUnknownOutcome()]) {
      expectUnchanged(settled, event, LATER + SECOND);
    }
  });

  it("a report that the job runs settles a submission, and the task fails at its deadline unless its job becomes known", () => {
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
    "a hook to %s is refused as about an unknown task when the task was submitted, even if it is signed",
    (_url, hook) => {
      for (const task of [sending, attached, anUnknownTask(), apply(sending, aReport())]) {
        expectRefused(task, { ...hook, isSigned: true }, "unknown_task", LATER);
      }
    },
  );

  it("a hook to the URL of a submission is refused as about an unknown task when the task was registered without one", () => {
    expectRefused(anOpenTask({ upstream: UPSTREAM }), aSubmissionHook(PROCESSING), "unknown_task");
  });

  it("while a submission is sending, hooks are stored, and none of the jobs that they name is polled", () => {
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
    ["accepted", attached, { answered_at: NOW_S + 3, status_code: 200 }],
    ["unknown", anUnknownTask(), AWAITING],
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
    "operator and account see that a submission is %s; a reader with the status link sees nothing of the submission",
    (state, task, more) => {
      const submission = { state, started_at: NOW_S, ...more };
      expect(viewOf(task, "operator")).toMatchObject({ submission });
      expect(viewOf(task, "account")).toMatchObject({ submission });
      expect(viewOf(task, "operator").submission).toEqual(submission);
      expect(viewOf(task, "link")).not.toHaveProperty("submission");
    },
  );

  it("no reader sees the id of a submission, the hash of its call or the stored answer", () => {
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
