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

/**
 * Returns the times of the polls of a task that has failed, each after the one before, counted from the task's
 * end.
 */
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

/** Builds the notice of a late result. */
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
  it("the job of a task that has failed at its deadline is polled an hour and a day after the deadline", () => {
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
    ["has completed", [], finish(task, aHook(aCompletion(), signed)), POLICY],
    ["was canceled", [], finish(task, { type: "cancel" }), POLICY],
    [
      "has failed because the upstream reported a timeout of its own",
      [],
      finish(
        task,
        aHook(anUpstreamFailure({ failure: { category: "timeout", retryable: true } }), signed),
      ),
      POLICY,
    ],
    ["has no job", [], finish(aProvidedTask(SILENT), { type: "deadline" }, endedAt), POLICY],
    ["has a provider without an API key", [], timedOut, NO_KEY],
    ["is forgotten by its provider after a day", [HOUR], timedOut, forgetful(endedAt + DAY - NOW)],
    ["is erased within a day", [HOUR], { ...timedOut, expiresAt: endedAt + 2 * HOUR }, POLICY],
    ["has a job whose success is known by now", [], toldOf(timedOut), POLICY],
  ])(
    "a task that %s is polled after its end at these times (in milliseconds since the end; [] for never): %j",
    (_what, times, record, policy) => {
      expect(pollsOf(record, policy)).toEqual(times);
    },
  );

  it("a poll of a task that has failed at its deadline waits for the end of a pause of the relay, and for a callback attempt that is due within 25 s", () => {
    const policy = aPolicy({ polledAt: endedAt, pausedAt: endedAt + HOUR });
    expect(nextStep(timedOut, policy, endedAt + HOUR)).toBeNull();
    const dueAt = (nextAttemptAt: number) => {
      return { ...timedOut, callback: aCallback({ state: { kind: "due", nextAttemptAt } }) };
    };
    const asked = aPolicy({ polledAt: endedAt });
    expect(wakeAt(dueAt(endedAt + HOUR + 25 * SECOND), asked)).toBe(endedAt + HOUR + 25 * SECOND);
    expect(wakeAt(dueAt(endedAt + HOUR + 26 * SECOND), asked)).toBe(endedAt + HOUR);
  });

  it("an overdue poll of a task that has failed at its deadline waits for the callback attempt that follows an interrupted one", () => {
    const [foundAt, nextAttemptAt] = [endedAt + 2 * HOUR, endedAt + 2 * HOUR + 5 * SECOND];
    const callback = aCallback({ state: { kind: "due", nextAttemptAt } });
    const interrupted = { ...timedOut, version: foundAt, callback };
    const asked = aPolicy({ polledAt: endedAt });
    expect(nextStep(interrupted, asked, foundAt)).toBeNull();
    expect(wakeAt(interrupted, asked)).toBe(nextAttemptAt);
  });

  it.each([
    ["running", newsAnswer(PROCESSING)],
    ["failed", newsAnswer(anUpstreamFailure())],
    ["success without output", newsAnswer(NO_OUTPUT)],
    ["no answer", UNANSWERED],
  ])(
    "a poll that returns %s after its task has failed at the deadline changes nothing of the task",
    (_what, answer) => {
      expectUnchanged(timedOut, latePoll(answer), later, NOTIFYING);
    },
  );
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
    "when %s brings a success after the task has failed at its deadline, the operator gets one notice with the links, and the task stays failed",
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

  it("a success after the deadline of a failed task is stored, and causes no notice, when the operator has configured no URL for events", () => {
    const record = finished(transition(timedOut, aHook(news, signed), POLICY, later));
    expect(record).toMatchObject({ late: { resultAt: later }, notices: [] });
  });

  it.each([
    ["has more links than a result may have", aCompletion({ urls: Array(1_001).fill(VIDEO) })],
    ["does not fit in the record", aCompletion({ metadata: { note: "x".repeat(1_800_000) } })],
  ])(
    "the operator gets a notice without links of a success that comes after the deadline of a failed task and %s",
    (_what, large) => {
      const record = finished(transition(timedOut, aHook(large, signed), NOTIFYING, later));
      expect(record.notices).toEqual(told({ output: null }));
    },
  );

  it.each([
    ["another job", aHook(news, { ...signed, jobId: OTHER_JOB.id }), timedOut, "other_job"],
    ["success without output", aHook(NO_OUTPUT, signed), timedOut, "late_result"],
    [
      "a job that nobody has attached, without a signature,",
      success,
      finish(aProvidedTask(SILENT), { type: "deadline" }, endedAt),
      "late_result",
    ],
  ] as const)(
    "a hook about %s that arrives after its task has failed at the deadline causes no notice to the operator",
    (_what, hook, record, note) => {
      expectUnchanged(record, hook, later, NOTIFYING, note);
    },
  );

  it("the answer to a poll of a task that has failed is ignored when the task was erased, or created again under the same id, meanwhile", () => {
    expectUnchanged(task, latePoll(newsAnswer(news)), later, NOTIFYING);
    expectUnchanged(null, latePoll(newsAnswer(news)), later, NOTIFYING);
  });
});

describe("an unsigned hook that claims success after its task has failed at the deadline", () => {
  const hinted = committed(transition(timedOut, success, POLICY, later));

  it("an unsigned hook that claims success of a failed task causes a poll at once and another two minutes later; only a poll's answer proves the success", () => {
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

  it("a second unsigned hook that claims success of a failed task causes polls only when it comes an hour or more after the first", () => {
    expectUnchanged(hinted, success, later + HOUR - 1, POLICY, "late_result");
    const again = finished(transition(hinted, success, POLICY, later + HOUR));
    expect(again.late?.hintAt).toBe(later + HOUR);
  });
});
