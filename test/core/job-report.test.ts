import { describe, expect, it } from "vitest";
import type { TaskEvent } from "../../src/core/events/event.ts";
import { type JobReport, kindOf, reportOf } from "../../src/core/events/job-report.ts";
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
  MODEL,
  NOW,
  POLICY,
  PROCESSING,
  SECOND,
} from "./builders.ts";
import { afterwards } from "./decisions.ts";
import {
  aHook,
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

/**
 * Task whose job, with this task's jitter, is polled at the ages 10, 13 and 16 s, and then each time after a
 * fifth of its age.
 */
const chosen = anAttachedTask({ isReported: true });
/** Age in milliseconds of the job at the first of these polls. */
const PREVIOUS_MS = 10_257;
const at = NOW + 14 * SECOND;
const found = (completedAt: number | null = null) =>
  aPollEnd(newsAnswer(aCompletion({ completedAt })), { askedAt: at });
const signedHook = (news: UpstreamNews) => aHook(news, { isSigned: true });

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

const A_HOOK_CAME: JobReport = { connection: CONNECTION, end: null, hasHook: true };

describe("the report of a job that was chosen at its attachment", () => {
  it.each<[string, TaskRecord, TaskEvent, JobReport]>([
    [
      "as some time between the last two polls, when the last one found the result",
      chosen,
      found(),
      ended(PREVIOUS_MS, 14_000),
    ],
    [
      "as the time that the upstream states",
      chosen,
      found(NOW + 12 * SECOND),
      ended(12_000, 12_000),
    ],
    [
      "as the time of the poll before the one that found the result, when the upstream states an earlier time",
      chosen,
      found(NOW - MINUTE),
      ended(PREVIOUS_MS, PREVIOUS_MS),
    ],
    [
      "as the present time, when the upstream states a time in the future",
      chosen,
      found(NOW + MINUTE),
      ended(14_000, 14_000),
    ],
    [
      "as the arrival of an unsigned hook that reported the end, when a poll then found the result",
      anAttachedTask({ isReported: true, hint: { at: NOW + 12_500, status: "completed" } }),
      found(),
      ended(12_500, 12_500, true),
    ],
    [
      "as some time between attachment and first poll, when an expected hook had postponed this poll, which found the result",
      anAttachedTask({ isReported: true, hookWaitMs: MINUTE, heard: ["queued"], at }),
      found(),
      ended(0, 14_000, true),
    ],
    [
      "as some time between attachment and the poll that found the result, when a hook had postponed this poll",
      anAttachedTask({ isReported: true, heard: ["queued"], at }),
      found(),
      ended(0, 14_000, true),
    ],
    [
      "as some time between the last two polls, when a hook had postponed the first of them and the second found the result",
      anAttachedTask({ isReported: true, heard: ["queued"], at: NOW + PREVIOUS_MS }),
      found(),
      ended(PREVIOUS_MS, 14_000, true),
    ],
    [
      "as the arrival of the signed hook that brought the result",
      anAttachedTask({ isReported: true, hookWaitMs: MINUTE }),
      signedHook(aCompletion()),
      ended(14_000, 14_000, true),
    ],
    [
      "as some time between attachment and first poll when this finds the result, and adds that the expected hook did not come",
      anAttachedTask({ isReported: true, hookWaitMs: MINUTE }),
      found(),
      ended(0, 14_000, false),
    ],
    [
      "as some time between the last two polls, when the last one found a failure",
      chosen,
      aPollEnd(newsAnswer(anUpstreamFailure()), { askedAt: at }),
      ended(PREVIOUS_MS, 14_000),
    ],
  ])(
    "a task's report to its provider connection of how long the job took gives the end of the job %s",
    (_, before, event, report) => {
      expect(reported(before, event)).toEqual(report);
    },
  );

  it.each<[string, TaskRecord, TaskEvent]>([
    ["was not selected for such a report when it was attached", anAttachedTask(), found()],
    ["is still running", chosen, aPollEnd(newsAnswer(PROCESSING), { askedAt: at })],
    [
      "is still running when a hook comes although none was expected",
      anAttachedTask(),
      signedHook(PROCESSING),
    ],
    [
      "was not selected for such a report, and an expected hook brought its result",
      anAttachedTask({ hookWaitMs: MINUTE }),
      signedHook(aCompletion()),
    ],
    [
      "has ended without output",
      anAttachedTask({
        isReported: true,
        answer: { kind: "no_output", since: NOW - 600_000, statusCode: null, word: null },
      }),
      aPollEnd(newsAnswer(NO_OUTPUT)),
    ],
    ["belongs to a task that was canceled", chosen, { type: "cancel" }],
    [
      "belongs to a task whose result came by POST /v1/events, not from a poll or a hook",
      chosen,
      aReport(),
    ],
  ])(
    "a task does not report to the Durable Object of its provider connection how long its job took when the job %s",
    (_, before, event) => {
      expect(reported(before, event)).toBeNull();
    },
  );
});

it("the end of a job that a poll found is the time at which the poll was made, although its answer came later", () => {
  expect(reported(chosen, found(), POLICY, at + 5 * SECOND)).toEqual(ended(PREVIOUS_MS, 14_000));
});

it.each<[string, TaskRecord | null, TaskEvent, TaskRecord | null]>([
  ["a hook about an unknown task", null, aHook(aCompletion()), null],
  ["an event that created and ended a task", null, aHook(aCompletion()), aFinishedTask()],
  [
    "a hook about a task without a provider",
    anOpenTask(),
    signedHook(aCompletion()),
    aFinishedTask(),
  ],
  [
    "a hook about a task without a job",
    aProvidedTask({ tracking: aTracking({ poll: aPlan({ isReported: true }) }) }),
    signedHook(aCompletion()),
    aFinishedTask(),
  ],
  [
    "a hook about a job without a plan of polls",
    aProvidedTask({ upstream: UPSTREAM }),
    signedHook(aCompletion()),
    aFinishedTask(),
  ],
  [
    "a poll without an answer, at which the task reached its deadline,",
    chosen,
    aPollEnd(UNANSWERED),
    aFinishedTask(),
  ],
  [
    "a late hook about a task without a provider",
    aFinishedTask(),
    aHook(aCompletion()),
    aFinishedTask(),
  ],
])(
  "a task reports nothing to the Durable Object of its provider connection about %s",
  (_what, before, event, after) => {
    expect(reportOf(before, event, after, POLICY, at)).toBeNull();
  },
);

describe("a hook that comes where none is expected", () => {
  it.each<[string, TaskRecord, TaskEvent]>([
    ["before a poll has found the result", anAttachedTask({ heard: ["processing"] }), found()],
    ["with the result", anAttachedTask(), signedHook(aCompletion())],
    ["after the end of the task", aFinishedTask({ upstream: UPSTREAM }), aHook(aCompletion())],
  ])(
    "a task reports to the Durable Object of its provider connection that a hook came %s, also when it does not report how long its job took",
    (_, before, event) => {
      expect(reported(before, event)).toEqual(A_HOOK_CAME);
    },
  );

  it("a hook that came to the hook URL of another provider connection than the task's is not reported to the task's connection", () => {
    const finished = aFinishedTask({ upstream: UPSTREAM });
    const hook = aHook(aCompletion(), { connection: "fal" });
    expect(reportOf(finished, hook, finished, POLICY, at)).toBeNull();
  });
});

it("the name of a kind of jobs (endpoint and model) is cut to 200 characters, and half a character at the cut is replaced by U+FFFD", () => {
  const names = [
    kindOf("kling-v2", "text2video"),
    kindOf("x".repeat(4_096), null),
    kindOf(`${"x".repeat(199)}😀`, null),
  ];
  const x = "x".repeat(199);
  expect(names).toEqual(["text2video kling-v2", `${x}x`, `${x}\ufffd`]);
});
