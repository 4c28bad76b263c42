import { describe, expect, it } from "vitest";
import { type Poll, pollOf } from "../../src/core/duties/poll.ts";
import type { Policy } from "../../src/core/policy.ts";
import { nextStep, wakeAt } from "../../src/core/step.ts";
import { isOpen, type TaskRecord } from "../../src/core/record/task.ts";
import {
  aCompletion,
  aPolicy,
  CONNECTION,
  HOUR,
  ID,
  LIMITS,
  MINUTE,
  NOW,
  POLICY,
  SECOND,
  PROCESSING,
} from "./builders.ts";
import { aChargeEnd, aPricedRegistration } from "./credit-builders.ts";
import { apply, expectUnchanged } from "./decisions.ts";
import {
  aHook,
  anAttachedTask,
  anUpstreamFailure,
  aPollEnd,
  DEADLINE_STEP,
  aProvidedRegistration,
  aTracking,
  FIRST_POLL,
  JOB,
  rateLimited,
  NO_KEY,
  UPSTREAM,
} from "./upstream-builders.ts";

const attached = anAttachedTask();
const THEN = FIRST_POLL + 2 * SECOND;

/** Returns the settings of an instance that made its last poll at `polledAt`. */
function polled(polledAt: number, changes: Partial<Policy> = {}): Policy {
  return aPolicy({ polledAt, askedAt: polledAt, ...changes });
}

/** Returns the first times after `from` at which a task without news is polled. */
function pollTimes(task: TaskRecord, count: number, from: number): readonly number[] {
  const times: number[] = [];
  let polledAt = from;
  while (times.length < count) times.push((polledAt = wakeAt(task, polled(polledAt))));
  return times.map((at) => at - NOW);
}

/** A poll of the attached job that is not urgent. */
const POLL: Poll = {
  taskId: ID,
  connection: CONNECTION,
  job: JOB,
  createdAt: NOW,
  isUrgent: false,
  customerKey: null,
  submitted: null,
  purpose: "result",
};

describe("a poll", () => {
  it("the poll of a task is due exactly at its planned time, and has the task's id, the connection, the job and whether the poll is urgent", () => {
    expect(wakeAt(attached, POLICY)).toBe(FIRST_POLL);
    expect(nextStep(attached, POLICY, FIRST_POLL - 1)).toBeNull();
    expect(nextStep(attached, POLICY, FIRST_POLL)).toEqual({
      kind: "poll",
      poll: POLL,
    });
  });

  it("the request for a client's read of the job has the same data as a poll of the task, and is not urgent", () => {
    const hinted = apply(attached, aHook(aCompletion()));
    if (!isOpen(hinted)) throw new Error(`the task is ${hinted.status}`);
    expect(nextStep(hinted, POLICY, NOW)).toMatchObject({ kind: "poll", poll: { isUrgent: true } });
    expect(pollOf(hinted, UPSTREAM)).toEqual(POLL);
  });

  it("a poll is planned when the registration already names the upstream job", () => {
    const registration = aProvidedRegistration({ job: JOB });
    const record = apply(null, registration);
    expect(record).toMatchObject({ upstream: UPSTREAM, tracking: aTracking() });
  });

  it("a poll is planned when the charge succeeds for a registration that names the upstream job", () => {
    const registration = aPricedRegistration({ provider: CONNECTION, job: JOB });
    const charging = apply(null, registration, NOW - SECOND);
    expect("tracking" in charging).toBe(false);
    const record = apply(charging, aChargeEnd());
    expect(record).toMatchObject({ upstream: UPSTREAM, tracking: aTracking() });
  });

  it("a poll is never due when the connection to the provider has no API key", () => {
    expect(wakeAt(attached, NO_KEY)).toBe(attached.deadlineAt);
    expect(nextStep(attached, NO_KEY, attached.deadlineAt)).toEqual(DEADLINE_STEP);
  });
});

describe("the time of the next poll", () => {
  it("a job about which no hook is expected is polled at the ages of about 4, 6, 8 and 10 s", () => {
    expect(pollTimes(attached, 4, NOW)).toEqual([4_187, 6_187, 8_187, 10_187]);
  });

  it("when a hook has postponed a poll by two minutes, the poll after the postponed one is made at the same time as without the hook", () => {
    const moved = anAttachedTask({ postponedTo: NOW + 2 * MINUTE });
    const [first] = pollTimes(attached, 1, NOW + 2 * MINUTE);
    expect(pollTimes(moved, 2, NOW)).toEqual([120_000, first]);
  });

  it("a hook postpones the next poll also when the job was reported successful but without output more than ten minutes before", () => {
    const answer = { kind: "no_output", since: NOW, statusCode: null, word: null } as const;
    const hourLater = NOW + HOUR;
    const moved = anAttachedTask({ answer, postponedTo: hourLater + 2 * MINUTE });
    expect(wakeAt(moved, polled(hourLater))).toBe(hourLater + 2 * MINUTE);
  });

  it("a hook that reports running does not postpone the next poll when the polls of its job do not wait for hooks", () => {
    const record = apply(anAttachedTask({ hookWaitMs: 0 }), aHook(PROCESSING), NOW + 1);
    expect(record).toMatchObject({
      tracking: { poll: { hasHeardRunning: true, postponedTo: null } },
    });
    expect(wakeAt(record, POLICY)).toBe(FIRST_POLL);
  });

  it("an unsigned hook that claims the end of the job makes polls due at once and then every 15 s for two minutes, in addition to the usual polls", () => {
    const hinted = anAttachedTask({
      postponedTo: NOW + HOUR,
      hint: { at: NOW + 7, status: "completed" },
    });
    const expected = [0, 15, 30, 45, 60, 75, 90, 105].map((s) => 7 + s * SECOND);
    expect(pollTimes(hinted, 9, NOW - SECOND)).toEqual([...expected, 3_600_000]);
  });

  it("the two minutes of additional polls begin anew with a second unsigned hook that claims the end of the job, 15 s after the first", () => {
    const hinted = anAttachedTask({ hint: { at: NOW, status: "completed" } });
    const record = apply(hinted, aHook(anUpstreamFailure()), NOW + 15 * SECOND);
    expect(record).toMatchObject({
      tracking: { poll: { hint: { at: NOW + 15 * SECOND, status: "failed" } } },
    });
  });

  it("a hook that claims the end of the job while a poll runs makes another poll due, because the poll's answer may be older than the hook", () => {
    const record = apply(attached, aHook(aCompletion()), FIRST_POLL, polled(FIRST_POLL));
    expect(wakeAt(record, polled(FIRST_POLL))).toBe(FIRST_POLL + LIMITS.gapMs);
  });

  it.each([
    [
      "the provider's minimum gap since the last poll",
      { hint: { at: NOW + 1, status: "failed" } },
      polled(NOW),
      NOW + SECOND,
    ],
    ["the end of the provider's rate limit", { notBefore: NOW + HOUR }, POLICY, NOW + HOUR],
    [
      "the end of the provider's rate limit, even by a new instance of the task's object, which knows of no earlier poll",
      { notBefore: NOW + HOUR },
      aPolicy({ polledAt: NOW + HOUR - 15_001 }),
      NOW + HOUR,
    ],
    [
      "the task's next check whether the pause is over, while the relay is paused",
      {},
      aPolicy({ pausedAt: NOW + 30 * SECOND }),
      NOW + 90 * SECOND,
    ],
  ] as const)("a poll is not made before %s", (_what, plan, policy, at) => {
    const task = anAttachedTask(plan);
    expect(wakeAt(task, policy)).toBe(at);
    expect(nextStep(task, policy, at - 1)).toBeNull();
  });

  it("while the relay is paused, the time between a task's checks whether the pause is over is longer the older the job is", () => {
    const policy = aPolicy({ pausedAt: NOW + HOUR, polledAt: NOW + HOUR - 1 });
    expect(wakeAt(attached, policy)).toBe(NOW + HOUR + 15 * MINUTE);
  });
});

describe("a poll that was deferred to keep the limit of its connection", () => {
  const DEFERRED_TO = NOW + 10 * MINUTE;
  const deferred = aPolicy({ pollDeferredAt: FIRST_POLL, pollDeferredTo: DEFERRED_TO });
  const claimed = { hint: { at: NOW + MINUTE, status: "completed" } } as const;

  it.each([
    ["neither comes during the wait", anAttachedTask(), DEFERRED_TO],
    ["a hook claims the end during the wait", anAttachedTask(claimed), NOW + MINUTE],
    [
      "the deadline comes during the wait",
      anAttachedTask({}, { deadlineAt: NOW + 3 * MINUTE }),
      NOW + 3 * MINUTE,
    ],
    [
      "the deadline comes after the wait",
      anAttachedTask({}, { deadlineAt: NOW + HOUR }),
      DEFERRED_TO,
    ],
  ])(
    "a poll deferred to keep its connection's limit is made after its wait, but earlier at the deadline or when a hook claims the end of the job: %s",
    (_, task, at) => {
      expect(wakeAt(task, deferred)).toBe(at);
    },
  );

  it("an urgent poll that was deferred to keep the limit of its connection waits as long as any other deferred poll, even past its task's deadline", () => {
    const task = anAttachedTask({}, { deadlineAt: FIRST_POLL });
    expect(wakeAt(task, deferred)).toBe(DEFERRED_TO);
    expect(nextStep(task, deferred, DEFERRED_TO)).toMatchObject({ kind: "poll" });
  });

  it.each([
    ["urgent at the deadline", {}, NOW + 72 * HOUR, true],
    ["urgent two minutes after the hook", claimed, NOW + 3 * MINUTE, true],
    ["not urgent one millisecond later", claimed, NOW + 3 * MINUTE + 1, false],
  ])(
    "a poll is urgent at its task's deadline and for two minutes after a hook claimed the end of the job: it is %s",
    (_, plan, at, isUrgent) => {
      expect(nextStep(anAttachedTask(plan), POLICY, at)).toMatchObject({ poll: { isUrgent } });
    },
  );
});

it("regular polls that become due while another poll waits for its answer are left out, and are not made later", () => {
  const answered = aPolicy({
    polledAt: FIRST_POLL,
    askedAt: FIRST_POLL,
    pollEndedAt: NOW + 14_000,
  });
  expect(wakeAt(attached, answered)).toBe(NOW + 14_187);
});

it("when a hook claims the end of the job while a poll waits for its answer, another poll is made as soon as this one has ended", () => {
  const hinted = anAttachedTask({ hint: { at: NOW + 9_000, status: "completed" } });
  const answered = aPolicy({
    polledAt: FIRST_POLL,
    askedAt: FIRST_POLL,
    pollEndedAt: NOW + 14_000,
  });
  expect(wakeAt(hinted, answered)).toBe(NOW + 9_000);
});

it.each([0, 0.5, 1])(
  "a provider's error that asks for a wait of an hour postpones the next poll by an hour plus 12 minutes times a random number from 0 to 1, here %d",
  (jitter) => {
    const policy = polled(FIRST_POLL, { jitter });
    const error = { kind: "unanswered", retryAfterMs: HOUR } as const;
    const record = apply(attached, aPollEnd(error), THEN, policy);
    expect(wakeAt(record, policy)).toBe(THEN + (1 + jitter / 5) * HOUR);
    expect(record).toMatchObject({ tracking: { poll: { answer: null, unansweredSince: THEN } } });
  },
);

describe("a provider that limits the rate of polls", () => {
  it.each([0, 0.5, 1])(
    "a provider's rate limit of an hour postpones the next poll by an hour plus 12 minutes times a random number from 0 to 1, here %d",
    (jitter) => {
      const policy = polled(FIRST_POLL, { jitter });
      const record = apply(attached, aPollEnd(rateLimited(HOUR)), THEN, policy);
      expect(wakeAt(record, policy)).toBe(THEN + (1 + jitter / 5) * HOUR);
    },
  );

  it("a provider's rate limit that ends before the next planned poll does not postpone this poll", () => {
    const record = apply(attached, aPollEnd(rateLimited(SECOND)), FIRST_POLL, polled(FIRST_POLL));
    expect(wakeAt(record, polled(FIRST_POLL))).toBe(FIRST_POLL + 2 * SECOND);
    const again = aPollEnd(rateLimited(0));
    expectUnchanged(record, again, FIRST_POLL + SECOND, polled(FIRST_POLL));
  });

  it("a hook causes no poll before a provider's rate limit is over, even if the limit ends before the next planned poll", () => {
    const asked = polled(NOW + 2 * HOUR);
    const limited = apply(attached, aPollEnd(rateLimited(30 * SECOND)), NOW + 2 * HOUR, asked);
    expect(wakeAt(limited, asked)).toBeGreaterThan(NOW + 2 * HOUR + 30 * SECOND);
    const claimed = apply(limited, aHook(aCompletion()), NOW + 2 * HOUR, asked);
    expect(wakeAt(claimed, asked)).toBe(NOW + 2 * HOUR + 30 * SECOND);
  });

  it("a rate limit postpones the next poll also when the provider's API key was removed during the poll", () => {
    const record = apply(attached, aPollEnd(rateLimited(HOUR)), THEN, NO_KEY);
    expect(record).toMatchObject({ tracking: { poll: { notBefore: THEN + HOUR } } });
  });

  it("a poll that was not sent because of its connection's poll limit does not count as an answer of the provider", () => {
    const silent = anAttachedTask({ unansweredSince: NOW });
    expectUnchanged(silent, aPollEnd({ kind: "deferred", waitMs: SECOND }), THEN);
  });

  it.each([
    ["even because of a hook", aHook(aCompletion()), attached],
    [
      "even because of the task's deadline",
      null,
      anAttachedTask({}, { deadlineAt: THEN + MINUTE }),
    ],
  ])(
    "a provider that refused a poll by its rate limit is not polled before the limit ends, %s",
    (_why, hook, task) => {
      const limited = apply(task, aPollEnd(rateLimited(HOUR)), THEN, polled(FIRST_POLL));
      const record = hook === null ? limited : apply(limited, hook, THEN + SECOND);
      expect(nextStep(record, POLICY, THEN + HOUR - 1)).toBeNull();
      expect(nextStep(record, POLICY, THEN + HOUR)).toMatchObject({ kind: "poll" });
    },
  );
});
