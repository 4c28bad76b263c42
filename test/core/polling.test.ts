import { describe, expect, it } from "vitest";
import { nextStep, wakeAt } from "../../src/core/step.ts";
import type { OpenTask } from "../../src/core/record/task.ts";
import { transition } from "../../src/core/transition.ts";
import {
  aCompletion,
  aFinishedTask,
  anOpenTask,
  aPolicy,
  callbackOf,
  afterwards,
  CONNECTION,
  HOUR,
  LIMITS,
  NOW,
  POLICY,
  PROCESSING,
  SECOND,
} from "./builders.ts";
import { aChargingTask } from "./credit-builders.ts";
import { apply, expectUnchanged, finish } from "./decisions.ts";
import {
  aHook,
  anAttachedTask,
  anAttachment,
  anUpstreamFailure,
  aPlan,
  aPollEnd,
  aProvidedRegistration,
  aTracking,
  FIRST_POLL,
  rateLimited,
  NO_OUTPUT,
  OTHER_JOB,
  NO_KEY,
  QUEUED,
  newsAnswer,
  UNANSWERED,
  UNAUTHORIZED,
  UPSTREAM,
  ONE_POLL,
} from "./upstream-builders.ts";

const task = anAttachedTask();
const processing = anAttachedTask({}, { status: "processing" });
/** The answer takes two seconds. */
const THEN = FIRST_POLL + 2 * SECOND;
const GAP = LIMITS.gapMs;

function after(answer: Parameters<typeof aPollEnd>[0], record: OpenTask = task): OpenTask {
  const next = apply(record, aPollEnd(answer), THEN);
  if (next.status === "pending" || next.status === "processing") return next;
  throw new Error(`expected an open task: ${next.status}`);
}

describe("a poll that reports the end", () => {
  it.each([
    ["completed", aCompletion(), null],
    ["failed", anUpstreamFailure(), anUpstreamFailure().failure],
  ] as const)("a poll that reports %s ends the task and calls back", (status, news, failure) => {
    for (const from of [task, processing]) {
      const record = finish(from, aPollEnd(newsAnswer(news)), THEN);
      expect(record).toMatchObject({ version: THEN, status, failure, upstream: UPSTREAM });
      expect(callbackOf(record).state).toEqual({ kind: "in_flight", number: 1, startedAt: THEN });
    }
  });

  it("a poll that reports a failure puts the upstream's error into the callback body", () => {
    const failed = aPollEnd(newsAnswer(anUpstreamFailure()));
    const { error } = anUpstreamFailure();
    expect(JSON.parse(finish(task, failed, THEN).body)).toMatchObject({ error });
  });

  const parameters = { ratio: "16:9", duration: 5, seed: 1, generate_audio: true };
  const { registration } = aProvidedRegistration({ parameters });

  it.each([
    ["comes from the task's parameters", registration, { duration: 5, generate_audio: true }],
    ["stays absent if the task has no submitted parameters", null, {}],
  ])("metadata that a result lacks %s", (_what, submitted, added) => {
    const metadata = { seed: 7, ratio: "9:16", fps: 3 };
    const open = anAttachedTask({}, { registration: submitted });
    const news = aCompletion({ metadata });
    for (const end of [aPollEnd(newsAnswer(news)), aHook(news, { isSigned: true })]) {
      const { output } = JSON.parse(finish(open, end, THEN).body);
      expect(output.metadata).toEqual({ ...metadata, ...added });
    }
  });
});

describe("a poll that reports no end", () => {
  it("a poll that reports processing makes a pending task processing and gives it a new version", () => {
    const poll = aPlan({ at: THEN + 30 * SECOND, tries: 1, notBefore: THEN + GAP });
    const tracking = aTracking({ poll });
    const record = after(newsAnswer(PROCESSING));
    expect(record).toEqual({
      ...task,
      version: THEN,
      status: "processing",
      tracking,
      counts: ONE_POLL,
    });
  });

  it.each([
    ["that reports queued about a pending task", newsAnswer(QUEUED), task],
    ["that reports processing about a processing task", newsAnswer(PROCESSING), processing],
    ["that reports queued about a processing task", newsAnswer(QUEUED), processing],
    ["that the provider refuses by its rate limit", rateLimited(), task],
    ["whose key the provider refuses", UNAUTHORIZED, task],
    ["without an answer", UNANSWERED, task],
  ])("a poll %s leaves the status as it is and only plans the next poll", (_what, answer, open) => {
    const poll = aPlan({ at: THEN + 30 * SECOND, tries: 1, notBefore: THEN + GAP });
    expect(after(answer, open)).toEqual({
      ...open,
      tracking: aTracking({ poll }),
      counts: ONE_POLL,
    });
  });

  it.each([0, 1])(
    "with %d as the random number (0 to 1) of the jitter, the waits between polls double from 15 s (plus up to a fifth) to 5 min",
    (jitter) => {
      const policy = aPolicy({ jitter });
      const waits: number[] = [];
      let record = apply(anAttachedTask(), anAttachment(OTHER_JOB), NOW, policy);
      let now = NOW;
      for (let i = 0; i < 8; i++) {
        const plannedAt = wakeAt(record, policy);
        waits.push(plannedAt - now);
        now = plannedAt + i;
        const end = aPollEnd(UNANSWERED, { job: OTHER_JOB });
        record = apply(record, end, now, policy);
      }
      const seconds = [15, 30, 60, 120, 240, 300, 300, 300];
      expect(waits).toEqual(
        seconds.map((s) => 300 * SECOND - Math.abs(300 - s * (1 + 0.2 * jitter)) * SECOND),
      );
    },
  );

  it("the wait between polls is at most 5 min even after very many polls", () => {
    const record = after(UNANSWERED, anAttachedTask({ tries: 2_000 }));
    expect(wakeAt(record, POLICY)).toBe(THEN + 300 * SECOND);
  });
});

describe("a poll whose key was taken away meanwhile", () => {
  it("a poll whose key was removed from the configuration is tried again after 5 min", () => {
    const record = apply(task, aPollEnd(UNAUTHORIZED), THEN, NO_KEY);
    const poll = aPlan({ at: THEN + 300 * SECOND, tries: 1, notBefore: THEN });
    expect(record).toEqual({ ...task, tracking: aTracking({ poll }), counts: ONE_POLL });
    expect(wakeAt(record, POLICY)).toBe(THEN + 300 * SECOND);
  });
});

describe("a provider that limits polls", () => {
  it("a provider that answered a poll with a rate limit is not polled before the limit ends", () => {
    const record = after(rateLimited(HOUR));
    const poll = aPlan({ at: THEN + HOUR, tries: 1, notBefore: THEN + HOUR });
    expect(record.tracking.poll).toEqual(poll);
    expect(wakeAt(record, POLICY)).toBe(THEN + HOUR);
  });

  it("a provider whose rate limit is shorter than the usual wait is polled after the usual wait", () => {
    expect(after(rateLimited(2 * SECOND)).tracking.poll).toMatchObject({
      at: THEN + 30 * SECOND,
      notBefore: THEN + 2 * SECOND,
    });
  });

  it("a provider that answered a poll with a rate limit is not polled earlier because of a hook", () => {
    const nudge = aHook(aCompletion());
    const record = afterwards(transition(after(rateLimited(HOUR)), nudge, POLICY, THEN + SECOND));
    expect(wakeAt(record, POLICY)).toBe(THEN + HOUR);
    expect(nextStep(record, POLICY, THEN + HOUR - 1)).toBeNull();
  });

  it("a provider that answered a poll with a rate limit is not polled earlier because of the task's deadline", () => {
    const deadlineAt = THEN + 10 * SECOND;
    const record = after(rateLimited(HOUR), anAttachedTask({}, { deadlineAt }));
    expect(nextStep(record, POLICY, THEN + HOUR - 1)).toBeNull();
    expect(nextStep(record, POLICY, THEN + HOUR)).toMatchObject({ kind: "poll" });
  });
});

describe("success without output", () => {
  const once = after(newsAnswer(NO_OUTPUT));

  it("a job that reports success without output is polled once more after the provider's minimum gap", () => {
    const at = THEN + GAP;
    const poll = aPlan({ at, tries: 1, notBefore: at, isOutputMissing: true });
    expect(once).toEqual({ ...task, tracking: aTracking({ poll }), counts: ONE_POLL });
  });

  it.each([
    ["two polls report", once],
    ["a hook and then a poll report", anAttachedTask({ isOutputMissing: true })],
  ])("a task fails when %s success without output", (_what, open) => {
    const { body, failure } = finish(open, aPollEnd(newsAnswer(NO_OUTPUT)), THEN);
    expect(JSON.parse(body)).toMatchObject({
      error: { code: "upstream_error", message: "The upstream reported success without output." },
    });
    expect(failure).toEqual({ category: "provider", retryable: true });
  });

  it("success without output that is reported again fails the task, even after a poll without an answer in between", () => {
    const silent = after(UNANSWERED, once);
    expect(finish(silent, aPollEnd(newsAnswer(NO_OUTPUT)), THEN).status).toBe("failed");
  });

  it.each([
    ["success with output", aCompletion(), "completed"],
    ["processing", PROCESSING, "processing"],
  ] as const)(
    "after one report of success without output, a poll that reports %s is handled as if that report had not come",
    (_what, news, status) => {
      const record = apply(once, aPollEnd(newsAnswer(news)), THEN);
      expect(record.status).toBe(status);
      if (status === "processing") {
        expect(record).toMatchObject({ tracking: { poll: { isOutputMissing: false } } });
      }
    },
  );
});

describe("the answer to an outdated poll", () => {
  const upstream = { connection: CONNECTION, job: OTHER_JOB };
  const settled = aFinishedTask({ upstream: UPSTREAM });
  const answers = [
    newsAnswer(aCompletion()),
    newsAnswer(PROCESSING),
    rateLimited(HOUR),
    UNANSWERED,
  ];

  it.each([
    ["the task was erased", null],
    ["the task has ended", settled],
    ["the task was created again and is being charged", aChargingTask({ upstream: UPSTREAM })],
    ["the task was created again without a job", anOpenTask()],
    ["the task's job was replaced", anAttachedTask({}, { upstream })],
  ])("the answer to a poll changes nothing when it arrives after %s", (_what, record) => {
    for (const answer of answers) {
      expectUnchanged(record, aPollEnd(answer), THEN);
    }
  });
});
