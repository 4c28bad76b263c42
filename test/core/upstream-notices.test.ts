import { describe, expect, it } from "vitest";
import type { PollAnswer } from "../../src/core/events/event.ts";
import { noticeOf } from "../../src/core/record/notice.ts";
import type { OpenTask } from "../../src/core/record/task.ts";
import { nextStep, wakeAt } from "../../src/core/step.ts";
import { transition } from "../../src/core/transition.ts";
import { aCompletion, aPolicy, HOUR, MINUTE, NOW, POLICY, PROCESSING } from "./builders.ts";
import { apply, expectUnchanged, finish } from "./decisions.ts";
import {
  anAnswer,
  anAttachedTask,
  anAttachment,
  aPollEnd,
  newsAnswer,
  NO_OUTPUT,
  OTHER_JOB,
} from "./upstream-builders.ts";

const NOTIFYING = aPolicy({ isOperatorNotified: true });
const UNCLEAR: PollAnswer = { kind: "unclear", statusCode: 404, word: "dreamt" };
const since = NOW + MINUTE;

/** Builds a task whose upstream has given the same answer since a minute after the task's creation. */
function answered(kind: "unclear" | "no_output" | "processing"): OpenTask {
  return anAttachedTask({ answer: anAnswer(kind, since) });
}

function polled(task: OpenTask, answer: PollAnswer, now: number) {
  return apply(task, aPollEnd(answer, { askedAt: now }), now, NOTIFYING);
}

describe("a notice about the answers of an upstream", () => {
  const unclear = { status_code: 404, word: "dreamt" };

  it.each([
    [
      "the answers to its polls are not understood for an hour",
      answered("unclear"),
      UNCLEAR,
      HOUR,
      "upstream.unclear",
      unclear,
    ],
    [
      "a second poll finds success without output",
      answered("no_output"),
      newsAnswer(NO_OUTPUT),
      15_000,
      "upstream.no_output",
      null,
    ],
  ] as const)(
    "the operator gets one notice about a task when %s",
    (_what, task, answer, afterMs, kind, details) => {
      const at = since + afterMs;
      const record = polled(task, answer, at);
      const notices = [noticeOf(kind, at, at, details)];
      expect(record).toMatchObject({ version: task.version, notices, tracking: { told: [kind] } });
      const later = { askedAt: at + MINUTE };
      expectUnchanged(record, aPollEnd(answer, later), at + MINUTE, NOTIFYING);
      const other = apply(record, anAttachment(OTHER_JOB), at, NOTIFYING);
      expect(other).toMatchObject({ notices, tracking: { told: [kind] } });
    },
  );

  it.each([
    ["its answers are not understood for under an hour", answered("unclear"), UNCLEAR, HOUR - 1],
    ["its previous answer was understood", answered("processing"), UNCLEAR, 2 * HOUR],
    [
      "only one poll has found success without output",
      answered("processing"),
      newsAnswer(NO_OUTPUT),
      MINUTE,
    ],
    [
      "it reports progress after success without output",
      answered("no_output"),
      newsAnswer(PROCESSING),
      MINUTE,
    ],
  ] as const)(
    "the operator gets no notice about an upstream when %s",
    (_what, task, answer, afterMs) => {
      const event = aPollEnd(answer, { askedAt: since + afterMs });
      const decision = transition(task, event, NOTIFYING, since + afterMs);
      expect("record" in decision && decision.record).toMatchObject({ notices: [] });
    },
  );

  it("no notice about an upstream whose answers are not understood is stored when the operator has configured no URL for events", () => {
    const at = since + HOUR;
    expectUnchanged(answered("unclear"), aPollEnd(UNCLEAR, { askedAt: at }), at, POLICY);
  });

  it("a notice to the operator about an open task is sent at once and removed once the operator accepts it; until then it stays, even after the task's end", () => {
    const at = since + HOUR;
    const record = polled(answered("unclear"), UNCLEAR, at);
    const policy = { ...NOTIFYING, polledAt: at };
    expect(nextStep(record, policy, at)).toMatchObject({
      kind: "notify",
      notice: { kind: "upstream.unclear", version: at, details: unclear },
    });
    const ended = { type: "notice_ended", kind: "upstream.unclear", version: at } as const;
    const taken = apply(record, { ...ended, isTaken: true }, at, policy);
    expect(taken).toMatchObject({ status: "pending", notices: [] });
    expect(wakeAt(taken, policy)).toBeGreaterThan(at);
    const end = aPollEnd(newsAnswer(aCompletion()));
    expect(finish(record, end, at, policy).notices).toHaveLength(1);
  });
});
