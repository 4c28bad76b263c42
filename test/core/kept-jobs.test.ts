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
    "a signed hook that reports %s attaches the job that it names to a task without a job, and removes the stored hooks about other jobs",
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
    ["names no job", aHook(QUEUED, { isSigned: true, jobId: null }), POLICY],
    [
      "comes from a provider that needs an endpoint to be polled",
      aHook(QUEUED, { isSigned: true }),
      withLimits({ isIdEnough: false }),
    ],
    ["comes from a provider that cannot be polled", aHook(PROCESSING, { isSigned: true }), NO_KEY],
  ])("a hook attaches no job to a task when the hook %s", (_why, hook, policy) => {
    const record = apply(aProvidedTask(), hook, NOW + HOUR, policy);
    expect(record).toMatchObject({ upstream: { job: null }, tracking: { poll: null } });
  });

  it("a signed hook about another job than the attached one changes nothing of the task", () => {
    const hook = aHook(PROCESSING, { isSigned: true, jobId: OTHER_JOB.id });
    expectUnchanged(anAttachedTask(), hook, NOW + HOUR, POLICY, "other_job");
  });
});

describe("the deadline of a task to which no job was attached", () => {
  const paused = withLimits({ isTaskNamed: true }, { pausedAt: deadlineAt });

  it("at its deadline, and not before, a task without an attached job polls a job that a stored hook names, if the provider's answers name the task", () => {
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
      "a hook has named a job, but the provider's answers do not name the task of a job",
      success,
      POLICY,
    ],
    ["a hook has named a job, but its provider cannot be polled", success, NO_KEY],
    ["a hook has named a job, but the relay is paused", success, paused],
    [
      "a hook has named a job, but the provider has forgotten this job because of its age",
      success,
      withLimits({ isTaskNamed: true, maxAgeMs: HOUR }),
    ],
    ["no hook has named a job", withKept(aKeptHook(aCompletion(), null)), NAMING],
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
    "at the deadline, %s of a job that only a hook has named ends the task when the provider's answer names the task",
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
    "a job that only a hook has named is attached to the task when a poll at the deadline finds that it %s; the task stays open",
    (_what, news, expected) => {
      expect(asked(success, newsAnswer(news))).toMatchObject({ upstream: UPSTREAM, ...expected });
    },
  );

  it("when a rate limit refuses the poll of a job that only a hook has named, the deadline of the task is extended once for another poll", () => {
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

  it("the poll of a job that only a hook has named can be deferred past the task's deadline when the connection's limit of polls is reached", () => {
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
    "two jobs that only hooks have named are polled once each at the task's deadline; the task fails when the answer to both polls %s",
    (_what, answer) => {
      const both = withKept(aKeptHook(aCompletion()), aKeptHook(QUEUED, OTHER_JOB.id));
      expect(nextStep(both, NAMING, LATE)).toMatchObject({ poll: { job: OTHER_JOB } });
      const one = asked(both, answer, OTHER_JOB);
      expect(nextStep(one, NAMING, LATE)).toMatchObject({ poll: { job: JOB } });
      expect(nextStep(asked(one, answer), NAMING, LATE)).toEqual(DEADLINE_STEP);
    },
  );

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
    "the answer to a poll of a job that only a hook has named is ignored when %s during the poll",
    (_what, record) => {
      const end = aPollEnd(newsAnswer(aCompletion()), { purpose: "kept_job" });
      expectUnchanged(record, end, LATE, NAMING);
    },
  );

  it.each([
    ["a result", newsAnswer(aCompletion()), { status: "completed" }],
    ["a wait", rateLimited(HOUR), { tracking: { poll: { notBefore: LATE + HOUR } } }],
  ])(
    "%s in the answer to a poll of a job that only a hook had named takes effect when this job was attached while the poll ran",
    (_what, answer, after) => {
      const task = anAttachedTask({}, { deadlineAt: LATE + DAY });
      const end = aPollEnd(answer, { purpose: "kept_job" });
      expect(apply(task, end, LATE, NAMING)).toMatchObject(after);
    },
  );

  it("no job that only a hook has named is polled for a task whose price is being charged", () => {
    expect(askKeptJob(aChargingTask({ upstream }), NAMING)).toBeNull();
  });
});

it("for a task without an attached job, the operator, not the account, sees each job that hooks name; each further job gives the task a new version", () => {
  const first = apply(aProvidedTask(), aHook(QUEUED), NOW + HOUR);
  const again = apply(first, aHook(aCompletion()), NOW + 2 * HOUR);
  const other = apply(again, aHook(aCompletion(), { jobId: OTHER_JOB.id }), NOW + 3 * HOUR);
  const versions = [first, again, other].map(({ version }) => version - NOW);
  expect(versions).toEqual([HOUR, HOUR, 3 * HOUR]);
  const view = JSON.parse(taskView(other, "operator"));
  expect(view.tracking).toEqual({ kept_jobs: [JOB.id, OTHER_JOB.id] });
  expect(JSON.parse(taskView(other, "account"))).not.toHaveProperty("tracking");
});
