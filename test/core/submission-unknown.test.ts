import { describe, expect, it } from "vitest";
import type { HookEvent, PollAnswer, SubmitEndedEvent } from "../../src/core/events/event.ts";
import type { Policy } from "../../src/core/policy.ts";
import { finalPollAt } from "../../src/core/polls/next-poll.ts";
import { hasUnknownEnd } from "../../src/core/record/awaited-news.ts";
import { parseRecord } from "../../src/core/record/record-schema.ts";
import type { RefusalClass } from "../../src/core/record/refusal.ts";
import { unknownOutcomeOf } from "../../src/core/record/submission.ts";
import { isOpen, type TaskRecord } from "../../src/core/record/task.ts";
import type { FailureCategory, Job } from "../../src/core/record/upstream.ts";
import { nextStep, wakeAt } from "../../src/core/step.ts";
import { transition } from "../../src/core/transition.ts";
import { rowOf } from "../../src/core/views/index-row.ts";
import { taskView } from "../../src/core/views/task-view.ts";
import {
  aCompletion,
  anOpenTask,
  aPolicy,
  CONNECTION,
  DAY,
  finished,
  HOUR,
  ID,
  LIMITS,
  MINUTE,
  MODEL,
  NOW,
  POLICY,
  PROCESSING,
  SECOND,
} from "./builders.ts";
import { aRefundEnd, credits, refunding } from "./credit-builders.ts";
import { apply, expectRefused, expectUnchanged } from "./decisions.ts";
import {
  accepted,
  anAcceptance,
  ANSWER,
  anUnknownOutcome,
  anUnknownTask,
  aRefusal,
  aResultAtOnce,
  aSendingTask,
  aSubmission,
  aSubmissionHook,
  aSubmittedRegistration,
  FAILS_AT,
  knownOtherwise,
  NOT_SENT,
  OTHER_SUBMISSION_ID,
  SENDING_ENDS_AT,
  STATING,
  stating,
  SUBMISSION_ID,
  unknown,
  withPrice,
} from "./submission-builders.ts";
import {
  aHook,
  aKeptHook,
  anUpstreamFailure,
  aPlan,
  aPollEnd,
  aTracking,
  JOB,
  newsAnswer,
  NO_KEY,
  NO_OUTPUT,
  OTHER_JOB,
  QUEUED,
  rateLimited,
  UNANSWERED,
  UNAUTHORIZED,
  UPSTREAM,
} from "./upstream-builders.ts";

const LATER = NOW + 3 * SECOND;
const UNCLEAR: PollAnswer = { kind: "unclear", statusCode: 200, word: null };
const LOST_STEP = { kind: "event", event: { type: "submission_lost" } } as const;
const lostOf = (task: TaskRecord, at = FAILS_AT) =>
  finished(transition(task, { type: "submission_lost" }, STATING, at));

const silent = anUnknownTask();
/** A task of an unknown outcome after a hook has named a job. */
const named = apply(silent, aSubmissionHook(aCompletion()), LATER, STATING);
const lost = lostOf(silent);

function asked(task: TaskRecord, answer: PollAnswer, at: number, policy = STATING): TaskRecord {
  return apply(task, aPollEnd(answer, { purpose: "kept_job", askedAt: at }), at, policy);
}

describe("a submission whose outcome is unknown", () => {
  it("the outcome of a submission is unknown when the upstream has not answered in time", () => {
    const sending = aSendingTask();
    expect(nextStep(sending, POLICY, SENDING_ENDS_AT - 1)).toBeNull();
    const event = anUnknownOutcome();
    expect(nextStep(sending, POLICY, SENDING_ENDS_AT)).toEqual({ kind: "event", event });
    const task = apply(sending, event, SENDING_ENDS_AT);
    const failsAt = SENDING_ENDS_AT + POLICY.submitUnknownMs;
    const submission = aSubmission({ state: unknown({ failsAt }) });
    expect(task).toEqual({ ...sending, version: SENDING_ENDS_AT, submission });
    expect(wakeAt(task, STATING)).toBe(failsAt);
  });

  it("the outcome of a submission is unknown when the answer states neither a job nor a refusal, and the HTTP status of the answer is stored", () => {
    const task = apply(aSendingTask(), anUnknownOutcome(502), LATER);
    const failsAt = LATER + POLICY.submitUnknownMs;
    const state = unknown({ answeredAt: LATER, statusCode: 502, failsAt });
    expect(task.submission).toEqual(aSubmission({ state }));
    expect(wakeAt(task, STATING)).toBe(failsAt);
  });

  it("a task whose submission is of unknown outcome fails after SUBMIT_UNKNOWN_MINUTES with submit_unknown and the category timeout", () => {
    expect(nextStep(silent, STATING, FAILS_AT - 1)).toBeNull();
    expect(nextStep(silent, STATING, FAILS_AT)).toEqual(LOST_STEP);
    const message = "It is not known whether the upstream has started the job.";
    expect(JSON.parse(lost.body)).toMatchObject({ error: { code: "submit_unknown", message } });
    expect(lost).toMatchObject({
      status: "failed",
      failure: { category: "timeout", retryable: true },
      submission: { state: unknown() },
      finishedAt: FAILS_AT,
    });
    const quick = aPolicy({ submitUnknownMs: SECOND });
    const state = apply(aSendingTask(), anUnknownOutcome(), LATER, quick).submission ?? null;
    expect(unknownOutcomeOf(state)?.failsAt).toBe(LATER + SECOND);
  });

  it("when a task fails with submit_unknown, its price is refunded before its callback is sent", () => {
    const ended = lostOf(withPrice(silent));
    expect(ended.credits).toEqual(credits(refunding(FAILS_AT)));
    expect(nextStep(ended, POLICY, FAILS_AT)).toMatchObject({
      kind: "refund",
      refund: { reason: "submit_unknown", submissionId: null },
    });
    expect(ended.callback?.state).toEqual({ kind: "held" });
    const refunded = finished(transition(ended, aRefundEnd(true), POLICY, FAILS_AT));
    expect(refunded.callback?.state.kind).toBe("in_flight");
  });

  it.each([
    ["its time to fail has not come yet", silent, FAILS_AT - 1],
    [
      "the upstream has accepted the submission meanwhile",
      apply(silent, anAcceptance(), LATER),
      FAILS_AT,
    ],
    ["the task has ended meanwhile", lost, FAILS_AT],
    ["the relay has not submitted the task", anOpenTask(), FAILS_AT],
    ["there is no task", null, FAILS_AT],
  ])("a task does not fail with submit_unknown when %s", (_why, task, at) => {
    expectUnchanged(task, { type: "submission_lost" }, at);
  });

  it("a second report that the outcome of a submission is unknown does not postpone the failure of the task", () => {
    expectUnchanged(silent, anUnknownOutcome(), LATER);
    expectUnchanged(silent, anUnknownOutcome(502), LATER);
  });

  it.each([
    ["being sent", aSendingTask({ deadlineAt: NOW + SECOND }), SENDING_ENDS_AT],
    ["of unknown outcome", { ...silent, deadlineAt: NOW + SECOND }, FAILS_AT],
  ])("a task does not fail at its deadline while its submission is %s", (_state, task, endsAt) => {
    expect(nextStep(task, POLICY, endsAt - 1)).toBeNull();
    expect(wakeAt(task, POLICY)).toBe(endsAt);
    expect(nextStep(task, POLICY, endsAt)).not.toEqual({
      kind: "event",
      event: { type: "deadline" },
    });
  });
});

describe("a submission whose job no hook can report, because its call has no hook URL or the upstream cannot reach it", () => {
  const hookless = aSendingTask({ submission: aSubmission({ isHookless: true }) });

  it.each([
    ["is not answered in time", anUnknownOutcome(), SENDING_ENDS_AT, null],
    ["gets an unclear answer", anUnknownOutcome(502), LATER, 502],
  ])(
    "when no hook can come about a submission, its task fails with submit_unknown at once when it %s, and the price is refunded before the callback",
    (_what, event, at, statusCode) => {
      const ended = finished(transition(withPrice(hookless), event, STATING, at));
      expect(JSON.parse(ended.body)).toMatchObject({ error: { code: "submit_unknown" } });
      const answeredAt = statusCode === null ? null : at;
      const state = unknown({ failsAt: at, statusCode, answeredAt });
      expect(ended).toMatchObject({
        version: at,
        status: "failed",
        finishedAt: at,
        failure: { category: "timeout", retryable: true },
        submission: { state, isHookless: true },
        credits: credits(refunding(at)),
        callback: { state: { kind: "held" } },
      });
      expect(nextStep(ended, STATING, at)).toMatchObject({ kind: "refund" });
    },
  );

  it("when no hook can come about a submission, its outcome is unknown as soon as the time for the upstream's answer is over", () => {
    const event = anUnknownOutcome();
    expect(nextStep(hookless, STATING, SENDING_ENDS_AT)).toEqual({ kind: "event", event });
  });

  it.each<[string, TaskRecord]>([
    [
      "a hook has stated the job's id all the same",
      apply(hookless, aSubmissionHook(QUEUED), LATER, STATING),
    ],
    ["the registration already stated the job's id", { ...hookless, upstream: UPSTREAM }],
  ])(
    "a task whose submission is of unknown outcome waits for news of its job, although no hook is expected, when %s",
    (_why, task) => {
      const waiting = apply(task, anUnknownOutcome(), LATER, STATING);
      const failsAt = LATER + POLICY.submitUnknownMs;
      expect(waiting).toMatchObject({ status: "pending", submission: { state: { failsAt } } });
    },
  );

  it.each<[string, boolean, TaskRecord]>([
    ["has failed with submit_unknown", true, lost],
    [
      "has failed with submit_unknown and later learned its job",
      true,
      apply(lost, anAcceptance(), FAILS_AT + SECOND),
    ],
    ["is open", false, silent],
    ["was canceled", false, apply(silent, { type: "cancel", isForced: false }, LATER)],
    ["is completed", false, apply(silent, aResultAtOnce(aCompletion()), LATER)],
  ])(
    "when a task %s, hasUnknownEnd, which tells whether the task ended without a known outcome of its submission, returns %s",
    (_what, expected, task) => {
      expect(hasUnknownEnd(task)).toBe(expected);
    },
  );

  it("a task stores that no hook can come about its submission, and stores nothing of the kind when a hook can come", () => {
    const event = aSubmittedRegistration({}, { isHookless: true });
    expect(apply(null, event).submission).toMatchObject({ isHookless: true });
    expect(apply(null, aSubmittedRegistration()).submission).not.toHaveProperty("isHookless");
  });
});

describe("an upstream's answer that comes after the outcome of a submission counted as unknown", () => {
  it("when the outcome of a submission is unknown, a late answer of the upstream that accepts it attaches the job, and the stored hooks about this job take effect", () => {
    const task = apply(named, anAcceptance(), LATER + SECOND);
    expect(task).toMatchObject({
      upstream: UPSTREAM,
      submission: { state: accepted(LATER + SECOND), answer: ANSWER },
      tracking: { keptHooks: [], poll: { hint: { at: LATER + SECOND, status: "completed" } } },
    });
    expect(nextStep(task, STATING, LATER + SECOND)).toMatchObject({
      kind: "poll",
      poll: { purpose: "result" },
    });
  });

  it("when the outcome of a submission is unknown, a late answer of the upstream that already contains the result ends the task", () => {
    const ended = finished(transition(silent, aResultAtOnce(aCompletion()), POLICY, LATER));
    expect(ended).toMatchObject({ status: "completed", submission: { state: accepted(LATER) } });
  });

  it.each<[RefusalClass, number, FailureCategory, boolean]>([
    ["final", 400, "invalid_input", false],
    ["final", 200, "invalid_input", false],
    ["final", 499, "invalid_input", false],
    ["final", 500, "provider", true],
    ["final", 503, "provider", true],
    ["rate", 429, "rate_limited", true],
    ["rate", 503, "rate_limited", true],
    ["busy", 400, "rate_limited", true],
  ])(
    "when the outcome of a submission is unknown and the upstream refuses it late (reason: %s, HTTP status %i), the task fails with this status in its message and the category %s",
    (refusal, statusCode, category, retryable) => {
      const task = withPrice(silent);
      const ended = finished(transition(task, aRefusal(statusCode, refusal), POLICY, LATER));
      expect(JSON.parse(ended.body)).toMatchObject({
        error: { code: "upstream_error", message: expect.stringContaining(`${statusCode}`) },
      });
      expect(ended).toMatchObject({
        failure: { category, retryable },
        credits: credits(refunding(LATER)),
        submission: { state: { answeredAt: LATER, statusCode, refusal } },
      });
    },
  );

  it.each<[RefusalClass, number, string]>([
    ["funds", 402, "upstream_funds"],
    ["funds", 429, "upstream_funds"],
    ["key", 401, "upstream_key"],
    ["key", 400, "upstream_key"],
  ])(
    "when the outcome of a submission is unknown and the upstream refuses it late (reason: %s, HTTP status %i), the task fails with a code for this reason and a message that does not mention it",
    (refusal, statusCode, code) => {
      const task = withPrice(silent);
      const ended = finished(transition(task, aRefusal(statusCode, refusal), POLICY, LATER));
      const message = "The service takes no jobs of this kind at the moment. Nothing was started.";
      expect(JSON.parse(ended.body)).toMatchObject({ error: { code, message } });
      expect(ended).toMatchObject({
        failure: { category: "provider", retryable: false },
        credits: credits(refunding(LATER)),
        submission: { state: { answeredAt: LATER, statusCode, refusal } },
      });
      const shown = { state: "unknown", status_code: statusCode, refusal };
      expect(JSON.parse(taskView(ended, "operator"))).toMatchObject({ submission: shown });
      const { submission } = JSON.parse(taskView(ended, "account"));
      expect(submission).not.toHaveProperty("refusal");
      expect(rowOf(ended, POLICY)).toMatchObject({ refusal });
      expect(parseRecord(JSON.parse(JSON.stringify(ended)))).toEqual(ended);
    },
  );

  it("when the outcome of a submission is unknown, a report that the submission was not sent changes nothing", () => {
    expectUnchanged(silent, NOT_SENT, LATER);
  });
});

describe("an unsigned hook at the URL of a submission of an unknown outcome", () => {
  it("when the outcome of a submission is unknown and a hook states a job id, this job is polled at once, and the poll has the model and time by which its answer can prove whose job it is", () => {
    expect(named).toMatchObject({
      upstream: { job: null },
      tracking: { keptHooks: [aKeptHook(aCompletion())] },
      submission: { state: unknown({ askAt: LATER }) },
    });
    expect(wakeAt(named, STATING)).toBe(LATER);
    expect(nextStep(named, STATING, LATER)).toEqual({
      kind: "poll",
      poll: {
        taskId: ID,
        connection: CONNECTION,
        job: JOB,
        createdAt: NOW,
        isUrgent: true,
        customerKey: null,
        submitted: { id: SUBMISSION_ID, model: MODEL, startedAt: NOW },
        purpose: "kept_job",
      },
    });
  });

  it("a job whose id a hook stated while the submission was being sent is polled as soon as the outcome of the submission is unknown", () => {
    const heard = apply(aSendingTask(), aSubmissionHook(QUEUED), LATER, STATING);
    const task = apply(heard, anUnknownOutcome(), SENDING_ENDS_AT, STATING);
    expect(task.submission?.state).toMatchObject({ kind: "unknown", askAt: SENDING_ENDS_AT });
    expect(nextStep(task, STATING, SENDING_ENDS_AT)).toMatchObject({ poll: { job: JOB } });
  });

  it("when the outcome of a submission is unknown and a hook states a job id, this job is polled at the endpoint that the path of the submitted call contained", () => {
    const endpoint = "fal-ai/flux";
    const submission = aSubmission({ endpoint, state: unknown() });
    const task = apply({ ...silent, submission }, aSubmissionHook(QUEUED), LATER, STATING);
    expect(nextStep(task, STATING, LATER)).toMatchObject({
      poll: { job: { id: JOB.id, endpoint } },
    });
  });

  it("when the outcome of a submission is unknown, a job whose id a hook has stated is polled again after 5 s, then after twice as long each time up to 5 min, and just before the task fails", () => {
    let task = named;
    const waits: number[] = [];
    for (let at = LATER; at < FAILS_AT;) {
      task = asked(task, UNCLEAR, at);
      const next = wakeAt(task, STATING);
      waits.push((next - at) / SECOND);
      at = next;
    }
    expect(waits.slice(0, 7)).toEqual([5, 10, 20, 40, 80, 160, 300]);
    expect(new Set(waits.slice(7, -1))).toEqual(new Set([300]));
    expect(nextStep(task, STATING, FAILS_AT)).toMatchObject({ poll: { purpose: "kept_job" } });
    const last = asked(task, UNCLEAR, FAILS_AT);
    expect(nextStep(last, STATING, FAILS_AT)).toEqual(LOST_STEP);
    expect(last).toMatchObject({ tracking: { keptHooks: [aKeptHook(aCompletion())] } });
  });

  it.each<[string, PollAnswer, number]>([
    ["does not prove that it is the job of the submission", UNCLEAR, 5 * SECOND],
    ["is missing", UNANSWERED, 5 * SECOND],
    [
      "is an error that asks for a wait of 10 minutes",
      { kind: "unanswered", retryAfterMs: 10 * MINUTE },
      10 * MINUTE,
    ],
    ["refuses the key", UNAUTHORIZED, 5 * SECOND],
    ["is a rate limit that states no wait", rateLimited(), 5 * SECOND],
    ["is a rate limit that states a wait of 1 s", rateLimited(SECOND), 5 * SECOND],
    ["is a rate limit that states a wait of 10 minutes", rateLimited(10 * MINUTE), 10 * MINUTE],
  ])(
    "when the outcome of a submission is unknown, a job whose id a hook has stated is polled again if the answer to its poll %s",
    (_what, answer, waitMs) => {
      const task = asked(named, answer, LATER);
      expect(task).toMatchObject({
        upstream: { job: null },
        tracking: { keptHooks: [aKeptHook(aCompletion())] },
      });
      expect(wakeAt(task, STATING)).toBe(LATER + waitMs);
    },
  );

  it("when the outcome of a submission is unknown, a hook with news about its job causes a poll at once, and the growing waits between polls begin anew; a repeated hook does neither", () => {
    let task = named;
    for (let tries = 0; tries < 5; tries++) task = asked(task, UNCLEAR, LATER);
    const hook = aSubmissionHook(PROCESSING);
    const again = apply(task, hook, LATER + SECOND, STATING);
    const state = unknown({ askAt: LATER + SECOND, tries: 0 });
    expect(again.submission?.state).toEqual(state);
    const polled = asked(again, UNCLEAR, LATER + SECOND);
    expectUnchanged(polled, hook, LATER + 2 * SECOND, STATING, "ignored");
  });

  it.each([
    ["a success", aCompletion(), "completed"],
    ["a failure", anUpstreamFailure(), "failed"],
  ] as const)(
    "a task whose submission is of unknown outcome ends when a poll's answer proves that the job whose id a hook has stated is the submission's, and reports %s",
    (_what, news, status) => {
      const end = aPollEnd(newsAnswer(news), { purpose: "kept_job", askedAt: LATER });
      const ended = finished(transition(named, end, STATING, LATER));
      expect(ended).toMatchObject({
        status,
        upstream: UPSTREAM,
        submission: { state: knownOtherwise() },
      });
    },
  );

  it.each([
    ["waits", QUEUED, { status: "pending" }],
    ["runs", PROCESSING, { status: "processing" }],
    ["has succeeded without output", NO_OUTPUT, { status: "pending" }],
  ] as const)(
    "when the outcome of a submission is unknown, the job whose id a hook has stated is attached once a poll's answer proves that it is the submission's and states that it %s",
    (_what, news, expected) => {
      const task = asked(named, newsAnswer(news), LATER);
      expect(task).toMatchObject({
        ...expected,
        upstream: UPSTREAM,
        submission: { state: knownOtherwise() },
        tracking: { keptHooks: [], poll: { attachedAt: LATER, hookWaitMs: MINUTE } },
      });
    },
  );

  it("when the outcome of a submission is unknown, the job whose id a hook has stated is attached together with the endpoint at which the confirming poll was sent", () => {
    const job: Job = { id: JOB.id, endpoint: "fal-ai/flux" };
    const end = aPollEnd(newsAnswer(QUEUED), { purpose: "kept_job", job, askedAt: LATER });
    expect(apply(named, end, LATER, STATING)).toMatchObject({ upstream: { job } });
  });

  it("the answer to a poll sent to confirm a job id changes nothing when no stored hook about the task's present submission states this id", () => {
    const end = aPollEnd(newsAnswer(aCompletion()), { purpose: "kept_job", askedAt: LATER });
    for (const task of [silent, aSendingTask()]) expectUnchanged(task, end, LATER, STATING);
    expectUnchanged(named, { ...end, job: OTHER_JOB }, LATER, STATING);
  });

  it.each<[string, TaskRecord, Policy]>([
    [
      "states no job id",
      apply(silent, aSubmissionHook(aCompletion(), { jobId: null }), LATER, STATING),
      STATING,
    ],
    ["comes from a provider whose answers do not prove whose job it is", named, POLICY],
    ["comes from a provider that cannot be polled", named, NO_KEY],
    [
      "states the id of a job so old that the provider has forgotten it",
      named,
      aPolicy({
        polls: new Map([[CONNECTION, { ...LIMITS, isCreationStated: true, maxAgeMs: SECOND }]]),
      }),
    ],
  ])(
    "when the outcome of a submission is unknown, no poll is made before the task fails if the only hook %s",
    (_why, task, policy) => {
      expect(nextStep(task, policy, FAILS_AT - 1)).toBeNull();
      expect(wakeAt(task, policy)).toBe(FAILS_AT);
      expect(nextStep(task, policy, FAILS_AT)).toEqual(LOST_STEP);
    },
  );

  it("when the outcome of a submission is unknown, a hook that states no job id is stored, but plans no poll", () => {
    const hook = aSubmissionHook(aCompletion(), { jobId: null });
    const task = apply(silent, hook, LATER, STATING);
    expect(task).toMatchObject({ tracking: { keptHooks: [{ jobId: null }] } });
    expect(task.submission).toEqual(silent.submission);
  });

  it("when the outcome of a submission is unknown, a hook causes a poll also at a provider whose answers prove whose job it is by stating the task's id", () => {
    const naming = aPolicy({ polls: new Map([[CONNECTION, { ...LIMITS, isTaskNamed: true }]]) });
    expect(nextStep(named, naming, LATER)).toMatchObject({ poll: { purpose: "kept_job" } });
  });

  it("when the outcome of a submission is unknown, a pause of the relay delays the polls of a job whose id a hook has stated, but not the failure of the task", () => {
    const paused = stating({ pausedAt: LATER });
    expect(nextStep(named, paused, LATER)).toBeNull();
    expect(wakeAt(named, paused)).toBeGreaterThan(LATER);
    expect(wakeAt(named, paused)).toBeLessThanOrEqual(FAILS_AT);
    expect(nextStep(named, stating({ pausedAt: FAILS_AT }), FAILS_AT)).toEqual(LOST_STEP);
    expect(nextStep(named, STATING, LATER + MINUTE)).toMatchObject({ kind: "poll" });
  });

  it("when the outcome of a submission is unknown, the task does not fail before the last poll of the job whose id a hook has stated, even if the connection's poll limit defers this poll", () => {
    const deferred = { kind: "deferred", waitMs: HOUR } as const;
    const end = aPollEnd(deferred, { purpose: "kept_job", askedAt: LATER });
    expectUnchanged(named, end, LATER, STATING);
    const turnAt = FAILS_AT + MINUTE;
    const policy = stating({ pollDeferredAt: LATER, pollDeferredTo: turnAt });
    expect(nextStep(named, policy, FAILS_AT)).toBeNull();
    expect(wakeAt(named, policy)).toBe(turnAt);
    expect(nextStep(named, policy, turnAt)).toMatchObject({ poll: { purpose: "kept_job" } });
    const last = asked(named, UNCLEAR, turnAt);
    expect(nextStep(last, policy, turnAt)).toEqual(LOST_STEP);
  });

  it("when the outcome of a submission is unknown, a hook that comes after the deadline of the task but before the task fails is stored", () => {
    const task = { ...silent, deadlineAt: NOW + SECOND };
    const hook = aSubmissionHook(aCompletion());
    const heard = apply(task, hook, LATER, STATING);
    expect(nextStep(heard, STATING, LATER)).toMatchObject({ poll: { job: JOB } });
    expectUnchanged(task, hook, FAILS_AT, STATING, "ignored");
  });

  it("a task whose submission is of unknown outcome gets a later deadline when a poll after its deadline proves that the job whose id a hook has stated is the submission's and still runs", () => {
    const late = apply(
      { ...silent, deadlineAt: NOW + SECOND },
      aSubmissionHook(aCompletion()),
      LATER,
      STATING,
    );
    const task = asked(late, newsAnswer(PROCESSING), LATER);
    expect(task).toMatchObject({ upstream: UPSTREAM, tracking: { isExtended: true } });
    expect(isOpen(task) && task.deadlineAt).toBeGreaterThan(LATER);
  });

  it("when a poll proves that a successful job without output is that of a submission of unknown outcome, its output is awaited for ten minutes, however late the proof comes", () => {
    if (!isOpen(named)) throw new Error("the task has ended");
    const at = NOW + 7 * HOUR;
    const extended = { ...named.tracking, isExtended: true };
    const late = { ...named, deadlineAt: NOW + SECOND, tracking: extended };
    const task = asked(late, newsAnswer(NO_OUTPUT), at);
    expect(isOpen(task) && finalPollAt(task)).toBe(at + 10 * MINUTE);
  });

  it.each<[string, HookEvent]>([
    ["to the hook URL of a registered task", aHook(aCompletion())],
    [
      "to the URL of another submission",
      aSubmissionHook(aCompletion(), { submissionId: OTHER_SUBMISSION_ID }),
    ],
    ["of another connection", aSubmissionHook(aCompletion(), { connection: "ark-2" })],
  ])(
    "when the outcome of a submission is unknown, a hook %s is refused with unknown_task, and causes no poll",
    (_what, hook) => {
      expectRefused(silent, hook, "unknown_task", LATER);
    },
  );
});

describe("a signed hook at the URL of a submission", () => {
  const states = [
    ["being sent", aSendingTask()],
    ["of unknown outcome", silent],
  ] as const;

  it.each(states)(
    "a signed hook attaches its job to the task when the submission is %s",
    (_state, task) => {
      const hook = aSubmissionHook(QUEUED, { isSigned: true });
      expect(apply(task, hook, LATER)).toMatchObject({
        upstream: UPSTREAM,
        tracking: aTracking({ poll: aPlan({ attachedAt: LATER, hookWaitMs: MINUTE }) }),
        submission: aSubmission({ state: knownOtherwise() }),
      });
    },
  );

  it("a signed hook attaches its job with the endpoint of the submission when the connection needs an endpoint for polls", () => {
    const endpoint = "fal-ai/flux";
    const submission = aSubmission({ endpoint });
    const needing = aPolicy({ polls: new Map([[CONNECTION, { ...LIMITS, isIdEnough: false }]]) });
    const hook = aSubmissionHook(QUEUED, { isSigned: true });
    const task = apply(aSendingTask({ submission }), hook, LATER, needing);
    expect(task).toMatchObject({ upstream: { job: { id: JOB.id, endpoint } } });
    const other = apply(aSendingTask(), hook, LATER, needing);
    expect(other).toMatchObject({ upstream: { job: null }, submission: aSubmission() });
  });

  it.each(states)(
    "a signed hook with the result ends the task when the submission is %s",
    (_state, task) => {
      const hook = aSubmissionHook(aCompletion(), { isSigned: true });
      const ended = finished(transition(task, hook, POLICY, LATER));
      expect(ended).toMatchObject({ status: "completed", submission: { state: knownOtherwise() } });
    },
  );
});

describe("what arrives after a task has failed with submit_unknown", () => {
  const at = FAILS_AT + MINUTE;
  const found = finished(transition(lost, anAcceptance(), STATING, at));

  it("after a task failed with submit_unknown, an answer that accepts the submission attaches the job, and if a poll finds a success the operator is sent an event", () => {
    expect(found).toEqual({
      ...lost,
      version: at,
      indexRow: found.indexRow,
      upstream: UPSTREAM,
      submission: aSubmission({ state: accepted(at) }),
    });
    const policy = stating({ isOperatorNotified: true, polledAt: at });
    const delivered = { ...found, callback: null };
    expect(wakeAt(delivered, policy)).toBe(FAILS_AT + HOUR);
    expect(nextStep(delivered, policy, FAILS_AT + HOUR)).toMatchObject({
      poll: { purpose: "late_result", job: JOB },
    });
    const end = aPollEnd(newsAnswer(aCompletion()), { purpose: "late_result" });
    expect(apply(delivered, end, FAILS_AT + HOUR, policy)).toMatchObject({
      status: "failed",
      late: { resultAt: FAILS_AT + HOUR },
      notices: [{ kind: "task.late_result" }],
    });
  });

  it("after a task failed with submit_unknown, an answer to the submission that contains a successful result is reported to the operator at once", () => {
    const policy = stating({ isOperatorNotified: true });
    const decision = transition(lost, aResultAtOnce(aCompletion()), policy, at);
    expect(decision).toMatchObject({ note: "late_result" });
    expect(finished(decision)).toMatchObject({
      status: "failed",
      body: lost.body,
      late: { resultAt: at },
      notices: [{ kind: "task.late_result" }],
    });
  });

  it("after a task failed with submit_unknown, an answer to the submission that contains the job's failure is not reported to the operator", () => {
    const policy = stating({ isOperatorNotified: true });
    const known = finished(transition(lost, aResultAtOnce(anUpstreamFailure()), policy, at));
    expect(known).toMatchObject({ late: null, notices: [], body: lost.body });
  });

  it.each<[string, SubmitEndedEvent]>([
    ["a refusal", aRefusal()],
    ["a call that was not sent", NOT_SENT],
    ["another unknown outcome", anUnknownOutcome(500)],
  ])("after a task failed with submit_unknown, the task is not changed by %s", (_what, event) =>
    expectUnchanged(lost, event, at),
  );

  it("after a task failed with submit_unknown, only the first answer that accepts the submission changes the task", () => {
    expectUnchanged(found, anAcceptance({ job: OTHER_JOB }), at + SECOND);
  });

  it("after a task failed with submit_unknown, a signed hook that claims success is stored as a late result", () => {
    const policy = stating({ isOperatorNotified: true });
    const hook = aSubmissionHook(aCompletion(), { isSigned: true });
    expect(apply(lost, hook, at, policy)).toMatchObject({ late: { resultAt: at } });
  });

  it("when a task with a submission of unknown outcome was canceled, a late answer still attaches the job, but this job is not polled any more", () => {
    const canceled = apply(silent, { type: "cancel", isForced: false }, LATER);
    const known = finished(transition(canceled, anAcceptance(), STATING, at));
    expect(known).toMatchObject({ status: "failed", upstream: UPSTREAM });
    const settled = { ...known, callback: null };
    expect(wakeAt(settled, STATING)).toBe(settled.expiresAt);
    expect(settled.expiresAt).toBeGreaterThan(at + DAY);
  });
});

it("when a hook has ended a task before the answer to its submission comes, the answer is stored, so that a repeated call gets it, and the result stays", () => {
  const hook = aSubmissionHook(aCompletion(), { isSigned: true });
  const ended = finished(transition(aSendingTask(), hook, STATING, LATER));
  const known = finished(transition(ended, anAcceptance(), STATING, LATER + SECOND));
  expect(known.submission).toMatchObject({
    state: { kind: "accepted", answeredAt: LATER + SECOND },
    answer: { status: 200 },
  });
  expect([known.status, known.body]).toEqual([ended.status, ended.body]);
  expectUnchanged(known, anAcceptance(), LATER + 2 * SECOND);
});

it.each([
  ["of 2 KB is stored", { ...ANSWER, body: "x".repeat(2_048) }, true],
  ["above 2 KB is not stored", { ...ANSWER, body: "x".repeat(2_049) }, false],
  ["that its sender has found too long leaves nothing to store", null, false],
])(
  "when a hook has ended a task before the answer to its submission comes, an answer %s",
  (_what, answer, isStored) => {
    const hook = aSubmissionHook(aCompletion(), { isSigned: true });
    const ended = apply(aSendingTask(), hook, LATER, STATING);
    const known = apply(ended, aResultAtOnce(aCompletion(), JOB, answer), LATER + SECOND);
    expect(known.submission).toMatchObject({
      state: accepted(LATER + SECOND),
      answer: isStored ? answer : null,
    });
  },
);
