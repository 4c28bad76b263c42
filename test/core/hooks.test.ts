import { describe, expect, it } from "vitest";
import { isLateSuccess } from "../../src/core/events/late-results.ts";
import { transition } from "../../src/core/transition.ts";
import {
  aCompletion,
  aFinishedTask,
  anOpenTask,
  callbackOf,
  committed,
  HOUR,
  NOW,
  POLICY,
  PROCESSING,
  runningSince,
} from "./builders.ts";
import { aChargingTask } from "./credit-builders.ts";
import { apply, expectRefused, expectUnchanged, finish } from "./decisions.ts";
import {
  aHook,
  aKeptHook,
  anAttachedTask,
  anUpstreamFailure,
  HOOK_ENDS,
  HOOK_TASKS,
  JOB,
  aProvidedTask,
  aTracking,
  NO_KEY,
  NO_OUTPUT,
  OTHER_JOB,
  QUEUED,
  UPSTREAM,
  ONE_HOOK,
} from "./upstream-builders.ts";

const later = NOW + HOUR;
const signed = { isSigned: true };

const unattached = aProvidedTask();
const attached = anAttachedTask();
const processing = anAttachedTask({}, { status: "processing" });
const news = [
  ["queued", QUEUED],
  ["processing", PROCESSING],
  ["success without output", NO_OUTPUT],
  ["completed", aCompletion()],
  ["failed", anUpstreamFailure()],
] as const;

describe("a hook is unknown", () => {
  it.each([
    ["when the task does not exist", null],
    ["while the task's price is being charged", aChargingTask({ upstream: UPSTREAM })],
    ["for a task without a provider", anOpenTask()],
    [
      "for an open task of another provider connection than the hook's",
      { ...attached, upstream: fal() },
    ],
    [
      "for a finished task of another provider connection than the hook's",
      aFinishedTask({ upstream: fal() }),
    ],
  ])("a hook is refused with unknown_task %s", (_what, record) => {
    for (const isSigned of [true, false]) {
      expectRefused(record, aHook(aCompletion(), { isSigned }), "unknown_task", later);
    }
  });
});

describe("a hook after the end", () => {
  const failures = {
    completed: aFinishedTask({ upstream: UPSTREAM }),
    failed: finish(attached, aHook(anUpstreamFailure(), signed)),
    canceled: finish(attached, { type: "cancel" }),
    "failed by the upstream's own timeout": finish(attached, aHook(expired(), signed)),
  };
  const timedOut = finish(attached, { type: "deadline" }, attached.deadlineAt, NO_KEY);

  it.each(Object.entries(failures))(
    "a hook that arrives after its task has ended (%s) is ignored",
    (_what, record) => {
      for (const [, said] of news) {
        for (const isSigned of [true, false]) {
          expectUnchanged(record, aHook(said, { isSigned }), later, POLICY, "ignored");
        }
      }
    },
  );

  it.each(news.filter(([, { status }]) => status !== "completed"))(
    "a hook that reports %s after the task failed at its deadline does not change the task",
    (_what, said) => {
      const note = said.status === "no_output" ? "late_result" : "ignored";
      expectUnchanged(timedOut, aHook(said), later, POLICY, note);
    },
  );
});

describe("a hook of another job than the attached", () => {
  it.each(news)(
    "a hook that reports %s about a job other than the attached one does not change the task",
    (_what, said) => {
      for (const isSigned of [true, false]) {
        for (const policy of [POLICY, NO_KEY]) {
          const hook = aHook(said, { isSigned, jobId: OTHER_JOB.id });
          expectUnchanged(attached, hook, later, policy, "other_job");
        }
      }
    },
  );
});

it.each([
  ["omits", `${JOB.id}==`, JOB.id],
  ["adds", JOB.id, `${JOB.id}==`],
])(
  "a hook about the attached job ends the task even if it %s the base64 padding (==) at the end of the job's id",
  (_, id, jobId) => {
    const task = anAttachedTask({}, { upstream: { ...UPSTREAM, job: { ...JOB, id } } });
    const record = apply(task, aHook(aCompletion(), { ...signed, jobId }), later);
    expect(record).toMatchObject({ status: "completed" });
  },
);

describe.each(HOOK_TASKS)("a signed hook to a task that %s", (state, task) => {
  it.each(HOOK_ENDS)(
    `a signed hook that reports status %s ends a task that ${state}, and opens the first callback attempt`,
    (status, said) => {
      const record = finish(task, aHook(said, signed), later);
      expect(record).toMatchObject({ version: later, status, upstream: task.upstream });
      expect(callbackOf(record).state).toEqual(runningSince(later));
      expect("tracking" in record).toBe(false);
    },
  );

  it(`a signed hook that names no job ends the task that the URL of the hook names, when that task ${state}`, () => {
    const hook = aHook(aCompletion(), { isSigned: true, jobId: null });
    expect(finish(task, hook, later).status).toBe("completed");
  });

  it(`a signed hook that reports processing about a pending task that ${state} sets its status to processing; the same hook again changes nothing`, () => {
    const hook = aHook(PROCESSING, signed);
    const record = apply(task, hook, later);
    expect(record).toMatchObject({ version: later, status: "processing", counts: ONE_HOOK });
    expectUnchanged(record, hook, later + 1, POLICY, "ignored");
  });

  it(`a signed hook that reports success without output does not end a task that can be polled and ${state}`, () => {
    const decision = transition(task, aHook(NO_OUTPUT, signed), POLICY, later);
    expect(committed(decision).status).toBe("pending");
  });
});

it("a signed hook that attaches the job that it names makes a poll due at once when a stored hook has claimed the end of this job", () => {
  const keptHooks = [aKeptHook(aCompletion()), aKeptHook(anUpstreamFailure(), OTHER_JOB.id)];
  const task = aProvidedTask({ tracking: aTracking({ poll: null, keptHooks }) });
  expect(apply(task, aHook(PROCESSING, signed), later)).toMatchObject({
    status: "processing",
    tracking: { poll: { hint: { at: later, status: "completed" }, heard: ["processing"] } },
  });
});

describe("a hook that says queued or running about a task that cannot be polled", () => {
  it.each([
    ["queued about a pending task without a job", QUEUED, unattached],
    ["queued about a pending task with its job", QUEUED, attached],
    ["queued about a task that is processing", QUEUED, processing],
    ["processing about a task that is processing", PROCESSING, processing],
    [
      "processing about a task that is processing without a job",
      PROCESSING,
      aProvidedTask(running()),
    ],
  ])(
    "a hook that does not advance the status of a task that cannot be polled changes nothing, for example one that reports %s",
    (_what, said, record) => {
      for (const isSigned of [true, false]) {
        expectUnchanged(record, aHook(said, { isSigned }), later, NO_KEY, "ignored");
      }
    },
  );
});

describe("a success", () => {
  it("isLateSuccess, which finds successes reported after a task failed at its deadline, is false for an open task and for one that does not exist", () => {
    for (const record of [null, attached, processing]) {
      expect(isLateSuccess(record, aCompletion())).toBe(false);
      expect(isLateSuccess(record, NO_OUTPUT)).toBe(false);
    }
  });
});

function running() {
  return { status: "processing" } as const;
}

function fal() {
  return { connection: "fal", job: UPSTREAM.job };
}

/**
 * Builds a failure with the category timeout that the upstream itself reports, e.g. because its queue took too
 * long.
 */
function expired() {
  return anUpstreamFailure({ failure: { category: "timeout", retryable: true } });
}
