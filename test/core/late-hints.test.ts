import { describe, expect, it } from "vitest";
import { nextStep, wakeAt } from "../../src/core/step.ts";
import { transition } from "../../src/core/transition.ts";
import {
  aCompletion,
  aPolicy,
  committed,
  DAY,
  finished,
  HOUR,
  MINUTE,
  POLICY,
} from "./builders.ts";
import { expectUnchanged, finish } from "./decisions.ts";
import { aHook, anAttachedTask, aPollEnd, JOB, newsAnswer, NO_KEY } from "./upstream-builders.ts";

const task = anAttachedTask({}, { callbackUrl: null });
const endedAt = task.deadlineAt;
const timedOut = finish(task, { type: "deadline" }, endedAt, NO_KEY);
const later = endedAt + 2 * HOUR;
const success = aHook(aCompletion());

describe("an unsigned hook that claims success after its task has failed at the deadline", () => {
  const decision = transition(timedOut, success, POLICY, later);
  const hinted = committed(decision);

  it("an unsigned hook that claims success after its task has failed at the deadline has the effect late_result in the log", () => {
    expect(decision).toMatchObject({ note: "late_result" });
  });

  it("after a task has failed at its deadline, an unsigned hook that claims success of its job causes two further polls of the job: at once and two minutes later", () => {
    expect(hinted).toEqual({
      ...timedOut,
      late: { hintAt: later, resultAt: null },
      counts: { hooks: 1, polls: 0 },
    });
    const step = nextStep(hinted, aPolicy({ polledAt: later - 1 }), later);
    expect(step).toMatchObject({ poll: { purpose: "late_result", job: JOB } });
    expect(wakeAt(hinted, aPolicy({ polledAt: later }))).toBe(later + 2 * MINUTE);
    expect(wakeAt(hinted, aPolicy({ polledAt: later + 2 * MINUTE }))).toBe(endedAt + DAY);
    const poll = aPollEnd(newsAnswer(aCompletion()), { purpose: "late_result" });
    const policy = aPolicy({ isOperatorNotified: true });
    const confirmed = finished(transition(hinted, poll, policy, later));
    expect(confirmed.late).toEqual({ hintAt: later, resultAt: later });
    expect(confirmed.notices).toHaveLength(1);
  });

  it("after a task has failed at its deadline, a second unsigned hook that claims success of its job causes polls only if it comes an hour or more after the first", () => {
    expectUnchanged(hinted, success, later + HOUR - 1, POLICY, "late_result");
    const again = finished(transition(hinted, success, POLICY, later + HOUR));
    expect(again.late?.hintAt).toBe(later + HOUR);
  });
});

it.each([later - 1, later, later + 5])(
  "after a task has failed at its deadline, an unsigned hook that claims success causes a poll even if the job was polled within some milliseconds of it (poll at %i)",
  (polledAt) => {
    const policy = aPolicy({ polledAt });
    const hinted = finished(transition(timedOut, success, policy, later));
    expect(nextStep(hinted, policy, polledAt + 1)).toMatchObject({ kind: "poll" });
  },
);
