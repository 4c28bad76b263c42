import { describe, expect, it } from "vitest";
import { isLateSuccess } from "../../src/core/events/late-results.ts";
import { transition } from "../../src/core/transition.ts";
import { nextStep, wakeAt } from "../../src/core/step.ts";
import type { TaskRecord } from "../../src/core/record/task.ts";
import { UNREAD_HOOKS } from "../../src/core/record/tracking.ts";
import { isAbout } from "../../src/core/record/upstream.ts";
import { storedBytes } from "../../src/core/stored-bytes.ts";
import {
  aCompletion,
  aFinishedTask,
  aRegistration,
  anOpenTask,
  callbackOf,
  committed,
  HOUR,
  NOW,
  POLICY,
  PROCESSING,
  runningSince,
  aPolicy,
  DAY,
  ID,
  MINUTE,
  MODEL,
  NOW_S,
  VIDEO,
} from "./builders.ts";
import { aChargingTask } from "./credit-builders.ts";
import { apply, expectRefused, expectUnchanged, finish } from "./decisions.ts";
import {
  aHook,
  aKeptHook,
  anAttachedTask,
  anAttachment,
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
  aPlan,
} from "./upstream-builders.ts";

const later = NOW + HOUR;
const signed = { isSigned: true };

const FAL = aRegistration({ provider: "fal" });
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
      anAttachedTask({}, { registration: FAL.registration, upstream: fal() }),
    ],
    [
      "for a finished task of another provider connection than the hook's",
      aFinishedTask({ upstream: fal() }),
    ],
  ])("a hook is answered with the error unknown_task %s", (_what, record) => {
    for (const isSigned of [true, false]) {
      expectRefused(record, aHook(aCompletion(), { isSigned }), "unknown_task", later);
    }
  });
});

describe("a hook after the end", () => {
  const failures = {
    completed: aFinishedTask({ upstream: UPSTREAM }),
    failed: finish(attached, aHook(anUpstreamFailure(), signed)),
    canceled: finish(attached, { type: "cancel", isForced: false }),
    "failed by the upstream's own timeout": finish(attached, aHook(expired(), signed)),
  };
  const timedOut = finish(attached, { type: "deadline" }, attached.deadlineAt, NO_KEY);

  it.each(Object.entries(failures))(
    "after a task has ended for another reason than its deadline, a hook about its job is ignored: task %s",
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
    `a signed hook that reports the status %s ends a task that ${state}, and the first callback attempt begins`,
    (status, said) => {
      const record = finish(task, aHook(said, signed), later);
      expect(record).toMatchObject({ version: later, status, upstream: task.upstream });
      expect(callbackOf(record).state).toEqual(runningSince(later));
      expect("tracking" in record).toBe(false);
    },
  );

  it(`a signed hook of success that states no job id ends the task whose id is in the URL of the hook; the task ${state}`, () => {
    const hook = aHook(aCompletion(), { isSigned: true, jobId: null });
    expect(finish(task, hook, later).status).toBe("completed");
  });

  it(`a signed hook that says that the job runs sets a pending task that ${state} to processing; the same hook again changes nothing`, () => {
    const hook = aHook(PROCESSING, signed);
    const record = apply(task, hook, later);
    expect(record).toMatchObject({ version: later, status: "processing", counts: ONE_HOOK });
    expectUnchanged(record, hook, later + 1, POLICY, "ignored");
  });

  it(`a signed hook that reports success without output does not end a task whose upstream can be polled and that ${state}`, () => {
    const decision = transition(task, aHook(NO_OUTPUT, signed), POLICY, later);
    expect(committed(decision).status).toBe("pending");
  });
});

it("when a signed hook attaches the job whose id it states to its task, a poll is due at once if an earlier, stored hook has claimed that this job has ended", () => {
  const keptHooks = [aKeptHook(aCompletion()), aKeptHook(anUpstreamFailure(), OTHER_JOB.id)];
  const task = aProvidedTask({ tracking: aTracking({ poll: null, keptHooks }) });
  expect(apply(task, aHook(PROCESSING, signed), later)).toMatchObject({
    status: "processing",
    tracking: { poll: { hint: { at: later, status: "completed" }, hasHeardRunning: true } },
  });
});

it("a signed hook to the hook URL of a pool attaches the job to the member with which the task was submitted; one to the hook URL of the member itself is refused", () => {
  const task = aProvidedTask({ tracking: aTracking({ poll: null }) });
  const { registration } = aRegistration({ provider: "a-pool" });
  const pooled = { ...task, registration };
  const hook = aHook(PROCESSING, signed);
  expect(apply(pooled, { ...hook, connection: "a-pool" }, later)).toMatchObject({
    upstream: { connection: UPSTREAM.connection, job: { id: JOB.id } },
  });
  expectRefused(pooled, hook, "unknown_task", later);
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
    "when the upstream cannot be polled, a hook that reports no later status than the task already has changes nothing: a hook that reports %s",
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

describe("an unsigned hook to a task that cannot be polled", () => {
  it.each(HOOK_TASKS)(
    "when the upstream cannot be polled, an unsigned hook of success or failure ends its task, for example a task that %s",
    (_where, task) => {
      for (const [status, said] of HOOK_ENDS) {
        expect(finish(task, aHook(said), later, NO_KEY).status).toBe(status);
      }
    },
  );

  it.each(HOOK_TASKS)(
    "when the upstream cannot be polled, an unsigned hook that says that the job runs sets its task to processing, for example a task that %s",
    (_where, task) => {
      const record = apply(task, aHook(PROCESSING), later, NO_KEY);
      expect(record).toEqual({ ...task, version: later, status: "processing", counts: ONE_HOOK });
    },
  );

  it("an unsigned hook of success ends a task that is so old that the upstream can no longer be asked about its job, but not a task one millisecond younger", () => {
    const old = { ...attached, createdAt: later - 7 * DAY, deadlineAt: later + DAY };
    expect(finish(old, aHook(aCompletion()), later).status).toBe("completed");
    const younger = { ...old, createdAt: old.createdAt + 1 };
    expect(apply(younger, aHook(aCompletion()), later).status).toBe("pending");
  });

  it.each(HOOK_TASKS)(
    "when the upstream cannot be polled, a hook of success without output, signed or not, fails its task, for example a task that %s",
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
    "an unsigned hook that reports %s of a job that is not yet attached to the task is stored in the task",
    (_what, said) => {
      const kept = { ...aTracking({ poll: null }), keptHooks: [aKeptHook(said)] };
      expect(transition(unattached, aHook(said), POLICY, later)).toEqual({
        kind: "changed",
        record: { ...unattached, version: later, tracking: kept, counts: ONE_HOOK },
        ...(said.status !== "queued" && { note: "kept" }),
      });
    },
  );

  it("an unsigned hook that reports a job as running before the job is attached is stored, and sets the task to processing", () => {
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

  it("before a job is attached to the task, an unsigned hook is stored only if its report and its job id take at most 8192 bytes in storage", () => {
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
        const task = anAttachedTask({ postponedTo: later + HOUR });
        const decision = transition(task, aHook(said, { jobId }), POLICY, later);
        const poll = aPlan({ postponedTo: later + HOUR, hint: { at: later, status: said.status } });
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
    "after an unsigned hook has claimed that a task's job has ended, a second one, with the same or another result, changes nothing when it arrives %s",
    (_when, plan, again) => {
      const record = apply(anAttachedTask(plan), aHook(aCompletion()), later);
      for (const said of [aCompletion(), anUpstreamFailure(), NO_OUTPUT]) {
        expectUnchanged(record, aHook(said), again, POLICY, "ignored");
      }
    },
  );
});

describe("a hook of the attached job that says queued or running", () => {
  it("the first hook that reports the attached job as running sets the task to processing and postpones the job's next poll to two minutes after the hook", () => {
    const at = later + 2 * MINUTE;
    for (const isSigned of [true, false]) {
      const decision = transition(anAttachedTask(), aHook(PROCESSING, { isSigned }), POLICY, later);
      const record = committed(decision);
      expect(decision).toEqual({ kind: "changed", record });
      const plan = { hasHeardRunning: true, postponedTo: at };
      expect(record).toMatchObject({ status: "processing", tracking: { poll: plan } });
      expect(wakeAt(record, aPolicy({ polledAt: later - 1 }))).toBe(at);
      expectUnchanged(record, aHook(PROCESSING, { isSigned }), later + MINUTE, POLICY, "ignored");
    }
  });

  it.each([
    ["pending", anAttachedTask()],
    ["processing", anAttachedTask({ hasHeardRunning: true }, { status: "processing" })],
  ])(
    "a hook that reports the attached job of a task with the status %s as queued changes and stores nothing",
    (_status, task) => {
      for (const isSigned of [true, false]) {
        expectUnchanged(task, aHook(QUEUED, { isSigned }), later, POLICY, "ignored");
      }
    },
  );
});

describe.each(UNREAD_HOOKS)("a hook that is not understood (%s)", (unread) => {
  const hooks = [true, false].map((isSigned) => aHook(NO_OUTPUT, { isSigned, unread }));

  it(`a hook about the attached job whose content the relay does not understand (${unread}), signed or not, does not end the task and makes a poll due at once`, () => {
    for (const hook of hooks) {
      const decision = transition(attached, hook, POLICY, later);
      expect(decision).toMatchObject({ kind: "changed", note: "nudged" });
      expect(committed(decision)).toMatchObject({ status: "pending", version: attached.version });
      expect(nextStep(committed(decision), POLICY, later)).toMatchObject({ kind: "poll" });
    }
  });

  it(`when the upstream cannot be polled and the relay does not understand a hook, the task stores only the reason for that (${unread}), whether a job is attached or not`, () => {
    for (const task of [attached, unattached]) {
      for (const hook of hooks) {
        const decision = transition(task, hook, NO_KEY, later);
        const tracking = { ...task.tracking, refusedHooks: [{ at: later, reason: unread }] };
        const record = { ...task, tracking, counts: ONE_HOOK };
        expect(decision).toEqual({ kind: "changed", record, note: "ignored" });
      }
    }
  });

  it(`when the upstream cannot be polled, the fourth hook about a task's job whose content the relay does not understand (${unread}) changes nothing of the task`, () => {
    const [hook] = hooks;
    const three = [1, 2, 3].reduce<TaskRecord>(
      (task, ms) => apply(task, hook ?? aHook(NO_OUTPUT), later + ms, NO_KEY),
      attached,
    );
    expectUnchanged(three, hook ?? aHook(NO_OUTPUT), later + 4, NO_KEY, "ignored");
  });

  it(`an unsigned hook that the relay does not understand (${unread}) is stored before its job is attached, and makes a poll due at once when the job is attached`, () => {
    const unsigned = aHook(NO_OUTPUT, { unread });
    const kept = apply(unattached, unsigned, later);
    expect(kept).toMatchObject({
      tracking: { keptHooks: [{ jobId: JOB.id, news: NO_OUTPUT, unread }] },
    });
    const asked = apply(kept, anAttachment(), later + 1);
    expect(asked).toMatchObject({
      status: "pending",
      tracking: { poll: { hint: { at: later + 1 } } },
    });
  });

  it(`when a job that cannot be polled is attached to a task, a stored hook that the relay does not understand (${unread}) does not end the task`, () => {
    const kept = apply(unattached, aHook(NO_OUTPUT, { unread }), later);
    const attachedLate = apply(kept, anAttachment(), later + 1, NO_KEY);
    expect(attachedLate).toMatchObject({ status: "pending", tracking: { keptHooks: [] } });
  });

  it(`a hook that the relay does not understand (${unread}) changes nothing of the task when it is about another job than the attached one`, () => {
    for (const policy of [POLICY, NO_KEY]) {
      const hook = aHook(NO_OUTPUT, { unread, jobId: OTHER_JOB.id });
      expectUnchanged(attached, hook, later, policy, "other_job");
    }
  });

  it(`a hook that the relay does not understand (${unread}) is ignored when its task has failed at the deadline before`, () => {
    const timedOut = finish(attached, { type: "deadline" }, attached.deadlineAt, NO_KEY);
    for (const hook of hooks) expectUnchanged(timedOut, hook, later, POLICY, "ignored");
  });

  it(`a signed hook that the relay does not understand (${unread}) but that states a job id attaches this job to the task, and makes a poll due at once`, () => {
    const record = apply(unattached, aHook(NO_OUTPUT, { isSigned: true, unread }), later);
    expect(record).toMatchObject({
      status: "pending",
      upstream: { job: JOB },
      tracking: { poll: { hint: { at: later } } },
    });
  });
});

it.each([
  ["cgt=1", "cgt1", false],
  ["cgt==1", "cgt1", false],
  ["cgt1", "cgt1=", true],
  ["cgt1==", "cgt1", true],
  ["cgt1==", "cgt1===", false],
])(
  "isAbout, which compares job ids, ignores up to two '=' at the end of an id (base64 padding) but no other '=': for %s and %s it returns %s",
  (id, jobId, isSame) => {
    expect(isAbout({ id, endpoint: null }, jobId)).toBe(isSame);
  },
);
