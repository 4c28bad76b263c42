import { describe, expect, it } from "vitest";
import { askKeptJob } from "../../src/core/duties/ask-kept-job.ts";
import type { PollAnswer } from "../../src/core/events/event.ts";
import type { Policy } from "../../src/core/policy.ts";
import type { OpenTask, TaskRecord } from "../../src/core/record/task.ts";
import type { UpstreamNews } from "../../src/core/record/upstream.ts";
import { nextStep, wakeAt } from "../../src/core/step.ts";
import { transition } from "../../src/core/transition.ts";
import { taskView } from "../../src/core/views/task-view.ts";
import {
  aCompletion,
  aFinishedTask,
  anOpenTask,
  aPolicy,
  CONNECTION,
  DAY,
  finished,
  HOUR,
  ID,
  LIMITS,
  MINUTE,
  NOW,
  POLICY,
  PROCESSING,
} from "./builders.ts";
import { aChargingTask } from "./credit-builders.ts";
import { apply, expectUnchanged } from "./decisions.ts";
import { aSubmission, knownOtherwise } from "./submission-builders.ts";
import {
  aHook,
  aKeptHook,
  anAnswer,
  anAttachedTask,
  anUpstreamFailure,
  aPlan,
  aPollEnd,
  aProvidedTask,
  aTracking,
  DEADLINE_STEP,
  JOB,
  newsAnswer,
  NO_KEY,
  NO_OUTPUT,
  ONE_HOOK,
  OTHER_JOB,
  QUEUED,
  rateLimited,
  UNANSWERED,
  UPSTREAM,
} from "./upstream-builders.ts";

const deadlineAt = NOW + 4 * HOUR;
const LATE = deadlineAt + MINUTE;
const NAMING = withLimits({ isTaskNamed: true });
const UNCLEAR: PollAnswer = { kind: "unclear", statusCode: 200, word: null };

function withLimits(changes: Partial<typeof LIMITS>, others: Partial<Policy> = {}): Policy {
  return aPolicy({ polls: new Map([[CONNECTION, { ...LIMITS, ...changes }]]), ...others });
}

/** Returns a task without an attached job, for which these hooks are stored. */
function withKept(...keptHooks: OpenTask["tracking"]["keptHooks"]): OpenTask {
  return aProvidedTask({ deadlineAt, tracking: aTracking({ poll: null, keptHooks }) });
}

const success = withKept(aKeptHook(aCompletion()));
/** A task that the relay has submitted, of whose job it has learned otherwise than by the upstream's answer. */
const submitted = { ...success, submission: aSubmission({ state: knownOtherwise() }) };

function asked(record: TaskRecord, answer: PollAnswer, job = JOB): TaskRecord {
  const end = aPollEnd(answer, { purpose: "kept_job", job, askedAt: deadlineAt });
  return apply(record, end, LATE, NAMING);
}

describe("a signed hook about a job that is not attached to the task", () => {
  it.each<[string, UpstreamNews, OpenTask["status"], object]>([
    ["queued", QUEUED, "pending", {}],
    [
      "running",
      PROCESSING,
      "processing",
      { hasHeardRunning: true, postponedTo: NOW + HOUR + 2 * MINUTE },
    ],
    [
      "success without output",
      NO_OUTPUT,
      "pending",
      { hint: { at: NOW + HOUR, status: "no_output" } },
    ],
  ])(
    "when a signed hook reports %s about a job and its task has no job yet, this job is attached to the task, and the task's stored hooks about other jobs are removed",
    (_what, news, status, plan) => {
      const task = withKept(aKeptHook(aCompletion(), OTHER_JOB.id));
      const at = NOW + HOUR;
      expect(apply(task, aHook(news, { isSigned: true }), at)).toEqual({
        ...task,
        version: at,
        status,
        upstream: UPSTREAM,
        tracking: aTracking({ poll: aPlan({ attachedAt: at, hookWaitMs: MINUTE, ...plan }) }),
        counts: ONE_HOOK,
      });
    },
  );

  it.each([
    ["is not signed", aHook(QUEUED), POLICY],
    ["states no job id", aHook(QUEUED, { isSigned: true, jobId: null }), POLICY],
    [
      "comes from a provider that needs an endpoint to be polled",
      aHook(QUEUED, { isSigned: true }),
      withLimits({ isIdEnough: false }),
    ],
    ["comes from a provider that cannot be polled", aHook(PROCESSING, { isSigned: true }), NO_KEY],
  ])(
    "a task without a job does not take over the job that a hook reports about when the hook %s",
    (_why, hook, policy) => {
      const record = apply(aProvidedTask(), hook, NOW + HOUR, policy);
      expect(record).toMatchObject({ upstream: { job: null }, tracking: { poll: null } });
    },
  );

  it("a signed hook about another job than the attached one changes nothing of the task", () => {
    const hook = aHook(PROCESSING, { isSigned: true, jobId: OTHER_JOB.id });
    expectUnchanged(anAttachedTask(), hook, NOW + HOUR, POLICY, "other_job");
  });
});

describe("the deadline of a task to which no job was attached", () => {
  const paused = withLimits({ isTaskNamed: true }, { pausedAt: deadlineAt });

  it("at its deadline, and not before, a task without an attached job polls the job whose id a stored hook states, if the provider's answers say to which task a job belongs", () => {
    expect(wakeAt(success, NAMING)).toBe(deadlineAt);
    expect(nextStep(success, NAMING, deadlineAt)).toEqual({
      kind: "poll",
      poll: {
        taskId: ID,
        connection: CONNECTION,
        job: JOB,
        createdAt: NOW,
        isUrgent: true,
        customerKey: null,
        submitted: null,
        purpose: "kept_job",
      },
    });
  });

  it.each([
    [
      "a hook has stated a job id, but the provider's answers do not say to which task a job belongs",
      success,
      POLICY,
    ],
    [
      "a hook has stated a job id, but the provider's answers state only the creation of a job, and the relay has not submitted it",
      success,
      withLimits({ isCreationStated: true }),
    ],
    ["a hook has stated a job id, but its provider cannot be polled", success, NO_KEY],
    ["a hook has stated a job id, but the relay is paused", success, paused],
    [
      "a hook has stated a job id, but the provider has forgotten this job because of its age",
      success,
      withLimits({ isTaskNamed: true, maxAgeMs: HOUR }),
    ],
    ["no hook has stated a job id", withKept(aKeptHook(aCompletion(), null)), NAMING],
  ])(
    "a task to which no job is attached fails at its deadline without a poll when %s",
    (_why, record, policy) => {
      expect(nextStep(record, policy, deadlineAt)).toEqual(DEADLINE_STEP);
    },
  );

  it.each([
    ["a success", aCompletion(), "completed"],
    ["a failure", anUpstreamFailure(), "failed"],
  ] as const)(
    "at its deadline, a task polls the job whose id only a hook has stated, and %s in the answer ends the task when the answer says that the job belongs to this task",
    (_what, news, status) => {
      const end = aPollEnd(newsAnswer(news), { purpose: "kept_job", askedAt: deadlineAt });
      const record = finished(transition(success, end, NAMING, LATE));
      expect(record).toMatchObject({ status, upstream: UPSTREAM });
      expect(record.body).not.toContain("upstream_timeout");
    },
  );

  it.each([
    ["is running", PROCESSING, { deadlineAt: LATE + HOUR, tracking: { isExtended: true } }],
    [
      "has succeeded without output",
      NO_OUTPUT,
      { deadlineAt, tracking: { poll: { answer: anAnswer("no_output", LATE) } } },
    ],
  ] as const)(
    "when a task's poll at its deadline finds that the job whose id only a hook has stated %s, the job is attached to the task, and the task stays open",
    (_what, news, expected) => {
      expect(asked(success, newsAnswer(news))).toMatchObject({ upstream: UPSTREAM, ...expected });
    },
  );

  it.each([
    ["waits for a hook first if the relay has submitted the job", submitted, MINUTE],
    ["waits for no hook if somebody else has submitted it", success, null],
  ])(
    "when a task's poll at its deadline attaches the running job whose id only a hook has stated, the next poll %s",
    (_what, task, hookWaitMs) => {
      const poll = { attachedAt: LATE, hookWaitMs };
      expect(asked(task, newsAnswer(PROCESSING))).toMatchObject({ tracking: { poll } });
    },
  );

  it("when the upstream's rate limit refuses the poll of a job whose id only a hook has stated, the deadline of the task is extended once for another poll", () => {
    const record = asked(success, rateLimited());
    expect(record).toMatchObject({
      deadlineAt: LATE + HOUR,
      tracking: { ...success.tracking, isExtended: true },
    });
    const again = asked(
      { ...success, tracking: { ...success.tracking, isExtended: true } },
      rateLimited(),
    );
    expect(again).toMatchObject({ deadlineAt, tracking: { keptHooks: [] } });
  });

  it("when the connection's limit of polls is reached, the poll of a job whose id only a hook has stated is deferred, and the task stays open past its deadline", () => {
    const turnAt = LATE + 100_000;
    const answer = { kind: "deferred", waitMs: 100_000 } as const;
    expectUnchanged(success, aPollEnd(answer, { purpose: "kept_job" }), LATE, NAMING);
    const deferred = { ...NAMING, pollDeferredAt: LATE, pollDeferredTo: turnAt };
    expect(wakeAt(success, deferred)).toBe(turnAt);
    expect(nextStep(success, deferred, turnAt)).toMatchObject({ poll: { purpose: "kept_job" } });
  });

  it.each([
    ["does not name the task", UNCLEAR],
    ["is missing", UNANSWERED],
  ])(
    "when hooks have stated two job ids for a task without an attached job, both jobs are polled once at its deadline, and the task fails when the answer to each poll %s",
    (_what, answer) => {
      const both = withKept(aKeptHook(aCompletion()), aKeptHook(QUEUED, OTHER_JOB.id));
      expect(nextStep(both, NAMING, LATE)).toMatchObject({ poll: { job: OTHER_JOB } });
      const one = asked(both, answer, OTHER_JOB);
      expect(nextStep(one, NAMING, LATE)).toMatchObject({ poll: { job: JOB } });
      expect(nextStep(asked(one, answer), NAMING, LATE)).toEqual(DEADLINE_STEP);
    },
  );

  it("a submitted task whose job is known only from a report and from a hook fails at its deadline when the answer to the poll of that job does not name the task", () => {
    expect(nextStep(submitted, NAMING, deadlineAt)).toMatchObject({
      poll: { purpose: "kept_job" },
    });
    const polled = asked(submitted, UNCLEAR);
    expect(polled).toMatchObject({ submission: submitted.submission, tracking: { keptHooks: [] } });
    expect(nextStep(polled, NAMING, LATE)).toEqual(DEADLINE_STEP);
  });

  it("a hook that arrives after the deadline of its task is not stored, so that hooks with made-up jobs cannot delay the end of the task", () => {
    const hook = aHook(aCompletion(), { jobId: OTHER_JOB.id });
    expectUnchanged(success, hook, deadlineAt, NAMING, "ignored");
    expect(apply(success, hook, deadlineAt - 1, NAMING)).toMatchObject({
      tracking: { keptHooks: [aKeptHook(aCompletion()), aKeptHook(aCompletion(), OTHER_JOB.id)] },
    });
  });

  const upstream = { connection: CONNECTION, job: null };

  it.each([
    ["the task was erased", null],
    ["the task ended", aFinishedTask({ upstream })],
    ["the task was created again without a provider", anOpenTask()],
    [
      "another job was attached to the task",
      anAttachedTask({}, { upstream: { ...upstream, job: OTHER_JOB } }),
    ],
  ])(
    "the answer to a poll of a job whose id only a hook has stated is ignored when %s while the poll ran",
    (_what, record) => {
      const end = aPollEnd(newsAnswer(aCompletion()), { purpose: "kept_job" });
      expectUnchanged(record, end, LATE, NAMING);
    },
  );

  it.each([
    ["a result", newsAnswer(aCompletion()), { status: "completed" }],
    [
      "a demand of the rate limit to wait",
      rateLimited(HOUR),
      { tracking: { poll: { notBefore: LATE + HOUR } } },
    ],
  ])(
    "when a poll of a job whose id only a hook has stated ends after this job was attached to the task, the task accepts %s in the answer",
    (_what, answer, after) => {
      const task = anAttachedTask({}, { deadlineAt: LATE + DAY });
      const end = aPollEnd(answer, { purpose: "kept_job" });
      expect(apply(task, end, LATE, NAMING)).toMatchObject(after);
    },
  );

  it("while a task's price is being charged, no job is polled whose id only a hook has stated", () => {
    expect(askKeptJob(aChargingTask({ upstream }), NAMING)).toBeNull();
  });
});

it("the operator's view of a task without an attached job lists each job id that hooks have stated, the account's view does not; each further id gives the task a new version", () => {
  const first = apply(aProvidedTask(), aHook(QUEUED), NOW + HOUR);
  const again = apply(first, aHook(aCompletion()), NOW + 2 * HOUR);
  const other = apply(again, aHook(aCompletion(), { jobId: OTHER_JOB.id }), NOW + 3 * HOUR);
  const versions = [first, again, other].map(({ version }) => version - NOW);
  expect(versions).toEqual([HOUR, HOUR, 3 * HOUR]);
  const view = JSON.parse(taskView(other, "operator"));
  expect(view.tracking).toEqual({ kept_jobs: [JOB.id, OTHER_JOB.id] });
  expect(JSON.parse(taskView(other, "account"))).not.toHaveProperty("tracking");
});
