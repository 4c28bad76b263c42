import { describe, expect, it } from "vitest";
import type { PollAnswer } from "../../src/core/events/event.ts";
import { nextStep, wakeAt } from "../../src/core/step.ts";
import type { OpenTask, TaskRecord } from "../../src/core/record/task.ts";
import { transition } from "../../src/core/transition.ts";
import {
  aCompletion,
  aPolicy,
  CONNECTION,
  DAY,
  finished,
  HOUR,
  LIMITS,
  MINUTE,
  NOW,
  POLICY,
  PROCESSING,
  SECOND,
} from "./builders.ts";
import { afterwards, apply, expectUnchanged, finish } from "./decisions.ts";
import {
  aHook,
  anAnswer,
  anAttachedTask,
  anUpstreamFailure,
  aPlan,
  aPollEnd,
  aProvidedTask,
  aTracking,
  DEADLINE_STEP,
  rateLimited,
  NO_KEY,
  QUEUED,
  newsAnswer,
  UNANSWERED,
  UNAUTHORIZED,
  ONE_POLL,
} from "./upstream-builders.ts";

const deadlineAt = NOW + 4 * HOUR;
/** Task whose next poll is planned after its deadline, so that the poll at the deadline comes first. */
const task = anAttachedTask({ postponedTo: deadlineAt + 2 * MINUTE }, { deadlineAt });
const LATE = deadlineAt + 3 * SECOND;

function asked(answer: PollAnswer, record: OpenTask = task): TaskRecord {
  return apply(record, aPollEnd(answer), LATE);
}

function codeOf(record: TaskRecord): unknown {
  if (!("body" in record)) throw new Error(`expected an end: ${record.status}`);
  return JSON.parse(record.body).error?.code;
}

describe("the deadline of a task whose upstream can be polled", () => {
  it("when the upstream can be polled, a task does not fail the moment its deadline comes: the upstream is polled first", () => {
    expect(wakeAt(task, POLICY)).toBe(deadlineAt);
    expect(nextStep(task, POLICY, deadlineAt - 1)).toBeNull();
    for (const now of [deadlineAt, deadlineAt + DAY]) {
      expect(nextStep(task, POLICY, now)).toMatchObject({ kind: "poll" });
    }
  });

  it("when a poll that was sent before the task's deadline gets no answer, the task is polled once more after the deadline", () => {
    const askedAt = deadlineAt - 1;
    expect(apply(task, aPollEnd(UNANSWERED, { askedAt }), LATE).status).toBe(task.status);
    expect(nextStep(task, aPolicy({ polledAt: askedAt }), LATE)).toMatchObject({ kind: "poll" });
    const last = aPollEnd(UNANSWERED, { askedAt: deadlineAt });
    expect(codeOf(apply(task, last, LATE))).toBe("upstream_timeout");
  });

  it.each([
    ["completed", aCompletion(), "completed", undefined],
    ["failed", anUpstreamFailure(), "failed", "upstream_error"],
  ] as const)(
    "a poll at the task's deadline that reports %s ends the task",
    (_what, news, status, code) => {
      const record = asked(newsAnswer(news));
      expect([record.status, codeOf(record)]).toEqual([status, code]);
    },
  );

  it.each([
    ["the provider refused the key", UNAUTHORIZED],
    ["the provider did not answer", UNANSWERED],
  ])(
    "a task fails with upstream_timeout when the poll at its deadline brings no result: %s",
    (_what, answer) => {
      const record = asked(answer);
      expect(codeOf(record)).toBe("upstream_timeout");
      expect(record).toMatchObject({ failure: { category: "timeout", retryable: true } });
    },
  );

  it("a poll that ends without an answer fails its task only if the poll ends at or after the task's deadline", () => {
    const early = aPollEnd(UNANSWERED);
    expect(apply(task, early, deadlineAt - 1).status).toBe(task.status);
    expect(codeOf(apply(task, early, deadlineAt))).toBe("upstream_timeout");
  });
});

describe("an upstream that is still at work at the deadline", () => {
  it.each([
    ["processing", PROCESSING, "processing"],
    ["queued", QUEUED, "pending"],
  ] as const)(
    "when a poll at a task's deadline reports %s, the deadline moves to the time of the answer plus a quarter of the time from the task's creation to its deadline",
    (_what, news, status) => {
      expect(asked(newsAnswer(news))).toEqual({
        ...task,
        version: expect.any(Number),
        status,
        deadlineAt: LATE + HOUR,
        tracking: aTracking({
          poll: aPlan({
            postponedTo: deadlineAt + 2 * MINUTE,
            answer: anAnswer(news.status, LATE),
          }),
          isExtended: true,
        }),
        counts: ONE_POLL,
      });
      expect(asked(newsAnswer(news)).version).toBeGreaterThan(task.version);
    },
  );

  it("a task's deadline is extended when a rate limit refuses the poll at the deadline, and the next poll waits until the limit ends", () => {
    const record = asked(rateLimited(10 * MINUTE));
    expect(record).toMatchObject({ deadlineAt: LATE + HOUR, tracking: { isExtended: true } });
    expect(wakeAt(record, POLICY)).toBe(LATE + 10 * MINUTE);
  });

  it("a task's deadline is extended when the poll at the deadline gets no answer but a hook came during this poll; the upstream is then polled again", () => {
    const nudged = afterwards(transition(task, aHook(aCompletion()), POLICY, LATE));
    const end = aPollEnd(UNANSWERED, { askedAt: deadlineAt });
    const record = apply(nudged, end, LATE + 1);
    expect(record).toMatchObject({ tracking: { isExtended: true } });
    expect(wakeAt(record, aPolicy({ polledAt: deadlineAt }))).toBe(LATE);
  });

  it.each([
    ["reports processing", newsAnswer(PROCESSING), "upstream_timeout"],
    ["reports queued", newsAnswer(QUEUED), "upstream_timeout"],
    ["is refused by a rate limit", rateLimited(HOUR), "upstream_timeout"],
    ["gets no answer", UNANSWERED, "upstream_timeout"],
    ["reports completed", newsAnswer(aCompletion()), undefined],
  ])(
    "a task whose deadline was extended once ends at its new deadline when the poll at that time %s",
    (_what, answer, code) => {
      const extended = { ...task, tracking: { ...task.tracking, isExtended: true } };
      expect(codeOf(asked(answer, extended))).toBe(code);
    },
  );
});

describe("success without output near the deadline", () => {
  const since = NOW + MINUTE;
  const reported = anAttachedTask({ answer: anAnswer("no_output", since) });

  it.each([
    ["a poll refused by a rate limit", rateLimited()],
    ["a poll whose key is refused", UNAUTHORIZED],
    ["a poll whose answer is not understood", { kind: "unclear", statusCode: 404, word: null }],
  ] as const)(
    "for ten minutes after a poll first reported success without output, %s changes nothing, even past the task's deadline; later, the task stores its answer as the latest one",
    (_what, answer) => {
      const [endAt, tracking] = [since + 10 * MINUTE, { ...reported.tracking, isExtended: true }];
      const early = anAttachedTask({}, { deadlineAt: since + MINUTE, tracking });
      expectUnchanged(early, aPollEnd(answer, { askedAt: endAt - 2 }), endAt - 1);
      const kind = answer.kind;
      expect(apply(reported, aPollEnd(answer), endAt)).toMatchObject({
        tracking: { poll: { answer: { kind, since: endAt } } },
      });
    },
  );
});

describe("while the relay is paused", () => {
  const paused = aPolicy({ pausedAt: deadlineAt + 1 - MINUTE });

  it("a paused relay does not poll a task whose poll is due", () => {
    const due = anAttachedTask({ postponedTo: NOW }, { deadlineAt });
    const policy = aPolicy({ pausedAt: NOW });
    expect(nextStep(due, policy, NOW + MINUTE - 1)).toBeNull();
    expect(wakeAt(due, policy)).toBe(NOW + MINUTE);
    expect(nextStep(due, paused, deadlineAt - 1)).toBeNull();
  });

  it("a task whose deadline passes while the relay is paused fails without a last poll", () => {
    expect(wakeAt(task, paused)).toBe(deadlineAt);
    expect(nextStep(task, paused, deadlineAt)).toEqual(DEADLINE_STEP);
    const record = apply(task, { type: "deadline" }, deadlineAt, paused);
    expect(codeOf(record)).toBe("upstream_timeout");
  });

  it("a task is polled at its deadline when its next check whether the pause of the relay is over comes at that very time", () => {
    const until = aPolicy({ pausedAt: deadlineAt - 24 * MINUTE });
    expect(nextStep(task, until, deadlineAt)).toMatchObject({ kind: "poll" });
  });

  it("a provider's rate limit does not postpone the deadline of a task while the relay is paused", () => {
    const limitedTask = anAttachedTask(
      { postponedTo: deadlineAt + HOUR, notBefore: deadlineAt + HOUR },
      { deadlineAt },
    );
    expect(nextStep(limitedTask, paused, deadlineAt)).toEqual(DEADLINE_STEP);
    expect(nextStep(limitedTask, POLICY, deadlineAt)).toBeNull();
  });
});

describe("a task whose upstream cannot be polled at the deadline", () => {
  const forgetful = aPolicy({ polls: new Map([[CONNECTION, { ...LIMITS, maxAgeMs: HOUR }]]) });

  it.each([
    ["its connection has no API key", task, NO_KEY],
    ["the task has no attached job", aProvidedTask({ deadlineAt }), POLICY],
    ["the upstream has forgotten the job", task, forgetful],
  ])("a task fails at its deadline without a poll when %s", (_what, open, policy) => {
    expect(nextStep(open, policy, deadlineAt - 1)).toBeNull();
    expect(nextStep(open, policy, deadlineAt)).toEqual(DEADLINE_STEP);
    const record = finish(open, { type: "deadline" }, deadlineAt, policy);
    expect(codeOf(record)).toBe("upstream_timeout");
  });

  it("a task is polled only as long as the upstream keeps its job; after that time, an unsigned hook is enough to end the task", () => {
    const last = anAttachedTask({ postponedTo: NOW + HOUR - 1 }, { deadlineAt });
    const old = anAttachedTask({ postponedTo: NOW + HOUR }, { deadlineAt });
    expect(nextStep(last, forgetful, NOW + HOUR - 1)).toMatchObject({ kind: "poll" });
    expect(nextStep(old, forgetful, NOW + HOUR)).toBeNull();
    const hook = aHook(aCompletion());
    expect(finish(old, hook, NOW + HOUR, forgetful).status).toBe("completed");
  });

  it("a poll that was deferred to keep its connection's limit is made after its wait, even if the upstream no longer keeps the job then", () => {
    const due = anAttachedTask({ postponedTo: NOW + HOUR - 1 }, { deadlineAt: NOW + HOUR - 1 });
    const pollDeferredAt = NOW + HOUR - 1;
    const deferred = { ...forgetful, pollDeferredAt, pollDeferredTo: NOW + HOUR + 7 * SECOND };
    expect(wakeAt(due, deferred)).toBe(NOW + HOUR + 7 * SECOND);
    expect(nextStep(due, deferred, NOW + HOUR + 7 * SECOND)).toMatchObject({ kind: "poll" });
  });

  it("a task is polled however old it is when the upstream keeps jobs for ever", () => {
    const mindful = aPolicy({ polls: new Map([[CONNECTION, { ...LIMITS, maxAgeMs: null }]]) });
    const old = anAttachedTask({ postponedTo: NOW + 300 * DAY }, { deadlineAt: NOW + 365 * DAY });
    expect(nextStep(old, mindful, NOW + 300 * DAY)).toMatchObject({ kind: "poll" });
    expect(nextStep(old, POLICY, NOW + 300 * DAY)).toBeNull();
  });

  it("a task is ended by an unsigned hook when the provider's rate limit forbids polls for longer than the upstream keeps the job", () => {
    const limits = { at: NOW + 2 * HOUR, notBefore: NOW + 2 * HOUR };
    const record = anAttachedTask(limits, { deadlineAt });
    const decision = transition(record, aHook(aCompletion()), forgetful, NOW + 1);
    expect(finished(decision).status).toBe("completed");
  });
});
