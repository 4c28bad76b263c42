import { describe, expect, it } from "vitest";
import type { TaskEvent } from "../../src/core/events/event.ts";
import {
  isStillRunning,
  type LatestProgress,
  progressCallbackOf,
} from "../../src/core/events/progress-callback.ts";
import type { CallbackEvents } from "../../src/core/record/callback-events.ts";
import type { TaskRecord } from "../../src/core/record/task.ts";
import { transition } from "../../src/core/transition.ts";
import {
  ACCOUNT,
  aCompletion,
  aCreation,
  aFailure,
  aFinishedTask,
  anOpenTask,
  aPolicy,
  aReport,
  ID,
  MODEL,
  NOW,
  NOW_S,
  ORIGIN,
  POLICY,
  PROCESSING,
  SECOND,
  URL_A,
} from "./builders.ts";
import { afterwards } from "./decisions.ts";
import {
  aHook,
  anAttachedTask,
  aPollEnd,
  aProvidedTask,
  newsAnswer,
  OTHER_JOB,
  QUEUED,
  UNANSWERED,
  UPSTREAM,
} from "./upstream-builders.ts";

const ASKED: CallbackEvents = ["completed", "failed", "progress"];
const asking = { callbackTerms: { events: ASKED } };
/** Tasks that want progress callbacks: one whose job is not known to run yet, and one whose job is. */
const waiting = anAttachedTask({}, asking);
const running = anAttachedTask({}, { ...asking, status: "processing" });
const at = (progress: number) => aPollEnd({ kind: "news", news: PROCESSING, progress });
const signed = (progress: number, jobId = "cgt-1") =>
  aHook(PROCESSING, { isSigned: true, jobId, progress });

/** The latest progress callback, which told 30 % and began so long ago. */
const told = (agoMs: number, changes: Partial<LatestProgress> = {}): LatestProgress => ({
  percent: 30,
  startedAt: NOW - agoMs,
  isRunning: false,
  ...changes,
});

/** Returns the percentage of the progress callback that follows from an event; undefined when none follows. */
function percentAfter(
  before: TaskRecord | null,
  event: TaskEvent,
  latest: LatestProgress | null = null,
  policy = POLICY,
): number | null | undefined {
  const after = afterwards(transition(before, event, policy, NOW));
  return progressCallbackOf(before, event, after, latest, policy, NOW)?.percent;
}

it("a progress callback has the documented body, and the URL, origin, account and trace of its task", () => {
  const trace = { parent: "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01" };
  const before = { ...waiting, account: ACCOUNT, trace };
  const after = { ...before, status: "processing" } as const;
  const callback = progressCallbackOf(before, at(40), after, null, POLICY, NOW);
  const body = `{"id":"${ID}","status":"processing","model":"${MODEL}","created_at":${NOW_S},"progress":40}`;
  const place = {
    taskId: ID,
    account: ACCOUNT,
    url: URL_A,
    origin: ORIGIN,
    recordedAt: NOW,
    trace,
  };
  expect(callback).toEqual({ ...place, body, percent: 40, startedAt: NOW });
});

describe("a progress callback is due", () => {
  it.each<[string, TaskRecord | null, TaskEvent, number | null]>([
    ["when the first poll finds the job running", waiting, at(0), 0],
    [
      "when a poll finds it running without a percentage",
      waiting,
      aPollEnd(newsAnswer(PROCESSING)),
      null,
    ],
    ["when an unsigned hook says that it runs", waiting, aHook(PROCESSING, { progress: 9 }), null],
    ["when a signed hook says that it runs", waiting, signed(9), 9],
    ["when an event reports it running", anOpenTask(asking), aReport(PROCESSING), null],
    [
      "when an event reports it running and creates the task",
      null,
      aReport(PROCESSING, aCreation({ callbackEvents: ASKED })),
      null,
    ],
    ["when a poll of a running job states a percentage", running, at(41), 41],
    ["when a signed hook about a running job states one", running, signed(42), 42],
  ])("%s", (_when, before, event, percent) => {
    expect(percentAfter(before, event)).toBe(percent);
  });

  it.each([10 * SECOND, 60 * SECOND])(
    "when the latest one began %i ms ago and told another percentage",
    (agoMs) => {
      expect(percentAfter(running, at(31), told(agoMs))).toBe(31);
    },
  );
});

describe("no progress callback is due", () => {
  const hasUrl = { ...waiting, callbackTerms: {} };
  it.each<[string, TaskRecord, TaskEvent]>([
    ["for a task that does not ask for them", hasUrl, at(40)],
    [
      "for a task without a callback URL",
      anAttachedTask({}, { ...asking, callbackUrl: null }),
      at(40),
    ],
    ["while the job is queued", waiting, aPollEnd({ kind: "news", news: QUEUED, progress: 1 })],
    ["when a running job states no percentage", running, aPollEnd(newsAnswer(PROCESSING))],
    ["when a poll is not answered", running, aPollEnd(UNANSWERED)],
    [
      "when an event reports again that the job runs, and the relay does not know the id of this job",
      aProvidedTask({ ...asking, status: "processing" }),
      aReport(PROCESSING),
    ],
    ["when an unsigned hook states a percentage", running, aHook(PROCESSING, { progress: 7 })],
    ["when a hook is about another job", running, signed(7, OTHER_JOB.id)],
    [
      "when a poll of an earlier job is answered",
      running,
      aPollEnd({ kind: "news", news: PROCESSING, progress: 7 }, { job: OTHER_JOB }),
    ],
    ["when the event ends the task", waiting, aPollEnd(newsAnswer(aCompletion()))],
    ["for a task that has ended", aFinishedTask({ upstream: UPSTREAM }), signed(99)],
  ])("%s", (_when, before, event) => {
    expect(percentAfter(before, event)).toBeUndefined();
  });

  it.each<[string, LatestProgress]>([
    ["the latest one began less than 10 s ago", told(10 * SECOND - 1)],
    ["the latest one is still running", told(60 * SECOND, { isRunning: true })],
    ["the latest one told the same percentage", told(60 * SECOND, { percent: 31 })],
  ])("when %s", (_when, latest) => {
    expect(percentAfter(running, at(31), latest)).toBeUndefined();
  });

  it("when the job is known to run for the second time within 10 s", () => {
    expect(percentAfter(waiting, at(31), told(SECOND))).toBeUndefined();
  });

  it("while the relay is paused", () => {
    const paused = aPolicy({ pausedAt: NOW });
    expect(percentAfter(waiting, at(31), null, paused)).toBeUndefined();
  });
});

it.each<[string, TaskRecord | null, boolean]>([
  ["its task is open", running, true],
  ["its task waits for another job", waiting, true],
  ["its task has ended", aFinishedTask(), false],
  ["its task was erased", null, false],
  ["another task has its id", { ...running, recordedAt: NOW + 1 }, false],
])("a progress callback may still be sent, or not, when %s", (_when, record, may) => {
  expect(isStillRunning(record, { recordedAt: NOW })).toBe(may);
});

describe("a task whose receiver takes only some events", () => {
  const ends = { completed: aCompletion(), failed: aFailure() };
  it.each<[keyof typeof ends, CallbackEvents | undefined, boolean]>([
    ["completed", undefined, true],
    ["failed", undefined, true],
    ["completed", ["completed"], true],
    ["failed", ["completed"], false],
    ["completed", ["failed", "progress"], false],
    ["failed", ["failed", "progress"], true],
    ["completed", ["progress"], false],
  ])("that is %s and tells %j has a callback: %s", (status, events, isTold) => {
    const terms = events === undefined ? {} : { callbackTerms: { events } };
    const ended = afterwards(transition(anOpenTask(terms), aReport(ends[status]), POLICY, NOW));
    expect(ended).toMatchObject({ status, callback: isTold ? { url: URL_A } : null });
  });
});
