import { describe, expect, it } from "vitest";
import { firstLeaveOf, leaveQueues } from "../../src/core/duties/queue-leave.ts";
import { expire } from "../../src/core/duties/expire.ts";
import { callRefusalReplyOf } from "../../src/core/events/call-refusal.ts";
import { callStartOf } from "../../src/core/events/call-start.ts";
import type { CallRefusedEvent, TaskEvent } from "../../src/core/events/event.ts";
import { hookReportOf } from "../../src/core/events/hook-report.ts";
import type { QueuePosition } from "../../src/core/record/queue-stay.ts";
import { holdsPlace } from "../../src/core/plans/queue-places.ts";
import { parseRecord } from "../../src/core/record/record-schema.ts";
import { askedJobOf, submittedJobOf } from "../../src/core/record/submitted-job.ts";
import type { TaskRecord } from "../../src/core/record/task.ts";
import { nextStep, wakeAt } from "../../src/core/step.ts";
import { rowOf } from "../../src/core/views/index-row.ts";
import { taskView } from "../../src/core/views/task-view.ts";
import {
  aCompletion,
  anOpenTask,
  aPolicy,
  aReport,
  DAY,
  HOUR,
  ID,
  MINUTE,
  NOW,
  NOW_S,
  POLICY,
  SECOND,
} from "./builders.ts";
import { aChargeEnd, aRefundEnd } from "./credit-builders.ts";
import { afterwards, apply, expectRefused, expectUnchanged, finish } from "./decisions.ts";
import {
  aCallStart,
  anAcceptance,
  ANSWER,
  anAttemptStart,
  anUnknownOutcome,
  aPricedSubmission,
  aQueuedTask,
  aRefusal,
  aRefusedCall,
  aResultAtOnce,
  aStay,
  aSubmission,
  aSubmissionHook,
  aSubmittedRegistration,
  aWaitingTask,
  CALL_ENDS_AT,
  MEMBER_A,
  MEMBER_B,
  NOT_SENT,
  OTHER_SUBMISSION_ID,
  POOL,
  QUEUE_ENDS_AT,
  SUBMISSION_ID,
  withPrice,
} from "./submission-builders.ts";
import { aHook, anUpstreamFailure, JOB, NO_KEY } from "./upstream-builders.ts";
import { transition } from "../../src/core/transition.ts";

const LATER = NOW + 3 * SECOND;
const QUEUES = { queues: [MEMBER_A, MEMBER_B] };
const CALL = { isCall: true, isHookless: true } as const;
const LEAVE = { taskId: ID, submissionId: SUBMISSION_ID, connections: [MEMBER_A, MEMBER_B] };
const LEFT: TaskEvent = { type: "queue_left", submissionId: SUBMISSION_ID, isLeft: true };
const NOT_LEFT: TaskEvent = { ...LEFT, isLeft: false };
const CANCELED: TaskEvent = { type: "cancel", isForced: false };
const ERASE: TaskEvent = { type: "erase" };
const waiting = aWaitingTask();
const sending = apply(waiting, anAttemptStart(), NOW);
const again = apply(sending, aRefusedCall(), LATER);
/** A task whose caller waits for the answer, and whose call was sent to member A at once. */
const held = apply(
  null,
  aSubmittedRegistration({ provider: POOL }, { ...QUEUES, place: MEMBER_A }),
  NOW,
);

function errorOf(task: TaskRecord): string {
  return JSON.parse(taskView(task, "operator")).error.code;
}

const QUEUED: QueuePosition = { position: 3, cause: "upstream_refused" };

function submissionOf(task: TaskRecord, reader: "operator" | "account", queued?: QueuePosition) {
  return JSON.parse(taskView(task, reader, null, null, queued)).submission;
}

/** Returns the task with another submission in the same state. */
function ofAnother(task: TaskRecord): TaskRecord {
  const { submission } = task;
  return { ...task, submission: submission && { ...submission, id: OTHER_SUBMISSION_ID } };
}

/** Returns what the sender of a call has to do after it has reported a refused attempt. */
function replyTo(record: TaskRecord | null, event: CallRefusedEvent, now = LATER) {
  const decision = transition(record, event, POLICY, now);
  return callRefusalReplyOf(decision.kind === "changed" ? decision.record : record, event);
}

describe("the registration of a submission in queues", () => {
  it("a submission stores the queues in which it waits, its first attempt, and until when it waits", () => {
    const task = apply(null, aSubmittedRegistration({ provider: POOL }, { ...CALL, ...QUEUES }));
    expect(task.submission).toMatchObject({
      state: { kind: "queued", failsAt: QUEUE_ENDS_AT },
      stay: aStay(),
    });
    expect(task.upstream).toEqual({ connection: POOL, job: null });
    expect(parseRecord(task)).toEqual(task);
  });

  it("a call whose Worker holds a place already is sent to the member with this place", () => {
    expect(held).toMatchObject({
      upstream: { connection: MEMBER_A },
      registration: { provider: POOL },
      submission: { state: { kind: "sending" }, stay: aStay() },
    });
  });

  it("a submission whose connection is not limited has no new member, no event and no duty", () => {
    const started = apply(null, aSubmittedRegistration({}, { ...CALL, queues: [] }));
    expect(started).toEqual(apply(null, aSubmittedRegistration({}, CALL)));
    const task = finish(apply(started, aCallStart()), aResultAtOnce(aCompletion()), LATER);
    const members = ["stay", "refusedAttempts"];
    for (const record of [started, task]) {
      expect(Object.keys(record.submission ?? {}).filter((name) => members.includes(name))).toEqual(
        [],
      );
    }
    expect(leaveQueues({ ...task, callback: null }, POLICY)).toBeNull();
    expect(firstLeaveOf(started, task)).toBeNull();
    expect(expire({ ...task, callback: null })).not.toBeNull();
  });

  it("a call waits for QUEUE_MINUTES, or until the time that its caller states, but not beyond the deadline", () => {
    const short = aPolicy({ queueMs: 7 * MINUTE });
    const timely = aSubmittedRegistration({ deadlineMs: 5 * MINUTE }, { ...CALL, ...QUEUES });
    const stated = aSubmittedRegistration({}, { ...CALL, ...QUEUES, startByMs: NOW + DAY });
    const usual = aSubmittedRegistration({}, { ...CALL, ...QUEUES });
    const tasks = [apply(null, usual, NOW, short), apply(null, stated), apply(null, timely)];
    expect(tasks.map(({ submission }) => submission)).toMatchObject(
      [7 * MINUTE, DAY, 5 * MINUTE].map((waitMs) => {
        return { state: { failsAt: NOW + waitMs }, stay: { startBy: NOW + waitMs } };
      }),
    );
  });

  it.each([
    ["now", NOW],
    ["after the deadline of its task", NOW + HOUR + 1],
  ])("a call that must be sent until %s is refused", (_when, startByMs) => {
    const event = aSubmittedRegistration({ deadlineMs: HOUR }, { ...CALL, startByMs });
    expect(transition(null, event, POLICY, NOW)).toMatchObject({
      kind: "reject",
      rejection: {
        code: "invalid_field",
        field: "/Relay-Start-By",
        message: "must be in the future, and not after the deadline of the task",
      },
    });
    expect(apply(null, aSubmittedRegistration({ deadlineMs: HOUR }, CALL)).status).toBe("pending");
  });

  it("a call may wait until the deadline of its task", () => {
    const start = { ...CALL, startByMs: NOW + HOUR };
    const task = apply(null, aSubmittedRegistration({ deadlineMs: HOUR }, start));
    expect(task.submission?.state).toEqual({ kind: "queued", failsAt: NOW + HOUR });
  });

  it("a call keeps the time until which it waits while its price is charged", () => {
    const start = { ...CALL, ...QUEUES, startByMs: NOW + MINUTE };
    const charged = apply(apply(null, aPricedSubmission({}, start)), aChargeEnd(), LATER);
    const until = { state: { failsAt: NOW + MINUTE }, stay: { startBy: NOW + MINUTE } };
    expect(charged.submission).toMatchObject({ startedAt: LATER, ...until });
  });
});

describe("the start of an attempt", () => {
  it("an attempt is sent to the member that has a place, while the task stays addressed to the pool", () => {
    const task = apply(waiting, anAttemptStart(1, MEMBER_B), LATER);
    const state = { kind: "sending", endsAt: CALL_ENDS_AT + 3 * SECOND };
    expect(task).toMatchObject({
      upstream: { connection: MEMBER_B, job: null },
      registration: { provider: POOL },
      submission: { startedAt: LATER, state, stay: aStay() },
    });
    expect(callStartOf(task, anAttemptStart(1, MEMBER_B))).toMatchObject({ kind: "send" });
  });

  it.each<[string, TaskRecord, number]>([
    ["an attempt that was refused, while the next waits", again, 1],
    ["an attempt that was refused, while the next is sent", apply(again, anAttemptStart(2)), 1],
  ])("%s is not sent", (_which, task, attempt) => {
    const event = anAttemptStart(attempt);
    expectUnchanged(task, event, LATER);
    expect(callStartOf(task, event)).toEqual({ kind: "gone" });
  });

  it("a later attempt than the one that waits is sent as the present one, because its sender has asked again for a place", () => {
    const task = apply(waiting, anAttemptStart(2, MEMBER_B), LATER);
    expect(task.submission).toMatchObject({ state: { kind: "sending" }, stay: { attempt: 2 } });
    expect(callStartOf(task, anAttemptStart(2, MEMBER_B))).toMatchObject({ kind: "send" });
    expect(callStartOf(task, anAttemptStart(1))).toEqual({ kind: "gone" });
    expect(holdsPlace(task, SUBMISSION_ID, MEMBER_B, 1)).toBe(false);
  });

  it("the connection of an order to begin a call has no effect on a submission that is in no queue", () => {
    const task = apply(aQueuedTask(), anAttemptStart(1, MEMBER_B), LATER);
    expect(task.upstream).toEqual(aQueuedTask().upstream);
  });

  it("a call that begins without the name of a connection leaves its task addressed to the pool", () => {
    expect(apply(waiting, aCallStart(), LATER).upstream).toEqual(waiting.upstream);
  });

  it("the next attempt of a call whose caller waits has SUBMIT_TIMEOUT_S and the margin of a Worker", () => {
    const next = apply(apply(held, aRefusedCall(), LATER), anAttemptStart(2, MEMBER_B), LATER);
    const endsAt = LATER + POLICY.submitTimeoutMs + 10 * SECOND;
    expect(next).toMatchObject({
      upstream: { connection: MEMBER_B },
      submission: { state: { kind: "sending", endsAt } },
    });
  });
});

describe("a refused attempt", () => {
  it("a refused attempt waits again as the next attempt, until the same time, and is stored", () => {
    const refused = { connection: MEMBER_A, at: LATER, statusCode: 429, refusal: "busy" };
    expect(again).toMatchObject({
      version: LATER,
      status: "pending",
      upstream: { connection: POOL, job: null },
      submission: {
        state: { kind: "queued", failsAt: QUEUE_ENDS_AT },
        stay: aStay({ attempt: 2 }),
        refusedAttempts: [refused],
      },
    });
    expect(parseRecord(again)).toEqual(again);
    expect(replyTo(sending, aRefusedCall())).toBe("again");
  });

  it("a repeated report of a refused attempt changes nothing and has the same reply, until the next attempt begins", () => {
    expectUnchanged(again, aRefusedCall(), LATER);
    expect(replyTo(again, aRefusedCall())).toBe("again");
    const next = apply(again, anAttemptStart(2, MEMBER_B), LATER);
    expectUnchanged(next, aRefusedCall(), LATER);
    expect(replyTo(next, aRefusedCall())).toBe("gone");
  });

  it("only the latest twenty refused attempts are stored", () => {
    let task: TaskRecord = waiting;
    for (let attempt = 1; attempt <= 22; attempt++) {
      task = apply(task, anAttemptStart(attempt), NOW + attempt);
      task = apply(task, aRefusedCall({ attempt }), NOW + attempt);
    }
    const times = task.submission?.refusedAttempts?.map(({ at }) => at - NOW);
    expect(times).toEqual(Array.from({ length: 20 }, (_, index) => index + 3));
    expect(task.submission?.stay?.attempt).toBe(23);
  });

  it("a refused attempt whose call may wait no longer fails its task with queue_timeout, and its price is refunded", () => {
    const task = finish(withPrice(asOpen(sending)), aRefusedCall(), QUEUE_ENDS_AT);
    expect(errorOf(task)).toBe("queue_timeout");
    expect(task).toMatchObject({
      credits: { state: { kind: "refunding" } },
      submission: { state: { kind: "unsent" }, refusedAttempts: [{ connection: MEMBER_A }] },
    });
    expect(replyTo(sending, aRefusedCall(), QUEUE_ENDS_AT)).toBe("gone");
    expect(replyTo(sending, aRefusedCall(), QUEUE_ENDS_AT - 1)).toBe("again");
  });

  it("a call that waits for another attempt fails with queue_timeout at the end of its time", () => {
    const lost = { type: "submission_lost" } as const;
    expect(wakeAt(again, POLICY)).toBe(QUEUE_ENDS_AT);
    expect(nextStep(again, POLICY, QUEUE_ENDS_AT)).toEqual({ kind: "event", event: lost });
    expect(errorOf(finish(again, lost, QUEUE_ENDS_AT))).toBe("queue_timeout");
    expect(errorOf(finish(again, anAttemptStart(2), QUEUE_ENDS_AT))).toBe("queue_timeout");
  });

  it("the call of a caller who waits for its answer waits thirty seconds for another attempt", () => {
    const task = apply(held, aRefusedCall(), LATER);
    expect(task.submission).toMatchObject({
      state: { kind: "queued", failsAt: LATER + 30 * SECOND },
      stay: { attempt: 2 },
    });
    expect(replyTo(held, aRefusedCall(), QUEUE_ENDS_AT)).toBe("again");
  });

  it("the call of a caller who waits is withdrawn when no other attempt has begun in time, and its price is returned", () => {
    const lost: TaskEvent = { type: "submission_lost" };
    const endsAt = LATER + 30 * SECOND;
    const refused = apply(held, aRefusedCall(), LATER);
    expect(nextStep(refused, POLICY, endsAt)).toEqual({ kind: "event", event: lost });
    expectUnchanged(refused, anAttemptStart(2, MEMBER_B), endsAt);
    expect(callStartOf(refused, anAttemptStart(2, MEMBER_B))).toEqual({ kind: "gone" });
    expect(transition(refused, lost, POLICY, endsAt)).toMatchObject({
      kind: "erase",
      because: "not_submitted",
    });
    const priced = apply(withPrice(asOpen(held)), aRefusedCall(), LATER);
    const hidden = apply(priced, lost, endsAt);
    expect(hidden).toMatchObject({
      status: "charging",
      credits: { state: { kind: "refunding", retryAt: endsAt } },
    });
    expect(firstLeaveOf(priced, hidden)).toEqual({ ...LEAVE, ranAt: null });
  });

  it("an attempt that is refused after its outcome counted as unknown fails the task as any refusal, and no other follows", () => {
    const { isHookless: _, ...hooked } = sending.submission ?? aSubmission();
    const unknown = apply({ ...sending, submission: hooked }, anUnknownOutcome(), LATER);
    expect(unknown.submission?.state.kind).toBe("unknown");
    const task = finish(unknown, aRefusedCall({ statusCode: 402, refusal: "funds" }), LATER);
    expect(errorOf(task)).toBe("upstream_funds");
    expect(replyTo(unknown, aRefusedCall())).toBe("gone");
  });

  it.each<[string, TaskRecord]>([
    ["whose task was canceled", apply(waiting, CANCELED, NOW)],
    ["whose task has ended by a report", apply(hookable(sending), aReport(aCompletion()), NOW)],
    ["whose job has become known", apply(sending, anAcceptance(), NOW)],
    ["that has not begun", waiting],
    ["of a submission in no queue", apply(aQueuedTask(), aCallStart())],
    ["of a submission that waits in no queue", aQueuedTask()],
    ["of a submission that will not be sent", aWaitingTask({}, { state: { kind: "unsent" } })],
  ])("the report of a refused attempt %s changes nothing", (_what, task) => {
    expectUnchanged(task, aRefusedCall(), LATER);
    expect(replyTo(task, aRefusedCall())).toBe("gone");
  });

  it.each<[string, TaskRecord | null]>([
    ["that does not exist", null],
    ["with another submission", aWaitingTask({}, { id: OTHER_SUBMISSION_ID })],
    ["with another submission, whose second attempt waits", ofAnother(again)],
    ["without a submission", anOpenTask()],
  ])("the report of a refused attempt is rejected for a task %s", (_what, record) => {
    expectRefused(record, aRefusedCall(), "unknown_task", LATER);
    expect(replyTo(record, aRefusedCall())).toBe("gone");
  });

  it("a call that no member takes any more is refused while it waits, and keeps the answer", () => {
    const task = finish(again, aRefusal(402, "funds", ANSWER), LATER);
    expect(errorOf(task)).toBe("upstream_funds");
    expect(task.submission).toMatchObject({ answer: ANSWER, state: { refusal: "funds" } });
  });
});

describe("the duty to leave the queues", () => {
  const hooked = apply(
    sending,
    aSubmissionHook(aCompletion(), { connection: POOL }),
    LATER,
    NO_KEY,
  );
  const withdrawn = apply(withPrice(asOpen(held)), aRefusal(), LATER);
  const unsent = apply(
    apply(null, aPricedSubmission({}, { ...CALL, ...QUEUES }), NOW),
    NOT_SENT,
    LATER,
  );

  const lost = { type: "submission_lost" } as const;
  const unknown = apply(hookable(sending), anUnknownOutcome(), LATER - SECOND);

  it.each<[string, TaskRecord, TaskRecord, ranAt: string | null]>([
    ["has completed", sending, apply(sending, aResultAtOnce(aCompletion()), LATER), MEMBER_A],
    ["has failed", sending, apply(sending, aResultAtOnce(anUpstreamFailure()), LATER), MEMBER_A],
    ["is canceled while it waits", waiting, apply(waiting, CANCELED, LATER), null],
    ["has waited for too long", again, apply(again, lost, QUEUE_ENDS_AT), null],
    ["is refused for good", sending, apply(sending, aRefusal(), LATER), null],
    ["is refused after an unknown outcome", unknown, apply(unknown, aRefusal(), LATER), null],
    ["has ended by a hook while its call is sent", sending, hooked, MEMBER_A],
    [
      "has ended by a report while it waits",
      waiting,
      apply(waiting, aReport(aCompletion()), LATER),
      POOL,
    ],
    ["is withdrawn after a refusal", withPrice(asOpen(held)), withdrawn, null],
    ["will not be sent, while its price is charged", asHidden(unsent), unsent, null],
  ])(
    "the submission of a task that %s leaves its queues at once, and again after 5 s, and states the connection that has accepted it",
    (_, before, after, ranAt) => {
      const leave = { ...LEAVE, ranAt };
      expect(firstLeaveOf(before, after)).toEqual(leave);
      expect(firstLeaveOf(after, after)).toBeNull();
      const endedAt = after.submission?.stay?.leave.retryAt ?? 0;
      const now = endedAt - 5 * SECOND;
      expect([LATER, QUEUE_ENDS_AT]).toContain(now);
      const idle = withoutClient(after);
      expect(leaveQueues(idle, POLICY)?.dueAt).toBe(endedAt);
      expect(leaveQueues(idle, POLICY)?.step(endedAt)).toEqual({
        kind: "leaveQueues",
        leave,
      });
      expect(parseRecord(after)).toEqual(after);
    },
  );

  it.each<[string, TaskRecord]>([
    ["waits", waiting],
    ["is sent", sending],
    ["waits for another attempt", again],
    ["has an unknown outcome", apply(hookable(sending), anUnknownOutcome(), LATER)],
    ["has started a job", apply(sending, anAcceptance(), LATER)],
    ["waits for its charge", apply(null, aPricedSubmission({}, { ...CALL, ...QUEUES }))],
  ])("a submission that %s keeps its place", (_state, task) => {
    expect(leaveQueues(task, POLICY)).toBeNull();
    expect(firstLeaveOf(null, task)).toBeNull();
    expectUnchanged(task, LEFT, LATER);
  });

  const ended = finish(aWaitingTask({ callbackUrl: null }), CANCELED, LATER);

  it("after a confirmation the stay ends, and the version of the task does not rise", () => {
    const task = apply(ended, LEFT, LATER + SECOND);
    const { stay: _, ...submission } = ended.submission ?? aSubmission();
    expect(task).toEqual({ ...ended, submission });
    expectUnchanged(task, LEFT, LATER + SECOND);
  });

  it("without a confirmation the order is repeated after waits that double", () => {
    const once = apply(ended, NOT_LEFT, LATER + 5 * SECOND);
    expect(leaveQueues(once, POLICY)?.dueAt).toBe(LATER + 15 * SECOND);
    const twice = apply(once, NOT_LEFT, LATER + 15 * SECOND);
    expect(leaveQueues(twice, POLICY)?.dueAt).toBe(LATER + 35 * SECOND);
  });

  it("the confirmation of another submission changes nothing", () => {
    expectUnchanged(ended, { ...LEFT, submissionId: OTHER_SUBMISSION_ID }, LATER);
    expectUnchanged(anOpenTask(), LEFT, LATER);
    expectUnchanged(null, LEFT, LATER);
  });

  it("the order waits while it could delay a refund or an attempt of the callback", () => {
    const refunding = apply(withPrice(waiting), CANCELED, LATER);
    expect(nextStep(refunding, POLICY, LATER + 5 * SECOND)?.kind).toBe("refund");
    expect(leaveQueues(refunding, POLICY)).toBeNull();
    const { callback, ...called } = finish(waiting, CANCELED, LATER);
    const attemptAt = (nextAttemptAt: number) =>
      callback && { ...callback, state: { kind: "due", nextAttemptAt } as const };
    const leaveBefore = (at: number) => leaveQueues({ ...called, callback: attemptAt(at) }, POLICY);
    expect(leaveBefore(LATER + 7_499)).toBeNull();
    expect(leaveBefore(LATER + 7_500)?.dueAt).toBe(LATER + 5 * SECOND);
  });

  it("a task is not erased at the end of its retention before its submission has left the queues", () => {
    expect(expire(ended)).toBeNull();
    expect(nextStep(ended, POLICY, ended.expiresAt)?.kind).toBe("leaveQueues");
    const left = afterwards(transition(ended, LEFT, POLICY, LATER));
    expect(expire(left)?.dueAt).toBe(ended.expiresAt);
    expect(transition(ended, ERASE, POLICY, LATER).kind).toBe("erase");
  });

  it("a withdrawn task is erased after its refund, with the queues that its submission must leave first", () => {
    const refund: TaskEvent = aRefundEnd(true, SUBMISSION_ID);
    const decision = transition(withdrawn, refund, POLICY, LATER);
    expect(decision).toMatchObject({
      kind: "erase",
      record: { submission: { stay: aStay({ leave: { retryAt: LATER + 5 * SECOND, tries: 1 } }) } },
    });
  });
});

describe("the question whether a submission holds a place", () => {
  it.each<[string, TaskRecord | null, boolean, boolean]>([
    ["waits", waiting, true, true],
    ["waits for another attempt", again, true, true],
    [
      "waits for its charge",
      apply(null, aPricedSubmission({}, { ...CALL, ...QUEUES })),
      true,
      true,
    ],
    ["is sent to member A", sending, true, false],
    ["is sent to member B", apply(waiting, anAttemptStart(1, MEMBER_B)), false, true],
    ["has an unknown outcome", apply(hookable(sending), anUnknownOutcome()), true, false],
    ["has started a job", apply(sending, anAcceptance()), true, false],
    ["has ended", apply(sending, aResultAtOnce(aCompletion())), false, false],
    ["is withdrawn", apply(withPrice(asOpen(held)), aRefusal()), false, false],
    ["is in no queue", aQueuedTask(), false, false],
    ["does not exist in a task that was only registered", anOpenTask(), false, false],
    ["does not exist", null, false, false],
  ])("a submission that %s holds a place only where it may use it", (_state, task, atA, atB) => {
    const names = [MEMBER_A, MEMBER_B, POOL];
    const answers = names.map((name) => holdsPlace(task, SUBMISSION_ID, name));
    expect(answers).toEqual([atA, atB, false]);
  });

  it("a submission holds no place for an attempt that was refused, which a late question has brought back", () => {
    const answers = [1, 2].map((attempt) => holdsPlace(again, SUBMISSION_ID, MEMBER_A, attempt));
    expect(answers).toEqual([false, true]);
  });

  it("the submission of another task with the same id holds no place", () => {
    expect(holdsPlace(sending, OTHER_SUBMISSION_ID, MEMBER_A)).toBe(false);
  });
});

describe("a task of a pool", () => {
  const hook = aSubmissionHook(aCompletion(), { connection: POOL });
  const accepted = apply(sending, anAcceptance(), LATER);

  it("a refused hook of the pool is stored, and one of the member alone is not", () => {
    const event = { type: "hook_refused", connection: POOL, reason: "bad_signature" } as const;
    expect(apply(sending, event, LATER)).toMatchObject({ tracking: { refusedHooks: [{}] } });
    expectUnchanged(sending, { ...event, connection: MEMBER_A }, LATER);
  });

  it("a late hook is reported for the member", () => {
    const ended = finish(sending, hook, LATER, NO_KEY);
    expect(hookReportOf(ended, hook, ended)).toEqual({ connection: MEMBER_A, hasCome: true });
    const other = aHook(aCompletion(), { connection: MEMBER_A });
    expect(hookReportOf(ended, other, ended)).toBeNull();
  });

  it("the job is polled at the member, and clients find it under the pool", () => {
    expect(submittedJobOf(accepted)).toEqual({ connection: MEMBER_A, job: JOB });
    expect(askedJobOf(accepted)).toEqual({ connection: POOL, job: JOB });
  });
});

describe("what readers see of a submission in queues", () => {
  it("a refused attempt and the member are shown to the operator alone", () => {
    const attempt = { connection: MEMBER_A, at: NOW_S + 3, status_code: 429, refusal: "busy" };
    expect(submissionOf(again, "operator")).toMatchObject({ state: "queued", attempts: [attempt] });
    expect(submissionOf(again, "account")).toEqual({
      state: "queued",
      started_at: NOW_S,
      start_by: NOW_S + HOUR / SECOND,
    });
    expect(taskView(sending, "account")).not.toContain(MEMBER_A);
    expect(JSON.parse(taskView(sending, "operator")).provider).toBe(MEMBER_A);
  });

  it("a position is shown while the call waits", () => {
    expect(submissionOf(waiting, "account", QUEUED)).toMatchObject({
      position: 3,
      cause: "upstream_refused",
    });
    expect(submissionOf(sending, "account", QUEUED)).not.toHaveProperty("position");
    expect(submissionOf(anOpenTask(), "account", QUEUED)).toBeUndefined();
  });

  it("the index has a waiting call as queued, and a sent one with its member", () => {
    expect(rowOf(asOpen(again), POLICY)).toMatchObject({ submission: "queued", provider: POOL });
    expect(rowOf(asOpen(sending), POLICY)).toMatchObject({ provider: MEMBER_A });
  });
});

/** Returns an open task. @throws when it is not open. */
function asOpen(record: TaskRecord) {
  if (record.status !== "pending" && record.status !== "processing") throw new Error("not open");
  return record;
}

/** Returns a task whose price is being charged as it was before the word that its call will not be sent. */
function asHidden(record: TaskRecord): TaskRecord {
  const state = { kind: "queued", failsAt: QUEUE_ENDS_AT } as const;
  return { ...record, submission: { ...(record.submission ?? aSubmission()), state } };
}

/** Returns a task about whose job a hook can come. */
function hookable(record: TaskRecord): TaskRecord {
  const { isHookless: _, ...submission } = record.submission ?? aSubmission();
  return { ...record, submission };
}

/** Returns a task for whose refund or callback nobody waits. */
function withoutClient(record: TaskRecord): TaskRecord {
  if (record.status === "completed" || record.status === "failed") {
    return { ...record, callback: null, credits: null };
  }
  if (record.status !== "charging" || record.credits.state.kind !== "refunding") return record;
  const state = { ...record.credits.state, retryAt: Infinity };
  return { ...record, credits: { ...record.credits, state } };
}
