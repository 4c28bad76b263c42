import { describe, expect, it } from "vitest";
import type { Policy } from "../../src/core/policy.ts";
import { nextStep, wakeAt } from "../../src/core/step.ts";
import type { OpenTask } from "../../src/core/record/task.ts";
import { transition } from "../../src/core/transition.ts";
import {
  aCompletion,
  aFinishedTask,
  anOpenTask,
  aPolicy,
  committed,
  CONNECTION,
  DAY,
  finished,
  HOUR,
  LIMITS,
  MINUTE,
  NOW,
  POLICY,
  PROCESSING,
} from "./builders.ts";
import { aChargingTask } from "./credit-builders.ts";
import { apply, expectUnchanged } from "./decisions.ts";
import {
  aKeptHook,
  anAnswer,
  anAttachedTask,
  anAttachment,
  anUpstreamFailure,
  aPlan,
  aProvidedTask,
  aTracking,
  JOB,
  NO_KEY,
  NO_OUTPUT,
  QUEUED,
  OTHER_JOB,
  UPSTREAM,
} from "./upstream-builders.ts";

const later = NOW + HOUR;
const settled = aFinishedTask({ upstream: UPSTREAM });

/** Builds an open task to which the job is attached an hour after the task's creation. */
function attachedTo(task: OpenTask, policy: Policy = POLICY) {
  return transition(task, anAttachment(), policy, later);
}

function withKept(...keptHooks: OpenTask["tracking"]["keptHooks"]): OpenTask {
  return aProvidedTask({ tracking: aTracking({ poll: null, keptHooks }) });
}

describe("an attachment is refused", () => {
  it.each([
    ["to a task that does not exist", null, { code: "unknown_task" }],
    ["to a task whose price is being charged", aChargingTask(), { code: "charging" }],
    ["to a finished task that has another job", settled, { code: "task_settled", task: settled }],
    [
      "to a finished task that had no job",
      aFinishedTask(),
      { code: "task_settled", task: aFinishedTask() },
    ],
  ])("attaching a provider's job %s is refused", (_what, record, rejection) => {
    const decision = transition(record, anAttachment(OTHER_JOB), POLICY, later);
    expect(decision).toEqual({ kind: "reject", rejection });
  });

  it.each([
    ["has no job yet", aProvidedTask()],
    ["has a job with the same id", anAttachedTask()],
  ])(
    "attaching a job of one provider connection to a task that was registered with another connection is refused: a task that %s",
    (_what, task) => {
      expect(transition(task, anAttachment(JOB, "fal"), POLICY, later)).toEqual({
        kind: "reject",
        rejection: {
          code: "invalid_field",
          field: "/provider",
          message: "must be ark, with which the task was registered",
        },
      });
    },
  );
});

describe("an attachment of the same job again", () => {
  it.each([
    ["an open task", anAttachedTask({ notBefore: later })],
    ["a processing task", anAttachedTask({}, { status: "processing" })],
    ["a finished task", settled],
  ])(
    "attaching a job to a task that already has this job attached changes nothing: %s",
    (_what, record) => {
      expectUnchanged(record, anAttachment(), later);
    },
  );
});

describe("an attachment to an open task", () => {
  const planned = aTracking({ poll: aPlan({ attachedAt: later }) });

  it.each([
    ["registered with the provider connection of the job", aProvidedTask()],
    ["registered without a provider connection", anOpenTask()],
    [
      "with another job, which it replaces,",
      anAttachedTask(
        { hasHeardRunning: true, answer: anAnswer("no_output", NOW) },
        { upstream: { connection: CONNECTION, job: OTHER_JOB } },
      ),
    ],
    [
      "with the same job at another endpoint, which it replaces,",
      anAttachedTask(
        { postponedTo: later },
        { upstream: { connection: CONNECTION, job: { id: JOB.id, endpoint: "fal-ai/x" } } },
      ),
    ],
    ["that is processing", aProvidedTask({ status: "processing" })],
  ])(
    "attaching an upstream's job to an open task %s stores the job and when to poll it, gives the task a new version, and changes nothing else",
    (_what, task) => {
      expect(attachedTo(task)).toEqual({
        kind: "changed",
        record: { ...task, version: later, upstream: UPSTREAM, tracking: planned },
      });
    },
  );

  it("attaching a provider's job stores the provider's endpoint (fal-ai/kling, say) that was given with the job", () => {
    const job = { id: "r-1", endpoint: "fal-ai/kling" };
    const record = apply(aProvidedTask(), anAttachment(job), later);
    expect(record.upstream).toEqual({ connection: CONNECTION, job });
    expect(nextStep(record, POLICY, later + MINUTE)).toMatchObject({ poll: { job } });
  });

  it("a task's deadline is extended at most once: when a job is attached after the extension, the deadline still counts as extended", () => {
    const task = aProvidedTask({ tracking: aTracking({ poll: null, isExtended: true }) });
    expect(committed(attachedTo(task))).toMatchObject({ tracking: { isExtended: true } });
  });

  it.each([
    ["no hook is expected", false, 4_187],
    ["a hook is expected", true, 62_804],
  ])(
    "a job is polled first 4 s after it was attached, or a minute after it if a hook is expected, plus a small delay that depends on the task's id: %s",
    (_what, isHookExpected, waitMs) => {
      const record = apply(aProvidedTask(), anAttachment(JOB, CONNECTION, isHookExpected), later);
      expect(wakeAt(record, POLICY)).toBe(later + waitMs);
    },
  );

  it("jobs attached at the same time are first polled at different times, even when the ids of their tasks are UUIDs of one machine that end with the same digits", () => {
    const ids = ["0", "1", "2"].map((each) => `6fdbf9a${each}-a1c2-11ef-8f2a-0242ac120002`);
    const wakes = ids.map((id) => {
      const record = apply({ ...aProvidedTask(), id }, anAttachment(JOB), later);
      return wakeAt(record, POLICY);
    });
    expect(new Set(wakes).size).toBe(3);
  });

  it("an attached job of a provider connection without an API key is not polled until the operator has configured the key", () => {
    const hooked = anAttachment(JOB, CONNECTION, true);
    const record = apply(aProvidedTask(), hooked, later, NO_KEY);
    expect(wakeAt(record, NO_KEY)).toBe(NOW + 72 * HOUR);
    expect(nextStep(record, POLICY, later + MINUTE)).toMatchObject({ kind: "poll" });
  });
});

describe("an attachment where the upstream can be polled", () => {
  it.each([
    ["completed", aCompletion()],
    ["failed", anUpstreamFailure()],
    ["success without output", NO_OUTPUT],
  ])(
    "attaching a job makes a poll due at once when an unsigned hook that arrived earlier has reported this status of the job: %s",
    (_what, news) => {
      const { status } = news;
      const asked = aTracking({ poll: aPlan({ attachedAt: later, hint: { at: later, status } }) });
      for (const jobId of [JOB.id, null]) {
        const task = withKept(aKeptHook(news, jobId));
        const decision = attachedTo(task);
        expect(decision).toEqual({
          kind: "changed",
          record: { ...task, version: later, upstream: UPSTREAM, tracking: asked },
        });
        expect(nextStep(committed(decision), POLICY, later)).toMatchObject({ kind: "poll" });
      }
    },
  );

  it("when stored hooks have reported a job as queued and then as running before it was attached, the job is first polled two minutes after it was attached", () => {
    const record = committed(attachedTo(withKept(aKeptHook(QUEUED), aKeptHook(PROCESSING))));
    expect(record).toMatchObject({
      status: "processing",
      tracking: { poll: { hasHeardRunning: true, postponedTo: later + 2 * MINUTE } },
    });
    expect(wakeAt(record, POLICY)).toBe(later + 2 * MINUTE);
  });

  it("when a job is attached to a task whose stored hooks are about another job, these hooks are deleted, and the attached job is first polled after the usual wait", () => {
    const task = withKept(
      aKeptHook(aCompletion(), OTHER_JOB.id),
      aKeptHook(PROCESSING, OTHER_JOB.id),
    );
    const tracking = aTracking({ poll: aPlan({ attachedAt: later }) });
    expect(committed(attachedTo(task))).toMatchObject({ status: "pending", tracking });
  });
});

describe("an attachment where the upstream cannot be polled", () => {
  const success = aKeptHook(aCompletion());
  const failure = aKeptHook(anUpstreamFailure(), null);

  it.each([
    ["a success", [success, failure], "completed"],
    ["a failure", [failure, success], "failed"],
    ["a success after processing", [aKeptHook(PROCESSING), success], "completed"],
    ["success without output", [aKeptHook(NO_OUTPUT), success], "failed"],
    ["a success after another job's failure", [otherFailure(), success], "completed"],
  ] as const)(
    "when the upstream cannot be polled, attaching a job ends the task with the first result that stored hooks have reported about this job: %s",
    (_what, kept, status) => {
      expect(finished(attachedTo(withKept(...kept), NO_KEY)).status).toBe(status);
    },
  );

  it("when the upstream cannot be polled, attaching a job fails the task with the error that a stored hook has reported", () => {
    const { body, failure: why } = finished(attachedTo(withKept(failure), NO_KEY));
    expect(JSON.parse(body)).toMatchObject({ status: "failed", error: anUpstreamFailure().error });
    expect(why).toEqual(anUpstreamFailure().failure);
  });

  it.each<[string, OpenTask, OpenTask["status"]]>([
    ["progress (the task becomes processing)", withKept(aKeptHook(PROCESSING)), "processing"],
    [
      "progress that the task already has",
      { ...withKept(aKeptHook(PROCESSING)), status: "processing" },
      "processing",
    ],
    ["the failure of another job", withKept(otherFailure()), "pending"],
  ])(
    "when the upstream cannot be polled, attaching a job leaves the task open if stored hooks have reported only %s",
    (_what, task, status) => {
      const record = committed(attachedTo(task, NO_KEY));
      expect(record).toMatchObject({ upstream: UPSTREAM, status, tracking: { keptHooks: [] } });
    },
  );

  it("attaching a job that is so old that the upstream can no longer be asked about it ends the task with the result that a stored hook has reported about this job", () => {
    const task = { ...withKept(success), createdAt: later - 7 * DAY };
    const forgetful = new Map([[CONNECTION, { ...LIMITS, maxAgeMs: 7 * DAY }]]);
    expect(finished(attachedTo(task, aPolicy({ polls: forgetful }))).status).toBe("completed");
  });
});

function otherFailure() {
  return aKeptHook(anUpstreamFailure(), OTHER_JOB.id);
}
