import { describe, expect, it } from "vitest";
import { isLateSuccess } from "../../src/core/events/hooks.ts";
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
} from "./builders.ts";
import { aChargingTask } from "./credit-builders.ts";
import { apply, expectRefused, expectUnchanged, finish } from "./decisions.ts";
import {
  aHook,
  anAttachedTask,
  anUpstreamFailure,
  HOOK_ENDS,
  HOOK_TASKS,
  aProvidedTask,
  NO_KEY,
  NO_OUTPUT,
  OTHER_JOB,
  QUEUED,
  UPSTREAM,
} from "./upstream-builders.ts";

const later = NOW + HOUR;
const signed = { isSigned: true };

const unattached = aProvidedTask();
const attached = anAttachedTask();
const processing = anAttachedTask({}, { status: "processing" });
const news = [
  ["queued", QUEUED],
  ["processing", PROCESSING],
  ["without output", NO_OUTPUT],
  ["completed", aCompletion()],
  ["failed", anUpstreamFailure()],
] as const;

describe("a hook is unknown", () => {
  it.each([
    ["where there is no task", null],
    ["while the price is being charged", aChargingTask({ upstream: UPSTREAM })],
    ["for a task without a provider", anOpenTask()],
    ["for an open task of another connection", { ...attached, upstream: fal() }],
    ["for a settled task of another connection", aFinishedTask({ upstream: fal() })],
  ])("%s", (_what, record) => {
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
    "told by the upstream to be out of time": finish(attached, aHook(expired(), signed)),
  };
  const timedOut = finish(attached, { type: "deadline" }, attached.deadlineAt, NO_KEY);

  it.each(Object.entries(failures))("that was %s changes nothing", (_what, record) => {
    for (const [, said] of news) {
      for (const isSigned of [true, false]) {
        expectUnchanged(record, aHook(said, { isSigned }), later, POLICY, "ignored");
      }
    }
  });

  it.each(news)("that the deadline made changes nothing: %s", (_what, said) => {
    const isSuccess = said.status === "completed" || said.status === "no_output";
    const note = isSuccess ? "late_result" : "ignored";
    expectUnchanged(timedOut, aHook(said), later, POLICY, note);
  });
});

describe("a hook of another job than the attached", () => {
  it.each(news)("changes nothing, signed or not, key or not: %s", (_what, said) => {
    for (const isSigned of [true, false]) {
      for (const policy of [POLICY, NO_KEY]) {
        const hook = aHook(said, { isSigned, jobId: OTHER_JOB.id });
        expectUnchanged(attached, hook, later, policy, "other_job");
      }
    }
  });
});

describe.each(HOOK_TASKS)("a signed hook %s", (_where, task) => {
  it.each(HOOK_ENDS)("that says %s settles at once and sends", (status, said) => {
    const record = finish(task, aHook(said, signed), later);
    expect(record).toMatchObject({ version: later, status, upstream: task.upstream });
    expect(callbackOf(record).state).toEqual({ kind: "in_flight", number: 1, startedAt: later });
    expect("tracking" in record).toBe(false);
  });

  it("that names no job is about this one", () => {
    const hook = aHook(aCompletion(), { isSigned: true, jobId: null });
    expect(finish(task, hook, later).status).toBe("completed");
  });

  it("that says processing advances the status, once", () => {
    const hook = aHook(PROCESSING, signed);
    const record = apply(task, hook, later);
    expect(record).toEqual({ ...task, version: later, status: "processing" });
    expectUnchanged(record, hook, later + 1, POLICY, "ignored");
  });

  it("that says success without output is not believed where the upstream can be asked", () => {
    const decision = transition(task, aHook(NO_OUTPUT, signed), POLICY, later);
    expect(committed(decision).status).toBe("pending");
  });
});

describe("a hook that is no news", () => {
  it.each([
    ["queued", QUEUED, unattached],
    ["queued, of the attached job", QUEUED, attached],
    ["queued, of a processing task", QUEUED, processing],
    ["processing again", PROCESSING, processing],
    ["processing again, before its job is attached", PROCESSING, aProvidedTask(running())],
  ])("changes nothing: %s", (_what, said, record) => {
    for (const isSigned of [true, false]) {
      for (const policy of [POLICY, NO_KEY]) {
        expectUnchanged(record, aHook(said, { isSigned }), later, policy, "ignored");
      }
    }
  });
});

describe("a success", () => {
  it("is late only after an end: not where there is no task, and not while it is open", () => {
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

/** A failure of the upstream's own, as when its queue took too long. */
function expired() {
  return anUpstreamFailure({ failure: { category: "timeout", retryable: true } });
}
