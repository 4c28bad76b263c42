import { describe, expect, it } from "vitest";
import type { TaskEvent } from "../../src/core/events/event.ts";
import { type HookReport, hookReportOf } from "../../src/core/events/hook-report.ts";
import type { TaskRecord } from "../../src/core/record/task.ts";
import type { UpstreamNews } from "../../src/core/record/upstream.ts";
import { transition } from "../../src/core/transition.ts";
import {
  aCompletion,
  aFinishedTask,
  anOpenTask,
  aReport,
  CONNECTION,
  MINUTE,
  NOW,
  POLICY,
  PROCESSING,
  SECOND,
} from "./builders.ts";
import { afterwards } from "./decisions.ts";
import {
  aHook,
  anAnswer,
  anAttachedTask,
  anUpstreamFailure,
  aPlan,
  aPollEnd,
  aProvidedTask,
  aTracking,
  newsAnswer,
  NO_OUTPUT,
  UNANSWERED,
  UPSTREAM,
} from "./upstream-builders.ts";

/** Task whose job is to be reported by a hook. */
const expecting = anAttachedTask({ hookWaitMs: MINUTE });
const found = aPollEnd(newsAnswer(aCompletion()));
const signedHook = (news: UpstreamNews) => aHook(news, { isSigned: true });
const CAME: HookReport = { connection: CONNECTION, hasCome: true };
const MISSING: HookReport = { connection: CONNECTION, hasCome: false };

function reported(before: TaskRecord, event: TaskEvent): HookReport | null {
  const after = afterwards(transition(before, event, POLICY, NOW + 14 * SECOND));
  return hookReportOf(before, event, after);
}

describe("a task's report on whether a hook about its job has come", () => {
  it.each<[string, TaskRecord, TaskEvent]>([
    ["a poll found the result", expecting, found],
    ["a poll found a failure", expecting, aPollEnd(newsAnswer(anUpstreamFailure()))],
    [
      "a poll found success without output for ten minutes",
      anAttachedTask({ hookWaitMs: 0, answer: anAnswer("no_output", NOW - 10 * MINUTE) }),
      aPollEnd(newsAnswer(NO_OUTPUT)),
    ],
  ])(
    "when %s and no hook had come before, a task reports to its provider connection that the expected hook about its job is missing",
    (_, before, event) => {
      expect(reported(before, event)).toEqual(MISSING);
    },
  );

  it.each<[string, TaskRecord, TaskEvent]>([
    ["the expected hook has ended the task", expecting, signedHook(aCompletion())],
    [
      "a poll found the result after a hook had said that the job runs",
      anAttachedTask({ hookWaitMs: MINUTE, hasHeardRunning: true }),
      found,
    ],
    [
      "a poll found the result that an unsigned hook had claimed before",
      anAttachedTask({ hookWaitMs: MINUTE, hint: { at: NOW, status: "completed" } }),
      found,
    ],
    [
      "a hook that was not expected has ended the task",
      anAttachedTask(),
      signedHook(aCompletion()),
    ],
    [
      "a poll found the result after a hook that was not expected",
      anAttachedTask({ hasHeardRunning: true }),
      found,
    ],
    [
      "a hook comes after the end of the task",
      aFinishedTask({ upstream: UPSTREAM }),
      aHook(aCompletion()),
    ],
  ])(
    "when %s, a task reports to its provider connection that hooks of the upstream arrive",
    (_, before, event) => {
      expect(reported(before, event)).toEqual(CAME);
    },
  );

  it.each<[string, TaskRecord, TaskEvent]>([
    ["no hook was expected and none came", anAttachedTask(), found],
    ["its job is still running", expecting, aPollEnd(newsAnswer(PROCESSING))],
    ["a hook says that its job is still running", expecting, signedHook(PROCESSING)],
    ["the task is canceled", expecting, { type: "cancel", isForced: false }],
    ["the task's result came by POST /v1/events, not from a poll or a hook", expecting, aReport()],
  ])(
    "when %s, a task does not report to its provider connection whether hooks of the upstream arrive",
    (_, before, event) => {
      expect(reported(before, event)).toBeNull();
    },
  );

  it.each<[string, TaskRecord | null, TaskEvent, TaskRecord | null]>([
    ["a hook about an unknown task", null, aHook(aCompletion()), null],
    ["an event that created and ended a task", null, aHook(aCompletion()), aFinishedTask()],
    ["a task without a provider", anOpenTask(), signedHook(aCompletion()), aFinishedTask()],
    [
      "a task without a job",
      aProvidedTask({ tracking: aTracking({ poll: aPlan({ hookWaitMs: MINUTE }) }) }),
      signedHook(aCompletion()),
      aFinishedTask(),
    ],
    [
      "a job without a plan of polls",
      aProvidedTask({ upstream: UPSTREAM }),
      signedHook(aCompletion()),
      aFinishedTask(),
    ],
    [
      "a poll without an answer, at which the task reached its deadline",
      expecting,
      aPollEnd(UNANSWERED),
      aFinishedTask(),
    ],
    [
      "a poll that finds the job still running at the deadline of the task",
      expecting,
      aPollEnd(newsAnswer(PROCESSING)),
      aFinishedTask({ upstream: UPSTREAM }),
    ],
    [
      "a poll that finds the job still queued at the deadline of the task",
      expecting,
      aPollEnd(newsAnswer({ status: "queued" })),
      aFinishedTask({ upstream: UPSTREAM }),
    ],
    [
      "an event that erased its task",
      aFinishedTask({ upstream: UPSTREAM }),
      { type: "erase" },
      null,
    ],
    ["a hook whose task is erased by now", expecting, aHook(aCompletion()), null],
    [
      "a hook about a task without a provider that has ended",
      aFinishedTask(),
      aHook(aCompletion()),
      aFinishedTask(),
    ],
    [
      "a hook of another connection than the task's, after the task has ended",
      aFinishedTask({ upstream: UPSTREAM }),
      aHook(aCompletion(), { connection: "fal" }),
      aFinishedTask({ upstream: UPSTREAM }),
    ],
  ])(
    "an event does not make a task report to a provider connection whether the upstream's hooks arrive: %s",
    (_, before, event, after) => {
      expect(hookReportOf(before, event, after)).toBeNull();
    },
  );
});
