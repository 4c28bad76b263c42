import { describe, expect, it } from "vitest";
import type { PollAnswer } from "../../src/core/events/event.ts";
import { nextStep, wakeAt } from "../../src/core/step.ts";
import type { TaskRecord } from "../../src/core/record/task.ts";
import { transition } from "../../src/core/transition.ts";
import {
  aCompletion,
  aPolicy,
  afterwards,
  CONNECTION,
  HOUR,
  ID,
  LIMITS,
  MINUTE,
  NOW,
  POLICY,
  SECOND,
} from "./builders.ts";
import { aChargeEnd, aPricedRegistration } from "./credit-builders.ts";
import { apply } from "./decisions.ts";
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
  NO_OUTPUT,
  QUEUED,
  newsAnswer,
  UNANSWERED,
  UPSTREAM,
} from "./upstream-builders.ts";

const attached = anAttachedTask();
const nudge = aHook(aCompletion());
const THEN = FIRST_POLL + 2 * SECOND;
const GAP = LIMITS.gapMs;

function nudged(record: TaskRecord, ...times: readonly number[]): TaskRecord {
  return times.reduce((task, at) => afterwards(transition(task, nudge, POLICY, at)), record);
}

function polled(record: TaskRecord, answer: PollAnswer = UNANSWERED): TaskRecord {
  return apply(record, aPollEnd(answer), THEN);
}

describe("a poll", () => {
  it("a poll is due exactly at its planned time and names the task, the connection and the upstream job", () => {
    expect(wakeAt(attached, POLICY)).toBe(FIRST_POLL);
    expect(nextStep(attached, POLICY, FIRST_POLL - 1)).toBeNull();
    expect(nextStep(attached, POLICY, FIRST_POLL)).toEqual({
      kind: "poll",
      poll: {
        taskId: ID,
        connection: CONNECTION,
        job: JOB,
        nudges: 0,
        createdAt: NOW,
      },
    });
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

  it("a poll is never due for a connection without a key", () => {
    expect(wakeAt(attached, NO_KEY)).toBe(attached.deadlineAt);
    expect(nextStep(attached, NO_KEY, attached.deadlineAt)).toEqual(DEADLINE_STEP);
  });
});

describe("a nudge while no poll is due", () => {
  it("an unsigned hook makes a poll due at once", () => {
    for (const at of [NOW, NOW + 1, FIRST_POLL - 2]) {
      const task = nudged(anAttachedTask(), at);
      expect(wakeAt(task, POLICY)).toBe(at);
      expect(nextStep(task, POLICY, at)).toMatchObject({ kind: "poll", poll: { nudges: 1 } });
    }
  });

  it.each([
    [
      "until the provider's minimum gap between polls has passed",
      { at: NOW + MINUTE, notBefore: NOW + SECOND },
      POLICY,
    ],
    [
      "until the provider's minimum gap between polls has passed, also when a poll is already planned for that time",
      { at: NOW + SECOND, notBefore: NOW + SECOND },
      POLICY,
    ],
    ["while the relay is paused", {}, aPolicy({ pausedAt: NOW + SECOND - MINUTE })],
  ])("the poll that an unsigned hook causes waits %s", (_what, plan, policy) => {
    const task = nudged(anAttachedTask(plan), NOW);
    expect(wakeAt(task, policy)).toBe(NOW + SECOND);
    expect(nextStep(task, policy, NOW + SECOND - 1)).toBeNull();
  });

  it("a poll that an unsigned hook caused does not shorten the waits between the polls after it", () => {
    const task = nudged(anAttachedTask({ tries: 2 }), FIRST_POLL - 2);
    const end = aPollEnd(UNANSWERED, { nudges: 1 });
    const record = apply(task, end, THEN);
    expect(wakeAt(record, POLICY)).toBe(THEN + 120 * SECOND);
  });
});

describe("a nudge while a poll is in flight", () => {
  const inFlight = anAttachedTask();
  const moments = [
    ["an unsigned hook in the first millisecond of a poll", [FIRST_POLL]],
    ["an unsigned hook a second after the start of a poll", [FIRST_POLL + SECOND]],
    ["two unsigned hooks in the first millisecond of a poll", [FIRST_POLL, FIRST_POLL]],
    [
      "seven unsigned hooks at different times during a poll",
      [0, 1, 1, 2, 500, 1_999, 2_000].map((ms) => FIRST_POLL + ms),
    ],
  ] as const;

  it.each(moments)("after %s, exactly one more poll is made", (_what, times) => {
    const once = polled(nudged(inFlight, ...times));
    expect(wakeAt(once, POLICY)).toBe(THEN + GAP);
    const end = aPollEnd(newsAnswer(QUEUED), { nudges: times.length });
    const twice = apply(once, end, THEN + GAP);
    expect(wakeAt(twice, POLICY)).toBe(THEN + GAP + 60 * SECOND);
  });

  it.each<[string, TaskRecord, PollAnswer, waitMs: number]>([
    ["the next poll keeps its usual wait if no hook arrives", inFlight, UNANSWERED, 30 * SECOND],
    [
      "an unsigned hook does not shorten the rate limit in the poll's answer",
      nudged(inFlight, FIRST_POLL),
      rateLimited(MINUTE),
      MINUTE,
    ],
  ])("while a poll is in flight, %s", (_what, task, answer, waitMs) => {
    expect(wakeAt(polled(task, answer), POLICY)).toBe(THEN + waitMs);
  });

  it.each([
    [
      "a success while the poll reports a failure",
      aHook(aCompletion()),
      newsAnswer(anUpstreamFailure()),
    ],
    [
      "success without output and the poll reports the same",
      aHook(NO_OUTPUT),
      newsAnswer(NO_OUTPUT),
    ],
  ])(
    "the poll, not an unsigned hook during it, decides the task's result when the hook reports %s",
    (_what, hook, answer) => {
      expect(polled(apply(inFlight, hook, FIRST_POLL), answer).status).toBe("failed");
    },
  );
});

it.each([0, 0.5, 1])(
  "with %d as the random number (0 to 1) of the jitter, the poll after a rate limit of one hour waits an hour plus the random number times 12 minutes",
  (jitter) => {
    const policy = aPolicy({ jitter });
    const record = apply(attached, aPollEnd(rateLimited(HOUR)), THEN, policy);
    expect(wakeAt(record, policy)).toBe(THEN + (1 + jitter / 5) * HOUR);
  },
);
