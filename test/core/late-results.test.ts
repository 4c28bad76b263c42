import { describe, expect, it } from "vitest";
import type { PollAnswer } from "../../src/core/events/event.ts";
import type { JsonObject } from "../../src/core/json.ts";
import { noticeOf } from "../../src/core/record/notice.ts";
import type { TerminalTask } from "../../src/core/record/task.ts";
import { nextStep, wakeAt } from "../../src/core/step.ts";
import { transition } from "../../src/core/transition.ts";
import {
  aCallback,
  aCompletion,
  aPolicy,
  committed,
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
  SECOND,
  VIDEO,
} from "./builders.ts";
import { expectUnchanged, finish } from "./decisions.ts";
import {
  aHook,
  anAttachedTask,
  anUpstreamFailure,
  aPollEnd,
  aProvidedTask,
  JOB,
  newsAnswer,
  NO_KEY,
  NO_OUTPUT,
  OTHER_JOB,
  UNANSWERED,
} from "./upstream-builders.ts";

const NOTIFYING = aPolicy({ isOperatorNotified: true });
const SILENT = { callbackUrl: null };
const task = anAttachedTask({}, SILENT);
const endedAt = task.deadlineAt;
const timedOut = finish(task, { type: "deadline" }, endedAt, NO_KEY);
const later = endedAt + 2 * HOUR;
const success = aHook(aCompletion());
const signed = { isSigned: true };

/** The polls of a task that has failed, each after the one before; times count from its end. */
function pollsOf(record: TerminalTask, policy = POLICY): readonly number[] {
  const times: number[] = [];
  for (let polledAt = endedAt; ;) {
    const known = { ...policy, polledAt };
    const at = wakeAt(record, known);
    if (nextStep(record, known, at)?.kind !== "poll") return times;
    times.push(at - endedAt);
    polledAt = at;
  }
}

/** The notice of a late result. */
function told(details: JsonObject) {
  return [noticeOf("task.late_result", later, later, details)];
}

function forgetful(maxAgeMs: number) {
  return aPolicy({ polls: new Map([[CONNECTION, { ...LIMITS, maxAgeMs }]]) });
}

function latePoll(answer: PollAnswer) {
  return aPollEnd(answer, { purpose: "late_result" });
}

function toldOf(record: TerminalTask, at = later) {
  return { ...record, late: { hintAt: null, resultAt: at } };
}

describe("the polls of a task that has failed at its deadline", () => {
  it("the job of a task that has failed at its deadline is polled an hour and a day later", () => {
    expect(pollsOf(timedOut)).toEqual([HOUR, DAY]);
    const policy = aPolicy({ polledAt: endedAt });
    expect(nextStep(timedOut, policy, endedAt + HOUR)).toEqual({
      kind: "poll",
      poll: {
        taskId: ID,
        connection: CONNECTION,
        job: JOB,
        createdAt: NOW,
        likelihood: 1,
        purpose: "late_result",
      },
    });
  });

  it.each([
    ["has completed", finish(task, aHook(aCompletion(), signed)), POLICY, []],
    ["was canceled", finish(task, { type: "cancel" }), POLICY, []],
    [
      "has failed by the upstream's own timeout",
      finish(
        task,
        aHook(anUpstreamFailure({ failure: { category: "timeout", retryable: true } }), signed),
      ),
      POLICY,
      [],
    ],
    ["has no job", finish(aProvidedTask(SILENT), { type: "deadline" }, endedAt), POLICY, []],
    ["cannot be polled", timedOut, NO_KEY, []],
    ["is forgotten by its provider after a day", timedOut, forgetful(endedAt + DAY - NOW), [HOUR]],
    ["is erased within a day", { ...timedOut, expiresAt: endedAt + 2 * HOUR }, POLICY, [HOUR]],
    ["has brought its result", toldOf(timedOut), POLICY, []],
  ])(
    "a task that %s is polled only as long as a late result is news",
    (_what, record, policy, times) => {
      expect(pollsOf(record, policy)).toEqual(times);
    },
  );

  it("a poll for a late result waits for a pause of the relay to end and for an attempt of the callback that is due soon", () => {
    const policy = aPolicy({ polledAt: endedAt, pausedAt: endedAt + HOUR });
    expect(nextStep(timedOut, policy, endedAt + HOUR)).toBeNull();
    const dueAt = (nextAttemptAt: number) => {
      return { ...timedOut, callback: aCallback({ state: { kind: "due", nextAttemptAt } }) };
    };
    const asked = aPolicy({ polledAt: endedAt });
    expect(wakeAt(dueAt(endedAt + HOUR + 25 * SECOND), asked)).toBe(endedAt + HOUR + 25 * SECOND);
    expect(wakeAt(dueAt(endedAt + HOUR + 26 * SECOND), asked)).toBe(endedAt + HOUR);
  });

  it.each([
    ["running", newsAnswer(PROCESSING)],
    ["failed", newsAnswer(anUpstreamFailure())],
    ["success without output", newsAnswer(NO_OUTPUT)],
    ["nothing", UNANSWERED],
  ])("a poll that reports %s after the end changes nothing of the task", (_what, answer) => {
    expectUnchanged(timedOut, latePoll(answer), later, NOTIFYING);
  });
});

describe("the success of a job after its task has failed at the deadline", () => {
  const output = { urls: [VIDEO], metadata: { seed: 1 } };
  const news = aCompletion(output);

  it.each([
    ["a poll", latePoll(newsAnswer(news)), NOTIFYING, { polls: 1, hooks: 0 }],
    ["a signed hook", aHook(news, signed), NOTIFYING, { polls: 0, hooks: 1 }],
    [
      "an unsigned hook of a provider that cannot be polled",
      aHook(news, { jobId: null }),
      aPolicy({ isOperatorNotified: true, polls: new Map() }),
      { polls: 0, hooks: 1 },
    ],
  ])(
    "a late success that %s brings is told to the operator with its links once, and leaves status, body, version and retention of the task",
    (_what, event, policy, counts) => {
      const record = finished(transition(timedOut, event, policy, later));
      expect(record).toEqual({ ...toldOf(timedOut), counts, notices: told({ output }) });
      const again = event.type === "hook" ? ("late_result" as const) : undefined;
      expectUnchanged(record, event, later + HOUR, policy, again);
      expect(nextStep(record, policy, later)).toMatchObject({
        kind: "notify",
        notice: { kind: "task.late_result", version: later, details: { output } },
      });
    },
  );

  it("a late success is known, but not told, where the operator has no URL for events", () => {
    const record = finished(transition(timedOut, aHook(news, signed), POLICY, later));
    expect(record).toMatchObject({ late: { resultAt: later }, notices: [] });
  });

  it.each([
    ["has more links than a result may have", aCompletion({ urls: Array(1_001).fill(VIDEO) })],
    ["does not fit in the record", aCompletion({ metadata: { note: "x".repeat(1_800_000) } })],
  ])("a late success that %s is told without its links", (_what, large) => {
    const record = finished(transition(timedOut, aHook(large, signed), NOTIFYING, later));
    expect(record.notices).toEqual(told({ output: null }));
  });

  it.each([
    ["another job", aHook(news, { ...signed, jobId: OTHER_JOB.id }), timedOut, "other_job"],
    ["success without output", aHook(NO_OUTPUT, signed), timedOut, "late_result"],
    [
      "an unknown job of a task without a job, unsigned",
      success,
      finish(aProvidedTask(SILENT), { type: "deadline" }, endedAt),
      "late_result",
    ],
  ] as const)("a late hook about %s is told to nobody", (_what, hook, record, note) => {
    expectUnchanged(record, hook, later, NOTIFYING, note);
  });

  it("the answer to a poll for a late result is ignored when the task was created again under the same id", () => {
    expectUnchanged(task, latePoll(newsAnswer(news)), later, NOTIFYING);
    expectUnchanged(null, latePoll(newsAnswer(news)), later, NOTIFYING);
  });
});

describe("an unsigned hook that claims success after its task has failed at the deadline", () => {
  const hinted = committed(transition(timedOut, success, POLICY, later));

  it("a late unsigned hook is believed only when a poll confirms it: the job is polled at once and two minutes later", () => {
    expect(hinted).toEqual({
      ...timedOut,
      late: { hintAt: later, resultAt: null },
      counts: { hooks: 1, polls: 0 },
    });
    const step = nextStep(hinted, aPolicy({ polledAt: later - 1 }), later);
    expect(step).toMatchObject({ poll: { purpose: "late_result", job: JOB } });
    expect(wakeAt(hinted, aPolicy({ polledAt: later }))).toBe(later + 2 * MINUTE);
    expect(wakeAt(hinted, aPolicy({ polledAt: later + 2 * MINUTE }))).toBe(endedAt + DAY);
    const confirmed = finished(
      transition(hinted, latePoll(newsAnswer(aCompletion())), NOTIFYING, later),
    );
    expect(confirmed.late).toEqual({ hintAt: later, resultAt: later });
    expect(confirmed.notices).toHaveLength(1);
  });

  it("a late unsigned hook causes no further poll within an hour of the one before", () => {
    expectUnchanged(hinted, success, later + HOUR - 1, POLICY, "late_result");
    const again = finished(transition(hinted, success, POLICY, later + HOUR));
    expect(again.late?.hintAt).toBe(later + HOUR);
  });
});
