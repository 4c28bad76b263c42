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
  it("is due at its planned time, not before, and contains all that the call needs", () => {
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

  it("is planned with a job that comes with the registration", () => {
    const registration = aProvidedRegistration({ job: JOB });
    const record = apply(null, registration);
    expect(record).toMatchObject({ upstream: UPSTREAM, tracking: aTracking() });
  });

  it("is planned again when the price of such a task is charged", () => {
    const registration = aPricedRegistration({ provider: CONNECTION, job: JOB });
    const charging = apply(null, registration, NOW - SECOND);
    expect("tracking" in charging).toBe(false);
    const record = apply(charging, aChargeEnd());
    expect(record).toMatchObject({ upstream: UPSTREAM, tracking: aTracking() });
  });

  it("is never due for a connection that has no key", () => {
    expect(wakeAt(attached, NO_KEY)).toBe(attached.deadlineAt);
    expect(nextStep(attached, NO_KEY, attached.deadlineAt)).toEqual(DEADLINE_STEP);
  });
});

describe("a nudge while no poll is due", () => {
  it("makes a poll due at once", () => {
    for (const at of [NOW, NOW + 1, FIRST_POLL - 2]) {
      const task = nudged(anAttachedTask(), at);
      expect(wakeAt(task, POLICY)).toBe(at);
      expect(nextStep(task, POLICY, at)).toMatchObject({ kind: "poll", poll: { nudges: 1 } });
    }
  });

  it.each([
    ["until the provider allows another", { at: NOW + MINUTE, notBefore: NOW + SECOND }, POLICY],
    [
      "for a poll that the provider allows later",
      { at: NOW + SECOND, notBefore: NOW + SECOND },
      POLICY,
    ],
    ["while the relay is paused", {}, aPolicy({ pausedUntil: NOW + SECOND })],
  ])("waits %s", (_what, plan, policy) => {
    const task = nudged(anAttachedTask(plan), NOW);
    expect(wakeAt(task, policy)).toBe(NOW + SECOND);
    expect(nextStep(task, policy, NOW + SECOND - 1)).toBeNull();
  });

  it("does not make the later waits shorter", () => {
    const task = nudged(anAttachedTask({ tries: 2 }), FIRST_POLL - 2);
    const end = aPollEnd(UNANSWERED, { nudges: 1 });
    const record = apply(task, end, THEN);
    expect(wakeAt(record, POLICY)).toBe(THEN + 120 * SECOND);
  });
});

describe("a nudge while a poll is in flight", () => {
  const inFlight = anAttachedTask();
  const moments = [
    ["in its first millisecond", [FIRST_POLL]],
    ["later", [FIRST_POLL + SECOND]],
    ["twice in one millisecond", [FIRST_POLL, FIRST_POLL]],
    ["many times", [0, 1, 1, 2, 500, 1_999, 2_000].map((ms) => FIRST_POLL + ms)],
  ] as const;

  it.each(moments)("leads to one more poll, as soon as the provider allows: %s", (_what, times) => {
    const once = polled(nudged(inFlight, ...times));
    expect(wakeAt(once, POLICY)).toBe(THEN + GAP);
    const end = aPollEnd(newsAnswer(QUEUED), { nudges: times.length });
    const twice = apply(once, end, THEN + GAP);
    expect(wakeAt(twice, POLICY)).toBe(THEN + GAP + 60 * SECOND);
  });

  it.each<[string, TaskRecord, PollAnswer, waitMs: number]>([
    ["leads to no other poll when there was none", inFlight, UNANSWERED, 30 * SECOND],
    [
      "keeps the limit that the poll is told",
      nudged(inFlight, FIRST_POLL),
      rateLimited(MINUTE),
      MINUTE,
    ],
  ])("%s", (_what, task, answer, waitMs) => {
    expect(wakeAt(polled(task, answer), POLICY)).toBe(THEN + waitMs);
  });

  it.each([
    ["an end that the poll tells", aHook(aCompletion()), newsAnswer(anUpstreamFailure())],
    ["success without output that the hook tells too", aHook(NO_OUTPUT), newsAnswer(NO_OUTPUT)],
  ])("does not change %s", (_what, hook, answer) => {
    expect(polled(apply(inFlight, hook, FIRST_POLL), answer).status).toBe("failed");
  });
});
