import { expect, it } from "vitest";
import type { TaskEvent } from "../../src/core/events/event.ts";
import { rowOf } from "../../src/core/views/index-row.ts";
import {
  aCompletion,
  aFailure,
  anOpenTask,
  aPolicy,
  aReport,
  HOUR,
  MINUTE,
  NOW,
  POLICY,
  SECOND,
} from "./builders.ts";
import { finish } from "./decisions.ts";
import {
  aHook,
  anAttachedTask,
  anUpstreamFailure,
  aPollEnd,
  newsAnswer,
} from "./upstream-builders.ts";

const END = NOW + HOUR;
const LATE = aCompletion({ completedAt: END - 2 * SECOND });
const AHEAD = aCompletion({ completedAt: END + MINUTE });
const signed = { isSigned: true };
const attached = anAttachedTask({}, { deadlineAt: END });

it.each<[string, string | null, number | null, TaskEvent]>([
  [
    "whose result was found by a poll 2 s after the job ended",
    "poll",
    2 * SECOND,
    aPollEnd(newsAnswer(LATE)),
  ],
  ["whose result came in a hook 2 s after the job ended", "hook", 2 * SECOND, aHook(LATE, signed)],
  [
    "whose result came by POST /v1/events 2 s after the job ended",
    "report",
    2 * SECOND,
    aReport(LATE),
  ],
  ["whose job ended in the future by the upstream's clock", "hook", 0, aHook(AHEAD, signed)],
  [
    "whose result was found by a poll without the time of the job's end",
    "poll",
    null,
    aPollEnd(newsAnswer(aCompletion())),
  ],
  [
    "that failed because a poll found a result with too many URLs",
    "poll",
    2 * SECOND,
    aPollEnd(newsAnswer({ ...LATE, urls: Array.from({ length: 1_001 }, () => "https://a.b") })),
  ],
  ["whose failure was found by a poll", "poll", null, aPollEnd(newsAnswer(anUpstreamFailure()))],
  ["whose failure came by POST /v1/events", "report", null, aReport(aFailure())],
  ["that failed at its deadline", null, null, { type: "deadline" }],
  ["that was cancelled", null, null, { type: "cancel", isForced: false }],
])(
  "a task's row in the index states what brought the result (a poll, a hook, POST /v1/events or none of these) and how long after the job's end: for a task %s",
  (_what, foundBy, foundLateMs, event) => {
    const task = event.type === "deadline" ? anOpenTask({ deadlineAt: END }) : attached;
    expect(rowOf(finish(task, event, END), POLICY)).toMatchObject({ foundBy, foundLateMs });
  },
);

it.each([
  [
    "whose attached job was polled and had an unsigned hook stores all three times",
    anAttachedTask({ hint: { at: NOW + 1, status: "completed" } }),
    NOW + 2,
    { attachedAt: NOW, hookAt: NOW + 1, askedAt: NOW + 2 },
  ],
  [
    "whose attached job had neither a poll nor a hook stores null as the times of poll and hook",
    anAttachedTask(),
    0,
    { attachedAt: NOW, hookAt: null, askedAt: null },
  ],
  ["without a job stores none of these times", anOpenTask(), 0, null],
])(
  "an ended task's record states when its job was attached, when its latest unsigned hook came and when it was last polled: a task %s",
  (_what, task, askedAt, times) => {
    const record = finish(task, aReport(), END, aPolicy({ askedAt }));
    expect(record.upstreamTimes).toEqual(times);
  },
);
