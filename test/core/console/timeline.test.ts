import { describe, expect, it } from "vitest";
import { html } from "hono/html";
import { nextStepOf } from "../../../src/console/task/next-step.ts";
import type { Task as TaskJson } from "../../../src/api/shapes/task-shape.ts";
import { Story } from "../../../src/console/task/story.tsx";
import { creditDetails, timelineOf } from "../../../src/console/task/timeline.ts";
import type { TerminalTask } from "../../../src/core/record/task.ts";
import { taskFacts } from "../../../src/core/views/task-facts.ts";
import { taskView } from "../../../src/core/views/task-view.ts";
import { TimelineDrawing } from "../../../src/console/task/timeline-drawing.tsx";
import {
  aCallback,
  aFinishedTask,
  anAttempt,
  anOpenTask,
  aPolicy,
  DAY,
  HOUR,
  MINUTE,
  NOW,
  NOW_S,
  POLICY,
  runningSince,
  SECOND,
  URL_A,
} from "../builders.ts";
import { aCancelingTask, cancelStateNamed } from "../cancel-builders.ts";
import { aRefundingTask, aReleasingTask, credits } from "../credit-builders.ts";
import {
  aQueued,
  aSending,
  anAccepted,
  anUnknown,
  FAILS_AT,
  SENDING_ENDS,
} from "../stored-submissions.ts";
import { UPSTREAM } from "../upstream-builders.ts";

const REGISTERED = NOW - 2 * MINUTE;
const SECOND_DUE = NOW + 3 * MINUTE;
const SERIES = { number: 1, started: 2, ordered: null, keyName: null };

const refused = (number: number, dueAt: number, lateMs = 0, series = 1) =>
  anAttempt({
    number,
    series,
    dueAt,
    startedAt: dueAt + lateMs,
    durationMs: 10,
    outcome: "rejected",
    statusCode: 503,
  });

function failing(changes: Parameters<typeof aCallback>[0], task: Partial<TerminalTask> = {}) {
  const attempts = [refused(1, NOW, 4), refused(2, SECOND_DUE, 5)];
  const callback = aCallback({
    attempts,
    lastNumber: 2,
    series: SERIES,
    deliveredAt: null,
    ...changes,
  });
  return aFinishedTask({ createdAt: REGISTERED, callback, ...task });
}

/** Builds a submission whose caller did not wait, and which the upstream has refused. */
function aRefused() {
  const { state, ...call } = anUnknown(400, { isCall: true });
  return { ...call, state: { ...state, refusal: "final" } } as const;
}

const factsOf = (task: TerminalTask, policy = POLICY) => taskFacts(task, "operator", policy);
const drawn = (task: TerminalTask, now: number, paid: number | null = null) =>
  timelineOf(factsOf(task), { credits: paid, released: 0 }, now);

describe("the timeline of a task", () => {
  const waiting = failing({ state: { kind: "due", nextAttemptAt: NOW + 13 * MINUTE } });

  it("in the console, a task's timeline shows planned and real start of each callback attempt, the waits between attempts, and the next attempt", () => {
    const { titles, bars, numbers, waits, nextX } = drawn(waiting, NOW + 4 * MINUTE);
    expect(titles.map(({ text }) => text).toReversed()).toEqual(["Upstream", "Callback"]);
    expect(bars).toMatchObject([
      { number: 1, outcome: "rejected" },
      { number: 2, outcome: "rejected" },
    ]);
    expect(numbers.map(({ text }) => text).toReversed()).toEqual(["#1", "#2"]);
    expect(waits.map(({ isAhead }) => isAhead)).toEqual([false, true]);
    for (const { plannedX, x } of bars) expect(plannedX).toBeLessThanOrEqual(x);
    // The axis is linear: the mark lies at 3 of 13 minutes.
    const [from = 0, to = 0] = bars.map(({ x }) => x);
    expect((to - from) / (Number(nextX) - from)).toBeCloseTo(3 / 13, 2);
  });

  it("in the console, the timeline of a refunded task marks the credits charged at its registration, and the refund before its first callback attempt", () => {
    const refunded = credits({ kind: "refunded", at: NOW + 2 });
    const { marks, bars } = drawn(
      failing({ state: { kind: "failed" } }, { credits: refunded }),
      NOW + HOUR,
      40,
    );
    expect(marks.map(({ name }) => name)).toEqual(["registered", "result", "refunded"]);
    expect(marks.map(({ fullName }) => fullName)).toEqual([
      "registered, charged 40",
      "result",
      "refunded 40",
    ]);
    expect(marks.at(-1)?.x).toBeLessThanOrEqual(bars[0]?.x ?? 0);
  });

  it("in the console, the timeline of a task that costs less than was charged marks when the rest of the credits was given back", () => {
    const final = { credits: 13, basis: "usage" } as const;
    const task = aReleasingTask({
      credits: credits({ kind: "released", at: NOW + SECOND }, { final }),
    });
    const details = creditDetails({ credits: { amount: 40, final: 13, state: "released" } });
    const { marks } = timelineOf(factsOf(task), details, NOW + HOUR);
    expect(marks.map(({ fullName }) => fullName)).toEqual([
      "registered, charged 40",
      "result",
      "released 27",
    ]);
  });

  it("in the console, a task's timeline marks the attachment of its job, a hook and a poll, and draws a long gap shortened", () => {
    const upstreamTimes = { attachedAt: REGISTERED + 400, hookAt: NOW - 300, askedAt: NOW - 200 };
    const { marks, breaks } = drawn(
      failing({ state: { kind: "failed" } }, { upstreamTimes }),
      NOW + HOUR,
    );
    expect(marks.map(({ name }) => name)).toEqual([
      "registered",
      "attached",
      "hook",
      "asked",
      "result",
    ]);
    expect(breaks).toHaveLength(1);
  });

  it.each([
    ["whose call waits to be sent", aQueued(), []],
    ["that the upstream has not answered", aSending(), ["submitted"]],
    ["that the upstream has accepted", anAccepted(NOW + 900), ["submitted", "accepted 200"]],
    ["that a hook has shown to be accepted", anAccepted(null), ["submitted", "attached"]],
    [
      "whose answer leaves the outcome unknown",
      anUnknown(502),
      ["submitted", "answered 502, outcome unknown"],
    ],
    ["whose outcome is unknown without an answer", anUnknown(null), ["submitted"]],
    ["that was refused after its caller had the task", aRefused(), ["submitted", "refused 400"]],
  ])(
    "in the console, a task's timeline marks its submission, the upstream's answer or, for the operator, the attachment of the job by a hook: for a submission %s",
    (_, submission, names) => {
      const isAttached = submission.state.kind === "accepted";
      const upstreamTimes = isAttached
        ? { attachedAt: NOW + 900, hookAt: null, askedAt: null }
        : null;
      const task = aFinishedTask({ submission, upstreamTimes, finishedAt: NOW + MINUTE });
      for (const reader of ["operator", "account"] as const) {
        const facts = taskFacts(task, reader, POLICY);
        const { marks } = timelineOf(facts, { credits: null, released: 0 }, NOW + HOUR);
        const seen = reader === "operator" ? names : names.filter((name) => name !== "attached");
        expect(marks.map(({ fullName }) => fullName)).toEqual(["registered", ...seen, "result"]);
      }
    },
  );

  it("in the console, a task's timeline shows a redelivery as a section after the automatic callback attempts, with the time between the two shortened", () => {
    const attempts = [refused(1, NOW), refused(2, NOW + 2 * DAY, 0, 2)];
    const { segments, breaks } = drawn(
      failing({ attempts, state: { kind: "failed" } }),
      NOW + 3 * DAY,
    );
    const titles = ["Upstream", "Callback", "Redelivery 1"];
    expect(segments.map(({ title }) => title)).toEqual(titles);
    expect(breaks).toHaveLength(1);
  });

  it("in the console, the bar of a callback attempt in a task's timeline becomes longer while the attempt runs", () => {
    const task = failing({ attempts: [], lastNumber: 1, state: runningSince(NOW) });
    const widthAt = (ms: number) => drawn(task, NOW + ms).bars[0]?.width ?? 0;
    expect(drawn(task, NOW + SECOND).bars).toMatchObject([{ isRunning: true, outcome: null }]);
    expect(widthAt(SECOND)).toBeGreaterThan(widthAt(100));
  });

  /** End of the last of twenty attempts, which starts 19 hours and 19 ms after NOW. */
  const END_OF_LAST = NOW + 19 * HOUR + 19 + 10;

  it.each([0, 1, 250, SECOND, HOUR, 40 * DAY])(
    "%i ms after a task's last callback attempt, sections and bars of its timeline lie within the drawing, and bars are in order of time",
    (ms) => {
      const attempts = Array.from({ length: 20 }, (_, at) =>
        refused(at + 1, NOW + at * HOUR, at, at + 1),
      );
      const { bars, segments } = drawn(
        failing({ attempts, state: { kind: "failed" } }),
        END_OF_LAST + ms,
      );
      const places = [
        ...segments.map(({ from }) => from),
        ...bars.map(({ x, width }) => x + width),
      ];
      for (const place of places) {
        expect(place).toBeGreaterThanOrEqual(0);
        expect(place).toBeLessThanOrEqual(1000);
      }
      expect(bars.map(({ x }) => x)).toEqual(bars.map(({ x }) => x).toSorted((a, b) => a - b));
    },
  );
});

const DUE = { state: { kind: "due", nextAttemptAt: NOW + 13 * MINUTE } } as const;
const paused = aPolicy({ pausedAt: NOW });

describe("the next step of a task", () => {
  it.each([
    [
      "a planned attempt",
      failing(DUE),
      POLICY,
      12 * MINUTE,
      "Next: attempt 3 of 3",
      13 * MINUTE,
      59,
    ],
    [
      "an attempt that is due now",
      failing(DUE),
      POLICY,
      13 * MINUTE,
      "Starts now: attempt 3 of 3.",
      null,
      1,
    ],
    [
      "an attempt that is overdue",
      failing(DUE),
      POLICY,
      13 * MINUTE + 4 * SECOND,
      "Overdue by 4 s because the alarm of this task has not fired yet: attempt 3 of 3. A few seconds are usual when the platform moves objects.",
      null,
      1,
    ],
    [
      "an attempt that a pause holds back",
      failing(DUE),
      paused,
      13 * MINUTE + 4 * SECOND,
      "The next, attempt 3 of 3, was due 4 s ago and waits because callbacks are paused (PAUSED).",
      null,
      15,
    ],
    [
      "a callback that waits for a refund",
      aRefundingTask(),
      POLICY,
      SECOND,
      "The callback waits for the refund of 40 credits, try 1",
      null,
      2,
    ],
    [
      "a release of credits after the callback",
      aReleasingTask(),
      POLICY,
      SECOND,
      "Gives back 27 of 40 credits, try 1",
      null,
      2,
    ],
    [
      "a release of credits of a task without a callback URL",
      aReleasingTask({ callback: null }),
      POLICY,
      SECOND,
      "Gives back 27 of 40 credits, try 1",
      null,
      2,
    ],
    [
      "a delivered callback",
      aFinishedTask(),
      POLICY,
      HOUR,
      "Delivered. Nothing is left to do.",
      null,
      3600,
    ],
    [
      "a delivered callback about a failure",
      aFinishedTask({ status: "failed", body: JSON.stringify({ status: "failed" }) }),
      POLICY,
      HOUR,
      "The failure was delivered. Nothing is left to do.",
      null,
      3600,
    ],
    [
      "a failed callback",
      failing({ state: { kind: "failed" } }),
      POLICY,
      HOUR,
      "No further attempt is planned after 2 attempts.",
      null,
      3600,
    ],
    [
      "a task without a callback URL",
      aFinishedTask({ callback: null }),
      POLICY,
      HOUR,
      "This task has no callback URL.",
      null,
      3600,
    ],
  ] as const)(
    "for %s, the console says what the task does next (nothing, perhaps), why, and when",
    (_, task, policy, afterMs, text, atMs, refreshS) => {
      const view: TaskJson = JSON.parse(taskView(task, "operator", null, policy));
      const at = atMs === null ? null : NOW + atMs;
      const step = nextStepOf(view, factsOf(task, policy), NOW + afterMs);
      expect(step).toMatchObject({ text, at, refreshS });
    },
  );

  const UNANSWERED =
    "Waits for the upstream's answer. Without one the outcome of the submission is unknown";
  const UNKNOWN =
    "It is not known whether the upstream has started the job. Waits for a hook or an order that names it. Fails without one";

  it.each([
    [
      "whose call waits to be sent",
      aQueued(),
      FAILS_AT - 1,
      "busy",
      "It waits to be sent. Fails without having been sent",
      FAILS_AT,
    ],
    ["in progress", aSending(), SENDING_ENDS - 1, "busy", UNANSWERED, SENDING_ENDS],
    [
      "in progress when the time for the upstream's answer is over",
      aSending(),
      SENDING_ENDS,
      "busy",
      "The upstream has not answered the submission in time: its outcome counts as unknown now.",
      null,
    ],
    ["with an unknown outcome", anUnknown(null), FAILS_AT - 1, "warn", UNKNOWN, FAILS_AT],
    [
      "with an unknown outcome when the time for news of the job is over",
      anUnknown(502),
      FAILS_AT,
      "warn",
      "The job has not become known in time: the task fails now.",
      null,
    ],
    [
      "that was accepted",
      anAccepted(NOW),
      NOW + MINUTE,
      "busy",
      "Waits for the result. Fails without one",
      NOW_S * SECOND + POLICY.taskDeadlineMs,
    ],
  ] as const)(
    "the console says what an open task with a submission waits for, until when, and what happens then, even while the relay is paused: for a submission %s",
    (_, submission, now, tone, text, at) => {
      const task = anOpenTask({ submission });
      for (const policy of [POLICY, paused]) {
        const view: TaskJson = JSON.parse(taskView(task, "account", null, policy));
        const step = nextStepOf(view, taskFacts(task, "account", policy), now);
        expect(step).toMatchObject({ tone, text, at });
      }
    },
  );

  it.each<[number, "no_place" | "upstream_refused", string]>([
    [
      1,
      "no_place",
      "It waits because no place is free, as the next of the queue. Fails without having been sent",
    ],
    [
      1_200,
      "upstream_refused",
      "It waits because the upstream has refused calls, at position 1,200 of the queue. Fails without having been sent",
    ],
  ])(
    "the console says of a task at position %i of a queue why it waits (%s): %s",
    (position, cause, text) => {
      const task = anOpenTask({ submission: aQueued() });
      const view: TaskJson = JSON.parse(
        taskView(task, "account", null, POLICY, { position, cause }),
      );
      expect(nextStepOf(view, taskFacts(task, "account", POLICY), NOW)).toMatchObject({ text });
    },
  );

  it.each([
    ["waits to be sent, when it came", aQueued(), "The call came", NOW - MINUTE],
    ["was sent, when that was", aSending(), "The call was sent", NOW],
  ] as const)("the console says of an open task whose call %s", (_, submission, text, at) => {
    const task = anOpenTask({ submission, createdAt: NOW - MINUTE });
    const view: TaskJson = JSON.parse(taskView(task, "account", null, POLICY));
    const { since } = nextStepOf(view, taskFacts(task, "account", POLICY), NOW + SECOND);
    expect(since).toEqual({ text, at });
  });

  it("when a submission's outcome is unknown but its job's id is known and no hook can come, the console says that the task waits for the upstream's answer about this job", () => {
    const submission = { ...anUnknown(null), isHookless: true } as const;
    const task = anOpenTask({ submission, upstream: UPSTREAM });
    const view: TaskJson = JSON.parse(taskView(task, "account", null, POLICY));
    const { text, at } = nextStepOf(view, taskFacts(task, "account", POLICY), FAILS_AT - 1);
    expect(text).toContain("Waits for the upstream's answer about a job that is known");
    expect(at).toBe(FAILS_AT);
  });

  it.each([
    [
      "order",
      "asking",
      "Waits for the upstream to cancel the job. A result that comes first counts.",
    ],
    [
      "order",
      "accepted",
      "Waits for the upstream to cancel the job. A result that comes first counts.",
    ],
    ["order", "refused", "Waits for the result. Asks the upstream next"],
    ["order", "unknown", "Waits for the result. Asks the upstream next"],
    [
      "deadline",
      "asking",
      "The deadline has passed: waits at most 30 s for the upstream to cancel the job, then fails. A result that comes first counts.",
    ],
  ] as const)(
    "when the relay is to cancel an open task's job (reason: %s), the console says what the task waits for in this state of the cancellation: %s",
    (reason, kind, text) => {
      const task = aCancelingTask({ reason, state: cancelStateNamed(kind) });
      const polledAt = NOW + MINUTE;
      const view: TaskJson = JSON.parse(taskView(task, "operator", null, aPolicy({ polledAt })));
      expect(nextStepOf(view, taskFacts(task, "operator", POLICY), NOW).text).toBe(text);
    },
  );

  it.each([
    [
      "before the deadline it waits for the result",
      MINUTE,
      "Waits for the result. Fails without one",
    ],
    ["after the deadline it fails now", 80 * HOUR, "The deadline has passed: the task fails now."],
  ])(
    "the console says what an open task without a result waits for, and that it fails at its deadline: %s",
    (_, afterMs, text) => {
      const task = anOpenTask({ callbackUrl: URL_A });
      const view: TaskJson = JSON.parse(taskView(task, "operator", null, POLICY));
      expect(nextStepOf(view, taskFacts(task, "operator", POLICY), NOW + afterMs).text).toBe(text);
    },
  );
});

it("in the console, the timeline of a task whose result came with its registration has the name of the result below that of the registration, which happened first", async () => {
  const facts = taskFacts(aFinishedTask(), "operator", POLICY);
  const timeline = timelineOf(facts, { credits: null, released: 0 }, NOW + MINUTE);
  const drawing = await html`${TimelineDrawing({ timeline })}`;
  const labels = drawing.matchAll(/<text x="([^"]+)" y="([^"]+)">(registered|result)</g);
  const [result, registered] = [...labels].map(([, x, y, name]) => [name, Number(x), Number(y)]);
  expect([registered, result]).toEqual([
    ["registered", 4, 36],
    ["result", 4, 56],
  ]);
});

it("in the console, the list next to a task's timeline has its events, attempts and waits in the order in which they happened, each with its time, duration or lateness", async () => {
  const task = failing(
    { state: { kind: "due", nextAttemptAt: NOW + 13 * MINUTE } },
    { upstreamTimes: { attachedAt: REGISTERED + 400, hookAt: NOW - 300, askedAt: NOW - 200 } },
  );
  const view: TaskJson = JSON.parse(taskView(task, "operator", null, POLICY));
  const shown = { task: view, facts: factsOf(task), state: "" };
  const list = await html`${Story({ shown, now: NOW + 4 * MINUTE })}`;
  const moments = Array.from(list.matchAll(/<li[^>]*>(.*?)<\/li>/gs), ([, moment = ""]) =>
    moment
      .replaceAll(/<time.*?<\/time>/g, "")
      .replaceAll(/<[^>]*>/g, " ")
      .replaceAll(/\s+/g, " ")
      .trim(),
  );
  expect(moments).toEqual([
    "registered",
    "attached +400 ms",
    "hook +1 min 59 s",
    "asked +1 min 59 s",
    "result +2 min",
    `#1 rejected 503 10 ms 4 ms after the result ${URL_A}`,
    "waited 2 min 59 s",
    "#2 rejected 503 10 ms 5 ms late",
    "attempt #3 is planned",
  ]);
});
