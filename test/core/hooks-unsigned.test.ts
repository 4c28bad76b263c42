import { describe, expect, it } from "vitest";
import { nextStep, wakeAt } from "../../src/core/step.ts";
import type { TaskRecord } from "../../src/core/record/task.ts";
import { storedBytes } from "../../src/core/record/stored-size.ts";
import { transition } from "../../src/core/transition.ts";
import {
  aCompletion,
  aPolicy,
  committed,
  DAY,
  HOUR,
  ID,
  MINUTE,
  MODEL,
  NOW,
  NOW_S,
  POLICY,
  PROCESSING,
  VIDEO,
} from "./builders.ts";
import { apply, expectUnchanged, finish } from "./decisions.ts";
import {
  aHook,
  aKeptHook,
  anAttachedTask,
  anUpstreamFailure,
  HOOK_ENDS,
  HOOK_TASKS,
  aPlan,
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

const unattached = aProvidedTask();
const attached = anAttachedTask();
describe("an unsigned hook where nobody can be asked", () => {
  it.each(HOOK_TASKS)(
    "an unsigned hook ends a task that cannot be polled and %s",
    (_where, task) => {
      for (const [status, said] of HOOK_ENDS) {
        expect(finish(task, aHook(said), later, NO_KEY).status).toBe(status);
      }
    },
  );

  it.each(HOOK_TASKS)(
    "a task that cannot be polled and %s becomes processing when an unsigned hook reports progress",
    (_where, task) => {
      const record = apply(task, aHook(PROCESSING), later, NO_KEY);
      expect(record).toEqual({ ...task, version: later, status: "processing", counts: ONE_HOOK });
    },
  );

  it("an unsigned hook ends a task whose job is too old to be polled", () => {
    const old = { ...attached, createdAt: later - 7 * DAY, deadlineAt: later + DAY };
    expect(finish(old, aHook(aCompletion()), later).status).toBe("completed");
    const younger = { ...old, createdAt: old.createdAt + 1 };
    expect(apply(younger, aHook(aCompletion()), later).status).toBe("pending");
  });

  it.each(HOOK_TASKS)(
    "a hook of success without output fails a task that cannot be polled and %s",
    (_where, task) => {
      for (const isSigned of [true, false]) {
        const record = finish(task, aHook(NO_OUTPUT, { isSigned }), later, NO_KEY);
        expect(JSON.parse(record.body)).toEqual({
          id: ID,
          status: "failed",
          model: MODEL,
          created_at: NOW_S,
          error: {
            code: "upstream_error",
            message: "The upstream reported success without output.",
          },
        });
        expect(record.failure).toEqual({ category: "provider", retryable: true });
      }
    },
  );
});

describe("an unsigned hook before the job is attached", () => {
  it.each([["queued", QUEUED], ["success without output", NO_OUTPUT], ...HOOK_ENDS] as const)(
    "an unsigned hook that reports %s is stored when it arrives before its job is attached to the task",
    (_what, said) => {
      const kept = { ...aTracking({ poll: null }), keptHooks: [aKeptHook(said)] };
      expect(transition(unattached, aHook(said), POLICY, later)).toEqual({
        kind: "changed",
        record: { ...unattached, version: later, tracking: kept, counts: ONE_HOOK },
        ...(said.status !== "queued" && { note: "kept" }),
      });
    },
  );

  it("an unsigned hook that says running before its job is attached makes the task processing, and is stored", () => {
    expect(apply(unattached, aHook(PROCESSING), later)).toEqual({
      ...unattached,
      status: "processing",
      version: later,
      tracking: aTracking({ poll: null, keptHooks: [aKeptHook(PROCESSING)] }),
      counts: ONE_HOOK,
    });
  });

  it("while no job is attached to a task, a new unsigned hook replaces a stored one only if both report the same status of the same job", () => {
    const said = [
      aHook(aCompletion()),
      aHook(aCompletion(), { jobId: OTHER_JOB.id }),
      aHook(anUpstreamFailure()),
      aHook(aCompletion({ urls: [VIDEO, VIDEO] })),
      aHook(PROCESSING),
    ];
    const record = said.reduce(
      (task, hook) => apply(task, hook, later),
      apply(unattached, aHook(NO_OUTPUT), later),
    );
    expect(record).toMatchObject({
      status: "processing",
      tracking: {
        keptHooks: [
          aKeptHook(NO_OUTPUT),
          aKeptHook(aCompletion(), OTHER_JOB.id),
          aKeptHook(anUpstreamFailure()),
          aKeptHook(aCompletion({ urls: [VIDEO, VIDEO] })),
          aKeptHook(PROCESSING),
        ],
      },
    });
  });

  it("while no job is attached to a task, at most eight of its unsigned hooks are stored; a ninth replaces the oldest", () => {
    let task: TaskRecord = unattached;
    for (let job = 1; job <= 9; job++) {
      const hook = aHook(aCompletion(), { jobId: `cgt-${job}` });
      task = apply(task, hook, later);
    }
    const kept = "tracking" in task ? task.tracking.keptHooks.map(({ jobId }) => jobId) : [];
    expect(kept).toEqual([2, 3, 4, 5, 6, 7, 8, 9].map((job) => `cgt-${job}`));
  });

  it("while no job is attached to a task, an unsigned hook that repeats a stored one word for word changes nothing", () => {
    const record = apply(unattached, aHook(aCompletion()), later);
    const again = transition(record, aHook(aCompletion()), POLICY, later + 1);
    expect(again).toEqual({ kind: "unchanged", record, note: "ignored" });
  });

  it("before a job is attached, an unsigned hook is stored if it takes at most 8192 bytes with its job id, and otherwise ignored", () => {
    const { jobId } = aHook(aCompletion());
    const base = storedBytes({ jobId, news: aCompletion({ urls: ["x".repeat(8000)] }) }) - 8000;
    const fitting = aCompletion({ urls: ["x".repeat(8192 - base)] });
    const larger = aCompletion({ urls: ["x".repeat(8193 - base)] });
    expect(transition(unattached, aHook(fitting), POLICY, later).kind).toBe("changed");
    expectUnchanged(unattached, aHook(larger), later, POLICY, "ignored");
  });
});

describe("an unsigned hook of the attached job that claims its end", () => {
  it.each([
    ["completed", aCompletion()],
    ["failed", anUpstreamFailure()],
    ["success without output", NO_OUTPUT],
  ])(
    "an unsigned hook that reports %s about the attached job makes a poll due at once and leaves the task's status as it is",
    (_what, said) => {
      for (const jobId of [UPSTREAM.job.id, null]) {
        const task = anAttachedTask({ at: later + HOUR });
        const decision = transition(task, aHook(said, { jobId }), POLICY, later);
        const poll = aPlan({ at: later + HOUR, hint: { at: later, status: said.status } });
        const record = { ...task, tracking: aTracking({ poll }), counts: ONE_HOOK };
        expect(decision).toEqual({ kind: "changed", record, note: "nudged" });
        expect(nextStep(committed(decision), POLICY, later)).toMatchObject({ kind: "poll" });
      }
    },
  );

  it.each([
    ["within 15 s of the first", {}, later + 14_999],
    ["while a rate limit forbids polls", { notBefore: later + HOUR }, later + HOUR - 1],
  ])(
    "a second unsigned hook that claims the end of the job changes nothing, whatever it reports, when it arrives %s",
    (_when, plan, again) => {
      const record = apply(anAttachedTask(plan), aHook(aCompletion()), later);
      for (const news of [aCompletion(), anUpstreamFailure(), NO_OUTPUT]) {
        expectUnchanged(record, aHook(news), again, POLICY, "ignored");
      }
    },
  );
});

describe("a hook of the attached job that says queued or running", () => {
  const known = { likelyAgesMs: [MINUTE, HOUR, 2 * HOUR] };

  it.each([
    ["queued postpones the next poll to 2 min later", QUEUED, {}, "pending", later + 2 * MINUTE],
    [
      "queued postpones the next poll until the job reaches two hours, the age by which most jobs like it have ended",
      QUEUED,
      known,
      "pending",
      NOW + 2 * HOUR,
    ],
    [
      "running makes the task processing and postpones its next poll to two minutes later",
      PROCESSING,
      {},
      "processing",
      later + 2 * MINUTE,
    ],
    [
      "running makes the task processing and postpones its next poll until the job reaches two hours, the age by which most jobs like it have ended",
      PROCESSING,
      known,
      "processing",
      NOW + 2 * HOUR,
    ],
  ] as const)(
    "the first hook about the attached job that reports %s",
    (_what, said, plan, status, at) => {
      for (const isSigned of [true, false]) {
        const decision = transition(anAttachedTask(plan), aHook(said, { isSigned }), POLICY, later);
        const record = committed(decision);
        expect(decision).toEqual({ kind: "changed", record });
        expect(record).toMatchObject({ status, tracking: { poll: { heard: [said.status], at } } });
        expect(wakeAt(record, aPolicy({ polledAt: later - 1 }))).toBe(at);
        expectUnchanged(record, aHook(said, { isSigned }), later + MINUTE, POLICY, "ignored");
      }
    },
  );

  it("a hook that reports queued about a processing task leaves its status unchanged and postpones its next poll to two minutes later", () => {
    const task = anAttachedTask({ heard: ["processing"] }, { status: "processing" });
    expect(apply(task, aHook(QUEUED), later)).toMatchObject({
      status: "processing",
      version: task.version,
      tracking: { poll: { heard: ["processing", "queued"], at: later + 2 * MINUTE } },
    });
  });
});
