import { describe, expect, it } from "vitest";
import type { TaskEvent } from "../../src/core/events/event.ts";
import { type JobReport, kindOf, reportOf } from "../../src/core/events/job-report.ts";
import type { TaskRecord } from "../../src/core/record/task.ts";
import { transition } from "../../src/core/transition.ts";
import {
  aCompletion,
  afterwards,
  aFinishedTask,
  aReport,
  CONNECTION,
  MINUTE,
  MODEL,
  NOW,
  POLICY,
  PROCESSING,
  SECOND,
} from "./builders.ts";
import {
  aHook,
  anAttachedTask,
  anUpstreamFailure,
  aPollEnd,
  newsAnswer,
  NO_OUTPUT,
  UNANSWERED,
  UPSTREAM,
} from "./upstream-builders.ts";

/** Polled at the ages 10, 13 and 16 s, and then after a fifth of its age, by the jitter of this task. */
const chosen = anAttachedTask({ isReported: true });
const at = NOW + 14 * SECOND;
const found = (completedAt: number | null = null) =>
  aPollEnd(newsAnswer(aCompletion({ completedAt })), { askedAt: at });

function reported(
  before: TaskRecord,
  event: TaskEvent,
  policy = POLICY,
  now = at,
): JobReport | null {
  const after = afterwards(transition(before, event, policy, now));
  return reportOf(before, event, after, policy, now);
}

function ended(minMs: number, maxMs: number, hasHook: boolean | null = null): JobReport {
  return { connection: CONNECTION, end: { kind: MODEL, range: { minMs, maxMs } }, hasHook };
}

const PREVIOUS_MS = 10_257;
const A_HOOK_CAME: JobReport = { connection: CONNECTION, end: null, hasHook: true };

describe("the report of a job that was chosen at its attachment", () => {
  it.each<[string, TaskRecord, TaskEvent, JobReport]>([
    [
      "at a time between the last two polls, when a poll has found the result",
      chosen,
      found(),
      ended(PREVIOUS_MS, 14_000),
    ],
    [
      "at the time that the upstream states",
      chosen,
      found(NOW + 12 * SECOND),
      ended(12_000, 12_000),
    ],
    [
      "not before the last poll, whatever time the upstream states",
      chosen,
      found(NOW - MINUTE),
      ended(PREVIOUS_MS, PREVIOUS_MS),
    ],
    [
      "not in the future, whatever time the upstream states",
      chosen,
      found(NOW + MINUTE),
      ended(14_000, 14_000),
    ],
    [
      "at the time of a hook that claimed the end without a proof",
      anAttachedTask({ isReported: true, hint: { at: NOW + 12_500, status: "completed" } }),
      found(),
      ended(12_500, 12_500, true),
    ],
    [
      "after its attachment, when a hook had put off the polls and the first of them found the result",
      anAttachedTask({ isReported: true, hookWaitMs: MINUTE, heard: ["queued"], at }),
      found(),
      ended(0, 14_000, true),
    ],
    [
      "when its signed hook came",
      anAttachedTask({ isReported: true, hookWaitMs: MINUTE }),
      aHook(aCompletion(), { isSigned: true }),
      ended(14_000, 14_000, true),
    ],
    [
      "as one without a hook, where a hook was expected",
      anAttachedTask({ isReported: true, hookWaitMs: MINUTE }),
      found(),
      ended(0, 14_000, false),
    ],
    [
      "also when the upstream reports a failure",
      chosen,
      aPollEnd(newsAnswer(anUpstreamFailure()), { askedAt: at }),
      ended(PREVIOUS_MS, 14_000),
    ],
  ])("a job is reported to have ended %s", (_, before, event, report) => {
    expect(reported(before, event)).toEqual(report);
  });

  it.each<[string, TaskRecord, TaskEvent]>([
    ["was not chosen", anAttachedTask(), found()],
    ["is still running", chosen, aPollEnd(newsAnswer(PROCESSING), { askedAt: at })],
    ["has reached its deadline without an answer", chosen, aPollEnd(UNANSWERED)],
    [
      "has ended without output",
      anAttachedTask({
        isReported: true,
        answer: { kind: "no_output", since: NOW - 600_000, statusCode: null, word: null },
      }),
      aPollEnd(newsAnswer(NO_OUTPUT)),
    ],
    ["is canceled", chosen, { type: "cancel" }],
    ["ends by an event of the operator", chosen, aReport()],
  ])("a job that %s is not reported", (_, before, event) => {
    expect(reported(before, event)).toBeNull();
  });
});

describe("a hook that comes where none is expected", () => {
  it.each<[string, TaskRecord, TaskEvent]>([
    ["before a poll has found the result", anAttachedTask({ heard: ["processing"] }), found()],
    ["with the result", anAttachedTask(), aHook(aCompletion(), { isSigned: true })],
    ["after the end of the task", aFinishedTask({ upstream: UPSTREAM }), aHook(aCompletion())],
  ])("a hook that comes %s is reported, although the job was not chosen", (_, before, event) => {
    expect(reported(before, event)).toEqual(A_HOOK_CAME);
  });

  it("a hook of another connection than that of the finished task is not reported", () => {
    const finished = aFinishedTask({ upstream: UPSTREAM });
    const hook = aHook(aCompletion(), { connection: "fal" });
    expect(reportOf(finished, hook, finished, POLICY, at)).toBeNull();
  });
});

it("the name of a kind has at most 200 characters, also when a model has 4 KB or is cut within a character", () => {
  const names = [
    kindOf("kling-v2", "text2video"),
    kindOf("x".repeat(4_096), null),
    kindOf(`${"x".repeat(199)}😀`, null),
  ];
  const x = "x".repeat(199);
  expect(names).toEqual(["text2video kling-v2", `${x}x`, `${x}\ufffd`]);
});
