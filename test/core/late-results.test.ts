import { describe, expect, it } from "vitest";
import type { PollAnswer } from "../../src/core/events/event.ts";
import type { JsonObject } from "../../src/core/json.ts";
import { noticeOf } from "../../src/core/record/operator-notice.ts";
import type { TerminalTask } from "../../src/core/record/task.ts";
import { TIMEOUT_CODE } from "../../src/core/plans/late-result.ts";
import { lastLatePollAt } from "../../src/core/polls/late-poll.ts";
import { nextStep, wakeAt } from "../../src/core/step.ts";
import { transition } from "../../src/core/transition.ts";
import {
  aCallback,
  aCompletion,
  aFailure,
  anOpenTask,
  aPolicy,
  aReport,
  CONNECTION,
  DAY,
  finished,
  HOUR,
  ID,
  LIMITS,
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
  aProvidedRegistration,
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
const timedOutWithoutJob = finish(aProvidedTask(SILENT), { type: "deadline" }, endedAt);
const timedOutWithoutProvider = finish(anOpenTask(SILENT), { type: "deadline" }, endedAt);
const later = endedAt + 2 * HOUR;
const success = aHook(aCompletion());
const signed = { isSigned: true };
const output = { urls: [VIDEO], metadata: { seed: 1 } };
const news = aCompletion(output);

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

/** Returns the notices to the operator after a signed hook has brought the success of the task's job. */
function noticesOf(record: TerminalTask) {
  return finished(transition(record, aHook(news, signed), NOTIFYING, later)).notices;
}

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
    expect(wakeAt(timedOut, POLICY)).toBe(endedAt + HOUR);
    const policy = aPolicy({ polledAt: endedAt });
    expect(nextStep(timedOut, policy, endedAt + HOUR)).toEqual({
      kind: "poll",
      poll: {
        taskId: ID,
        connection: CONNECTION,
        job: JOB,
        createdAt: NOW,
        isUrgent: false,
        customerKey: null,
        submitted: null,
        purpose: "late_result",
      },
    });
  });

  it.each([
    ["has completed", [], finish(task, aHook(aCompletion(), signed), endedAt), POLICY],
    ["was canceled", [], finish(task, { type: "cancel", isForced: false }, endedAt), POLICY],
    [
      "has failed because the upstream reported a timeout of its own",
      [],
      finish(
        task,
        aHook(anUpstreamFailure({ failure: { category: "timeout", retryable: true } }), signed),
        endedAt,
      ),
      POLICY,
    ],
    ["has no provider", [], timedOutWithoutProvider, POLICY],
    ["has no job", [], timedOutWithoutJob, POLICY],
    ["has a provider without an API key", [], timedOut, NO_KEY],
    [
      "fails at its deadline a day before its provider forgets the job",
      [HOUR],
      timedOut,
      forgetful(endedAt + DAY - NOW),
    ],
    ["is erased a day after its end", [HOUR], { ...timedOut, expiresAt: endedAt + DAY }, POLICY],
    [
      "has failed although its job succeeded later, which is known by now,",
      [],
      toldOf(timedOut),
      POLICY,
    ],
    [
      "was reported by the operator as failed, with the error code of a missed deadline,",
      [],
      finish(task, aReport(aFailure(TIMEOUT_CODE)), endedAt),
      POLICY,
    ],
  ])(
    "the job of an ended task is polled only if the task failed at its deadline and a success can still be found: for a task that %s, polls come %j ms after its end",
    (_what, times, record, policy) => {
      expect(pollsOf(record, policy)).toEqual(times);
    },
  );

  it.each([
    ["failed at its deadline", timedOut, endedAt + DAY],
    ["failed at its deadline without a job", timedOutWithoutJob, null],
    ["failed at its deadline without a provider", timedOutWithoutProvider, null],
    ["has completed", finish(task, aHook(aCompletion(), signed), endedAt), null],
  ])(
    "lastLatePollAt returns the time of the last planned poll of an ended task's job, and null when none is planned: for a task that %s",
    (_what, record, at) => {
      expect(lastLatePollAt(record, POLICY)).toBe(at);
    },
  );

  it.each([
    ["none when it wakes to erase the task", timedOut.expiresAt, []],
    ["one when it wakes a day after the deadline", endedAt + DAY, ["poll"]],
  ])(
    "when a task's Durable Object wakes only long after the task failed at its deadline, it makes at most one poll and does not make up for earlier ones: %s",
    (_what, scheduledAt, polls) => {
      const policy = aPolicy({ polledAt: 0, indexTriedAt: scheduledAt - 1 });
      const asked = [policy, { ...policy, polledAt: scheduledAt }]
        .map((each) => nextStep(timedOut, each, scheduledAt)?.kind)
        .filter((kind) => kind === "poll");
      expect(asked).toEqual(polls);
    },
  );

  it("after a task has failed at its deadline, a due poll of its job waits while the relay is paused, and waits for a callback attempt that is due within 24 s", () => {
    const policy = aPolicy({ polledAt: endedAt, pausedAt: endedAt + HOUR });
    expect(nextStep(timedOut, policy, endedAt + HOUR)).toBeNull();
    const dueAt = (nextAttemptAt: number) => {
      return { ...timedOut, callback: aCallback({ state: { kind: "due", nextAttemptAt } }) };
    };
    const asked = aPolicy({ polledAt: endedAt });
    expect(wakeAt(dueAt(endedAt + HOUR + 24 * SECOND), asked)).toBe(endedAt + HOUR + 24 * SECOND);
    expect(wakeAt(dueAt(endedAt + HOUR + 25 * SECOND), asked)).toBe(endedAt + HOUR);
  });

  it("after a task has failed at its deadline, a poll of its job that a pause has delayed waits for a callback attempt that is due within 5 s after the pause's next check", () => {
    const pausedAt = endedAt + 2 * HOUR;
    const paused = aPolicy({ polledAt: endedAt, pausedAt });
    const checkedAt = wakeAt(timedOut, paused);
    expect(checkedAt).toBeGreaterThan(pausedAt);
    const nextAttemptAt = checkedAt + 5 * SECOND;
    const waiting = { ...timedOut, callback: aCallback({ state: { kind: "due", nextAttemptAt } }) };
    expect(wakeAt(waiting, paused)).toBe(nextAttemptAt);
  });

  it("after a task has failed at its deadline, an overdue poll of its job waits for the callback attempt that comes 5 s after an interrupted one", () => {
    const [foundAt, nextAttemptAt] = [endedAt + 2 * HOUR, endedAt + 2 * HOUR + 5 * SECOND];
    const callback = aCallback({ state: { kind: "due", nextAttemptAt } });
    const interrupted = { ...timedOut, callback };
    const asked = aPolicy({ polledAt: endedAt, readyAt: foundAt });
    expect(nextStep(interrupted, asked, foundAt)).toBeNull();
    expect(wakeAt(interrupted, asked)).toBe(nextAttemptAt);
  });

  it.each([
    ["news that the job runs", newsAnswer(PROCESSING)],
    ["a failure", newsAnswer(anUpstreamFailure())],
    ["a success without output", newsAnswer(NO_OUTPUT)],
    ["no answer", UNANSWERED],
  ])(
    "when the job of a task that has failed at its deadline is polled and the poll brings %s, nothing of the task changes",
    (_what, answer) => {
      expectUnchanged(timedOut, latePoll(answer), later, NOTIFYING);
    },
  );
});

describe("the success of a job after its task has failed at the deadline", () => {
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
    "when %s reports success of a job after its task has failed at the deadline, the operator is sent one event with the links to the outputs, and the task stays failed",
    (_what, event, policy, counts) => {
      const decision = transition(timedOut, event, policy, later);
      expect(decision).toMatchObject({ note: "late_result" });
      const record = finished(decision);
      expect(record).toEqual({ ...toldOf(timedOut), counts, notices: told({ output }) });
      const again = event.type === "hook" ? ("late_result" as const) : undefined;
      expectUnchanged(record, event, later + HOUR, policy, again);
      expect(nextStep(record, policy, later)).toMatchObject({
        kind: "sendNotice",
        notice: { kind: "task.late_result", version: later, details: { output } },
      });
    },
  );

  it.each([
    ["has configured no URL for events", POLICY],
    [
      "has excluded task.late_result from the events",
      aPolicy({ isOperatorNotified: true, unwantedNotices: new Set(["task.late_result"]) }),
    ],
  ])(
    "when a job succeeds after its task failed at the deadline and the operator %s, the time of the success is stored, but no event is sent to the operator",
    (_what, policy) => {
      const record = finished(transition(timedOut, aHook(news, signed), policy, later));
      expect(record).toMatchObject({ late: { resultAt: later }, notices: [] });
    },
  );

  it("the event to the operator about a success after the deadline has the output parameters that the provider states and, where it states none, the submitted ones", () => {
    const { registration } = aProvidedRegistration({ parameters: { seed: 7, duration: 5 } });
    const submitted = { ...output, metadata: { duration: 5, seed: 1 } };
    expect(noticesOf({ ...timedOut, registration })).toMatchObject([
      { details: { output: submitted } },
    ]);
    expect(noticesOf({ ...timedOut, registration: null })).toMatchObject([{ details: { output } }]);
  });

  it.each([
    ["has more links than a result may have", aCompletion({ urls: Array(1_001).fill(VIDEO) })],
    ["does not fit in the record", aCompletion({ metadata: { note: "x".repeat(1_800_000) } })],
  ])(
    "when a job succeeds after its task failed at the deadline and the result %s, the event to the operator about this success has no links to outputs",
    (_what, large) => {
      const record = finished(transition(timedOut, aHook(large, signed), NOTIFYING, later));
      expect(record.notices).toEqual(told({ output: null }));
    },
  );

  it.each([
    ["another job", aHook(news, { ...signed, jobId: OTHER_JOB.id }), timedOut, "other_job"],
    ["success without output", aHook(NO_OUTPUT, signed), timedOut, "late_result"],
    [
      "a job that was never attached, without a signature,",
      success,
      timedOutWithoutJob,
      "late_result",
    ],
  ] as const)(
    "when a hook about %s arrives after the task has failed at its deadline, no event is sent to the operator",
    (_what, hook, record, note) => {
      expectUnchanged(record, hook, later, NOTIFYING, note);
    },
  );

  it("after a task has failed at its deadline, the answer to a poll of its job is ignored when the task was erased, or created again under the same id, during the poll", () => {
    expectUnchanged(task, latePoll(newsAnswer(news)), later, NOTIFYING);
    expectUnchanged(timedOutWithoutProvider, latePoll(newsAnswer(news)), later, NOTIFYING);
    expectUnchanged(null, latePoll(newsAnswer(news)), later, NOTIFYING);
  });
});
