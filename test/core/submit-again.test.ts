import { describe, expect, it } from "vitest";
import { accountFaultOf } from "../../src/core/events/account-fault.ts";
import type { PollEndedEvent, SubmitEndedEvent, TaskEvent } from "../../src/core/events/event.ts";
import { followUpOf, keptCallToTell } from "../../src/core/events/submit-again.ts";
import { holdsPlace } from "../../src/core/plans/queue-places.ts";
import { endForAccount } from "../../src/core/record/refusal.ts";
import { parseRecord } from "../../src/core/record/record-schema.ts";
import { askedJobOf, namedJobsOf } from "../../src/core/record/submitted-job.ts";
import { isOpen, type OpenTask, type TaskRecord } from "../../src/core/record/task.ts";
import type { UpstreamFailure } from "../../src/core/record/upstream.ts";
import { nextStep, wakeAt } from "../../src/core/step.ts";
import { taskView } from "../../src/core/views/task-view.ts";
import { transition } from "../../src/core/transition.ts";
import {
  aCompletion,
  anOpenTask,
  aPolicy,
  aReport,
  HOUR,
  LIMITS,
  MINUTE,
  NOW,
  NOW_S,
  SECOND,
} from "./builders.ts";
import { afterwards, apply, expectUnchanged, finish } from "./decisions.ts";
import {
  accepted,
  aCallStart,
  anAcceptance,
  ANSWER,
  anAttemptStart,
  anUnknownOutcome,
  aQueuedTask,
  aRefusal,
  aRefusedCall,
  aStay,
  aSubmissionHook,
  aWaitingTask,
  MEMBER_A,
  MEMBER_B,
  NOT_SENT,
  OTHER_SUBMISSION_ID,
  POOL,
  QUEUE_ENDS_AT,
  SUBMISSION_ID,
  withPrice,
} from "./submission-builders.ts";
import { aPollEnd, JOB, newsAnswer, NO_KEY, NO_OUTPUT, OTHER_JOB } from "./upstream-builders.ts";

const MEMBER_C = "ark-c";
const LATER = NOW + 3 * SECOND;
const MUCH_LATER = NOW + 10 * MINUTE;
const MEMBERS = [MEMBER_A, MEMBER_B, MEMBER_C];
const SETTINGS = aPolicy({ polls: new Map([...MEMBERS, POOL].map((name) => [name, LIMITS])) });

/** Builds the failure of a job that another member may not have. */
function aFailure(
  category: UpstreamFailure["failure"]["category"] = "provider",
  retryable = true,
  error = { code: "upstream_error", message: "The worker has crashed." },
): UpstreamFailure {
  return { status: "failed", error, failure: { category, retryable } };
}

/** Builds the report that the upstream has accepted an attempt, whose call is kept for further members. */
function aKeptAcceptance(
  attempt = 1,
  further: readonly string[] = [MEMBER_B, MEMBER_C],
  job = JOB,
): SubmitEndedEvent {
  return { ...anAcceptance({ job }), attempt, further };
}

function step(record: TaskRecord, event: TaskEvent, now = LATER): TaskRecord {
  return apply(record, event, now, SETTINGS);
}

function end(record: TaskRecord, event: TaskEvent, now = LATER) {
  return finish(record, event, now, SETTINGS);
}

function aPoll(news: UpstreamFailure = aFailure(), changes: Partial<PollEndedEvent> = {}) {
  return aPollEnd(newsAnswer(news), changes);
}

/** Returns an open task. @throws when it is none. */
function open(record: TaskRecord): OpenTask {
  if (!isOpen(record)) throw new Error(`the task is ${record.status}`);
  return record;
}

/** Builds a task whose job runs at member A, and whose call is kept for the others. */
function aRunningTask(changes: Partial<OpenTask> = {}): OpenTask {
  const stay = aStay({ connections: MEMBERS });
  const sent = apply(aWaitingTask(changes, { stay }), anAttemptStart(), NOW, SETTINGS);
  return open(apply(sent, aKeptAcceptance(), NOW, SETTINGS));
}

/** Builds a task whose first job has failed, and whose call waits for a place at another member. */
function aFailedTask(changes: Partial<OpenTask> = {}): OpenTask {
  return open(step(aRunningTask(changes), aPoll()));
}

/** Builds a task whose second job runs at member B. */
function aSecondTask(further: readonly string[] = [MEMBER_C], job = OTHER_JOB): OpenTask {
  const sent = step(aFailedTask(), anAttemptStart(2, MEMBER_B));
  return open(step(sent, aKeptAcceptance(2, further, job)));
}

/** Tells for each member whether a task needs a place there. */
function placesOf(task: TaskRecord): readonly boolean[] {
  return MEMBERS.map((name) => holdsPlace(task, SUBMISSION_ID, name));
}

/** Builds a signed hook about a success. */
function aSignedHook(changes: object) {
  return aSubmissionHook(aCompletion(), { isSigned: true, connection: POOL, ...changes });
}

/** Asks a task what the object of its call does next, after the attempt with this number. */
function ask(record: TaskRecord | null, attempt = 1, now = LATER) {
  return followUpOf(record, SUBMISSION_ID, attempt, now);
}

describe("a job that has failed while its call is kept for further members of the pool", () => {
  it.each([
    ["by a poll", aPoll()],
    ["by a signed hook", aSubmissionHook(aFailure(), { isSigned: true, connection: POOL })],
  ])("makes the call wait for another attempt when the failure is proved %s", (_, event) => {
    const task = aRunningTask();
    const failed = step(task, event);
    expect(failed).toMatchObject({
      status: task.status,
      deadlineAt: task.deadlineAt,
      upstream: { connection: POOL, job: null },
      tracking: { poll: null, keptHooks: [] },
      submission: {
        id: SUBMISSION_ID,
        state: { kind: "queued", failsAt: QUEUE_ENDS_AT },
        stay: { attempt: 2, connections: MEMBERS },
        failedJobs: [{ connection: MEMBER_A, job: JOB, attempt: 1, at: LATER, news: aFailure() }],
      },
    });
    expect(failed.version).toBeGreaterThan(task.version);
    expect(parseRecord(JSON.parse(JSON.stringify(failed)))).toEqual(failed);
    expect(nextStep(failed, SETTINGS, LATER)).toBeNull();
    expect(wakeAt(failed, SETTINGS)).toBe(QUEUE_ENDS_AT);
  });

  it.each([
    ["rate_limited", aFailure("rate_limited")],
    ["timeout", aFailure("timeout")],
    ["account without money", { ...aFailure(), ...endForAccount("funds") }],
    ["refused key", { ...aFailure(), ...endForAccount("key") }],
  ])("is followed by another attempt after the failure %s", (_, failure) => {
    expect(step(aRunningTask(), aPoll(failure)).submission?.state.kind).toBe("queued");
  });

  it.each([
    ["moderation", aFailure("moderation")],
    ["invalid_input", aFailure("invalid_input")],
    ["canceled", aFailure("canceled")],
    ["provider, which is not retryable", aFailure("provider", false)],
  ])("ends the task after the failure %s", (_, failure) => {
    const ended = end(aRunningTask(), aPoll(failure));
    expect(ended).toMatchObject({ status: "failed", failure: failure.failure });
    expect(ended.upstream).toEqual({ connection: MEMBER_A, job: JOB });
  });

  it("ends the task at its deadline with upstream_timeout, without another attempt", () => {
    const task = aRunningTask();
    const ended = end(task, { type: "deadline" }, task.deadlineAt + HOUR);
    expect(ended.body).toContain("upstream_timeout");
  });

  it("ends the task when its success has had no output for ten minutes", () => {
    const news = aPollEnd(newsAnswer(NO_OUTPUT));
    const task = step(aRunningTask(), news);
    expect(end(task, { ...news, askedAt: NOW + HOUR / 2 }, NOW + HOUR / 2).status).toBe("failed");
  });

  it("ends the task when somebody has ordered to cancel it", () => {
    const policy = { ...SETTINGS, isCancelable: () => true };
    const order = { type: "cancel", isForced: false } as const;
    const task = apply(aRunningTask(), order, NOW, policy);
    expect(finish(task, aPoll(), LATER, policy).status).toBe("failed");
  });

  it("ends the task when no call may begin any more", () => {
    expect(end(aRunningTask(), aPoll(), QUEUE_ENDS_AT).status).toBe("failed");
    expect(step(aRunningTask(), aPoll(), QUEUE_ENDS_AT - 1).submission?.state.kind).toBe("queued");
  });

  it("ends the task when its job cannot be polled, so that no later hook could be told from one of this job", () => {
    const hook = aSubmissionHook(aFailure(), { isSigned: true, connection: POOL });
    expect(finish(aRunningTask(), hook, LATER, NO_KEY).status).toBe("failed");
  });

  it("ends the task when the failure is reported by the operator, or claimed by an unsigned hook and not confirmed", () => {
    const { status, error } = aFailure();
    expect(end(aRunningTask(), aReport({ status, error })).status).toBe("failed");
    const hook = aSubmissionHook(aFailure(), { connection: POOL });
    expect(step(aRunningTask(), hook).submission?.state.kind).toBe("accepted");
  });

  it("ends the task when the call is kept for nobody", () => {
    const sent = apply(aWaitingTask(), anAttemptStart(), NOW, SETTINGS);
    const task = apply(sent, { ...anAcceptance(), attempt: 1, further: [] }, NOW, SETTINGS);
    expect(task.submission).not.toHaveProperty("further");
    const ended = end(task, aPoll());
    expect(ended.status).toBe("failed");
    expect(keptCallToTell(task, ended)).toBeNull();
    expect(ask(task)).toEqual({ kind: "gone" });
  });

  it("ends the task when the submission is in no queue, in which its call could wait for another member", () => {
    const task = step(step(aQueuedTask(), aCallStart()), aKeptAcceptance());
    expect(end(task, aPoll()).status).toBe("failed");
    expect(ask(task)).toEqual({ kind: "gone" });
  });

  it.each<[string, TaskRecord, number, typeof JOB]>([
    ["first", aWaitingTask(), 1, JOB],
    ["second", aFailedTask(), 2, OTHER_JOB],
  ])(
    "ends the task when only a hook has named the %s job, so that it is not known whether the call is kept",
    (_, waiting, attempt, job) => {
      const sent = step(waiting, anAttemptStart(attempt, MEMBER_B));
      const about = { isSigned: true, connection: POOL, jobId: job.id };
      const named = step(sent, aSubmissionHook({ status: "processing" }, about));
      expect(named.submission?.state.kind).toBe("accepted");
      expect(end(named, aPoll(aFailure(), { job })).status).toBe("failed");
    },
  );

  it("leaves the task its price, which is refunded only when the last job has failed too", () => {
    const priced = withPrice(aWaitingTask());
    const failed = aFailedTask({ account: priced.account, credits: priced.credits });
    expect(failed.credits).toEqual(priced.credits);
    const sent = step(failed, anAttemptStart(2, MEMBER_B));
    const last = step(sent, aKeptAcceptance(2, [], OTHER_JOB));
    const ended = end(last, aPoll(aFailure(), { job: OTHER_JOB }));
    expect(ended.credits?.state.kind).toBe("refunding");
  });

  it("tells the operator of an account without money at the member, once", () => {
    const failure = { ...aFailure(), ...endForAccount("funds") };
    const [task, event] = [aRunningTask(), aPoll(failure)];
    const failed = step(task, event);
    expect(accountFaultOf(task, event, failed)).toEqual({ connection: MEMBER_A, refusal: "funds" });
    const lost = { type: "submission_lost" } as const;
    const ended = end(failed, lost, QUEUE_ENDS_AT);
    expect(accountFaultOf(failed, lost, ended)).toBeNull();
    expect(accountFaultOf(aRunningTask(), aPoll(), aFailedTask())).toBeNull();
  });
});

describe("a task whose job has failed and whose call waits for another member", () => {
  it("needs a place at the further members, and not at the one whose job has failed", () => {
    expect(placesOf(aFailedTask())).toEqual([false, true, true]);
  });

  it.each([
    ["signed", true],
    ["unsigned", false],
  ])("ignores a late %s hook about the failed job, and one that names no job", (_, isSigned) => {
    for (const jobId of [JOB.id, null]) {
      const hook = aSubmissionHook(aCompletion(), { isSigned, jobId, connection: POOL });
      expectUnchanged(aFailedTask(), hook, LATER, SETTINGS, "ignored");
    }
  });

  it("ignores a late answer to a poll of the failed job, and a repeated report that its attempt was accepted", () => {
    expectUnchanged(aFailedTask(), aPoll(), LATER, SETTINGS);
    expectUnchanged(aFailedTask(), aKeptAcceptance(), LATER, SETTINGS);
    const sent = step(aFailedTask(), anAttemptStart(2, MEMBER_B));
    expectUnchanged(sent, aKeptAcceptance(), LATER, SETTINGS);
    const canceled = end(aFailedTask(), { type: "cancel", isForced: false });
    expectUnchanged(canceled, aKeptAcceptance(), LATER, SETTINGS);
  });

  it("is canceled at once by an order", () => {
    const canceled = end(aFailedTask(), { type: "cancel", isForced: false });
    expect(canceled.body).toContain("canceled");
    expect(canceled.submission?.state.kind).toBe("unsent");
  });

  it.each<[string, TaskEvent, number]>([
    ["its time to wait is over", { type: "submission_lost" }, QUEUE_ENDS_AT],
    ["its time to wait is over when a place comes", anAttemptStart(2, MEMBER_B), QUEUE_ENDS_AT],
    ["the call cannot be sent", NOT_SENT, MUCH_LATER],
  ])("fails as its last job did when %s", (_, event, now) => {
    const ended = end(aFailedTask(), event, now);
    expect(JSON.parse(ended.body)).toMatchObject({ error: aFailure().error });
    expect(ended).toMatchObject({
      failure: aFailure().failure,
      found: { by: "poll" },
      upstream: { connection: MEMBER_A, job: JOB },
      submission: { state: accepted(NOW), answer: ANSWER },
    });
    expect(ended.submission).not.toHaveProperty("failedJobs");
  });

  it.each<[string, readonly TaskEvent[]]>([
    ["finally", [aRefusal(400, "final")]],
    [
      "because of its account, and no member is left",
      [
        aRefusedCall({ attempt: 2, connection: MEMBER_B, refusal: "funds", statusCode: 402 }),
        aRefusal(402, "funds"),
      ],
    ],
  ])("fails as its last job did when another member refuses the call %s", (_, events) => {
    const sent = step(aFailedTask(), anAttemptStart(2, MEMBER_B));
    const last = events.reduce((task, event) => step(task, event), sent);
    expect(last).toMatchObject({
      status: "failed",
      failure: aFailure().failure,
      upstream: { connection: MEMBER_A, job: JOB },
    });
    expect(last.submission?.refusedAttempts).toHaveLength(1);
    expect(last.submission?.refusedAttempts?.[0]).toMatchObject({ connection: MEMBER_B });
  });

  it("waits again when a member is busy, without another failed job", () => {
    const sent = step(aFailedTask(), anAttemptStart(2, MEMBER_B));
    const again = step(sent, aRefusedCall({ attempt: 2, connection: MEMBER_B }));
    expect(again.submission).toMatchObject({ state: { kind: "queued" }, stay: { attempt: 3 } });
    expect(again.submission?.failedJobs).toHaveLength(1);
  });

  it("fails as submit_unknown, and not as its last job did, when nobody knows whether another member has started a job", () => {
    const sent = step(aFailedTask(), anAttemptStart(2, MEMBER_B));
    const ended = end(sent, anUnknownOutcome(500));
    expect(ended.body).toContain("submit_unknown");
  });
});

describe("a task whose second job runs", () => {
  it("ends with the result of this job", () => {
    const done = aPollEnd(newsAnswer(aCompletion()), { job: OTHER_JOB });
    const ended = end(aSecondTask(), done);
    expect(ended).toMatchObject({
      status: "completed",
      upstream: { connection: MEMBER_B, job: OTHER_JOB },
    });
  });

  it("waits for the third member when it fails too, and fails when this one has failed", () => {
    const failed = step(aSecondTask(), aPoll(aFailure(), { job: OTHER_JOB }));
    expect(failed.submission).toMatchObject({
      stay: { attempt: 3 },
      failedJobs: [{ connection: MEMBER_A }, { connection: MEMBER_B, attempt: 2 }],
    });
    expect(placesOf(failed)).toEqual([false, false, true]);
    const third = { id: "cgt-3", endpoint: null };
    const sent = step(failed, anAttemptStart(3, MEMBER_C));
    const running = step(sent, aKeptAcceptance(3, [], third));
    const ended = end(running, aPoll(aFailure("timeout"), { job: third }));
    expect(ended.failure?.category).toBe("timeout");
    expect(ended.submission?.failedJobs).toHaveLength(2);
  });

  it("fails as its second job did when this has failed too and the third member does not take the call in time, and has the first job among those that failed before", () => {
    const error = { code: "upstream_error", message: "The second worker has crashed." };
    const second = aPoll(aFailure("timeout", true, error), { job: OTHER_JOB });
    const failed = step(aSecondTask(), second);
    const ended = end(failed, { type: "submission_lost" }, QUEUE_ENDS_AT);
    expect(JSON.parse(ended.body)).toMatchObject({ error });
    expect(ended).toMatchObject({
      failure: { category: "timeout" },
      upstream: { connection: MEMBER_B, job: OTHER_JOB },
      submission: { state: accepted(LATER) },
    });
    const earlier = ended.submission?.failedJobs?.map(({ connection, job }) => [connection, job]);
    expect(earlier).toEqual([[MEMBER_A, JOB]]);
  });

  it("ignores late hooks about both jobs, and repeated reports that their attempts were accepted, when it has failed too", () => {
    const failed = step(aSecondTask(), aPoll(aFailure(), { job: OTHER_JOB }));
    for (const { id: jobId } of [JOB, OTHER_JOB]) {
      expectUnchanged(failed, aSignedHook({ jobId }), LATER, SETTINGS, "ignored");
    }
    expectUnchanged(failed, aKeptAcceptance(), LATER, SETTINGS);
    expectUnchanged(failed, aKeptAcceptance(2, [MEMBER_C], OTHER_JOB), LATER, SETTINGS);
  });

  it("is about the connection and the job of the second attempt, and forgets both jobs by name in the end", () => {
    const task = aSecondTask();
    expect(askedJobOf(task)).toEqual({ connection: POOL, job: OTHER_JOB });
    const named = [JOB, OTHER_JOB].map((job) => ({ connection: POOL, job }));
    expect(namedJobsOf(task)).toEqual(named);
    expect(namedJobsOf(aFailedTask())).toEqual(named.slice(0, 1));
    expect(namedJobsOf(anOpenTask())).toEqual([]);
  });

  it("does not end by a late hook about the first job", () => {
    expectUnchanged(aSecondTask(), aSignedHook({}), LATER, SETTINGS, "other_job");
    const nameless = afterwards(
      transition(aSecondTask(), aSignedHook({ jobId: null }), SETTINGS, LATER),
    );
    expect(nameless).toMatchObject({ tracking: { poll: { hint: { status: "completed" } } } });
    expect(isOpen(nameless)).toBe(true);
    expectUnchanged(aSecondTask(), aSignedHook({ jobId: null }), LATER, NO_KEY, "ignored");
    expect(end(aSecondTask(), aSignedHook({ jobId: OTHER_JOB.id })).status).toBe("completed");
  });

  it("does not end by news about the first job if both members give their jobs the same id", () => {
    const task = aSecondTask([MEMBER_C], JOB);
    const hook = aSubmissionHook(aFailure(), { isSigned: true, connection: POOL });
    expect(step(task, hook)).toMatchObject({ submission: { state: { kind: "accepted" } } });
    expectUnchanged(task, aPoll(aFailure(), { askedAt: NOW }), LATER, SETTINGS);
    expect(step(task, aPoll(aFailure(), { askedAt: LATER })).submission?.stay?.attempt).toBe(3);
  });

  it("shows the operator the failed attempt and the refused one in their order, and accounts none", () => {
    const sent = step(aFailedTask(), anAttemptStart(2, MEMBER_B));
    const busy = aRefusedCall({ attempt: 2, connection: MEMBER_B });
    const task = step(sent, busy, LATER + 5 * SECOND);
    expect(JSON.parse(taskView(task, "operator"))).toMatchObject({
      submission: {
        attempts: [
          {
            connection: MEMBER_A,
            at: NOW_S + 3,
            job: JOB.id,
            error: aFailure().error,
            category: "provider",
          },
          { connection: MEMBER_B, at: NOW_S + 8, status_code: 429, refusal: "busy" },
        ],
      },
    });
    const shown = taskView(task, "account");
    expect(JSON.parse(shown).submission).not.toHaveProperty("attempts");
    for (const name of MEMBERS) expect(shown).not.toContain(name);
  });
});

describe("what the object of a kept call does next", () => {
  it("is to keep the call while its job runs and a call may begin", () => {
    expect(ask(aRunningTask())).toEqual({ kind: "keep" });
    expect(ask(aSecondTask(), 2)).toEqual({ kind: "keep" });
    expect(ask(aRunningTask(), 1, QUEUE_ENDS_AT)).toEqual({ kind: "gone" });
  });

  it("is to submit it again when its job has failed, also when this is asked twice", () => {
    expect(ask(aFailedTask())).toEqual({ kind: "again", refusal: null });
    const failure = { ...aFailure(), ...endForAccount("key") };
    const failed = step(aRunningTask(), aPoll(failure));
    expect(ask(failed)).toEqual({ kind: "again", refusal: "key" });
  });

  it("is to forget it when the task has ended, another attempt has begun, or the task is another", () => {
    expect(ask(null)).toEqual({ kind: "gone" });
    expect(ask(end(aRunningTask(), aPoll(aFailure("moderation"))))).toEqual({ kind: "gone" });
    expect(ask(step(aFailedTask(), anAttemptStart(2, MEMBER_B)))).toEqual({ kind: "gone" });
    expect(ask(aSecondTask())).toEqual({ kind: "gone" });
    const sent = step(aFailedTask(), anAttemptStart(2, MEMBER_B));
    const busy = step(sent, aRefusedCall({ attempt: 2, connection: MEMBER_B }));
    expect(ask(busy, 2)).toEqual({ kind: "gone" });
    expect(followUpOf(aRunningTask(), OTHER_SUBMISSION_ID, 1, LATER)).toEqual({ kind: "gone" });
    expect(ask(anOpenTask())).toEqual({ kind: "gone" });
  });

  it("is to forget it when the attempt was refused, and the job of the next one runs", () => {
    const sent = step(
      aWaitingTask({}, { stay: aStay({ connections: MEMBERS }) }),
      anAttemptStart(),
    );
    const next = step(step(sent, aRefusedCall()), anAttemptStart(2, MEMBER_B));
    const task = step(next, aKeptAcceptance(2, [MEMBER_C]));
    expect([ask(task, 1), ask(task, 2)]).toEqual([{ kind: "gone" }, { kind: "keep" }]);
  });

  it("is asked for at once when the job has failed or the task has ended, and at no other change", () => {
    const task = aRunningTask();
    expect(keptCallToTell(task, aFailedTask())).toBe(SUBMISSION_ID);
    expect(keptCallToTell(task, end(task, aPoll(aFailure("moderation"))))).toBe(SUBMISSION_ID);
    expect(keptCallToTell(task, { ...task, version: task.version + 1 })).toBeNull();
    expect(keptCallToTell(aFailedTask(), step(aFailedTask(), anAttemptStart(2)))).toBeNull();
    expect(keptCallToTell(null, task)).toBeNull();
  });
});
