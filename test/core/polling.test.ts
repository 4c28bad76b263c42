import { describe, expect, it } from "vitest";
import { nextStep, wakeAt } from "../../src/core/step.ts";
import type { OpenTask } from "../../src/core/record/task.ts";
import {
  aCompletion,
  aFinishedTask,
  anOpenTask,
  aPolicy,
  callbackOf,
  CONNECTION,
  HOUR,
  MINUTE,
  NOW,
  PROCESSING,
  SECOND,
  runningSince,
} from "./builders.ts";
import { aChargingTask } from "./credit-builders.ts";
import { apply, expectUnchanged, finish } from "./decisions.ts";
import {
  aHook,
  aKeptHook,
  anAnswer,
  anAttachedTask,
  anUpstreamFailure,
  aPlan,
  aPollEnd,
  aProvidedRegistration,
  aProvidedTask,
  aTracking,
  DEADLINE_STEP,
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
/** Time at which the answer to a poll arrives: two seconds after the poll. */
const THEN = FIRST_POLL + 2 * SECOND;

function after(answer: Parameters<typeof aPollEnd>[0], record: OpenTask = task): OpenTask {
  const next = apply(record, aPollEnd(answer), THEN);
  if (next.status === "pending" || next.status === "processing") return next;
  throw new Error(`expected an open task: ${next.status}`);
}

describe("a poll that reports the end", () => {
  it.each([
    ["completed", aCompletion(), null],
    ["failed", anUpstreamFailure(), anUpstreamFailure().failure],
  ] as const)(
    "a poll that reports %s ends the task, and its first callback attempt begins",
    (status, news, failure) => {
      for (const from of [task, processing]) {
        const record = finish(from, aPollEnd(newsAnswer(news)), THEN);
        expect(record).toMatchObject({ version: THEN, status, failure, upstream: UPSTREAM });
        expect(callbackOf(record).state).toEqual(runningSince(THEN));
      }
    },
  );

  it("when a poll reports a failure, the callback body has the upstream's error", () => {
    const failed = aPollEnd(newsAnswer(anUpstreamFailure()));
    const { error } = anUpstreamFailure();
    expect(JSON.parse(finish(task, failed, THEN).body)).toMatchObject({ error });
  });

  const parameters = { ratio: "16:9", duration: 5, seed: 1, generate_audio: true };
  const { registration } = aProvidedRegistration({ parameters });

  it.each([
    [
      "the parameters duration and generate_audio",
      registration,
      { duration: 5, generate_audio: true },
    ],
    ["no parameter, because none was submitted", null, {}],
  ])(
    "the callback's metadata is that of the result, completed by the submitted parameters where the result states nothing: here %s",
    (_what, submitted, added) => {
      const metadata = { seed: 7, ratio: "9:16", fps: 3 };
      const open = anAttachedTask({}, { registration: submitted });
      const news = aCompletion({ metadata });
      for (const end of [aPollEnd(newsAnswer(news)), aHook(news, { isSigned: true })]) {
        const { output } = JSON.parse(finish(open, end, THEN).body);
        expect(output.metadata).toEqual({ ...metadata, ...added });
      }
    },
  );
});

describe("a poll that reports no end", () => {
  it("a poll that reports processing makes a pending task processing and gives it a new version", () => {
    const poll = aPlan({ answer: anAnswer("processing", THEN) });
    expect(after(newsAnswer(PROCESSING))).toEqual({
      ...task,
      version: THEN,
      status: "processing",
      tracking: aTracking({ poll }),
      counts: ONE_POLL,
    });
  });

  it.each([
    [
      "that reports queued about a pending task",
      newsAnswer(QUEUED),
      task,
      anAnswer("queued", THEN),
    ],
    [
      "that reports queued about a processing task",
      newsAnswer(QUEUED),
      processing,
      anAnswer("queued", THEN),
    ],
    ["that the provider refuses by its rate limit", rateLimited(), task, anAnswer("limited", THEN)],
    ["whose key the provider refuses", UNAUTHORIZED, task, anAnswer("unauthorized", THEN)],
  ] as const)(
    "after a poll %s the task stores this type of answer and counts the poll, but keeps its status; a second poll with the same answer stores nothing",
    (_what, answer, open, kind) => {
      const record = after(answer, open);
      const poll = aPlan({ answer: kind });
      expect(record).toEqual({ ...open, tracking: aTracking({ poll }), counts: ONE_POLL });
      expectUnchanged(record, aPollEnd(answer), THEN + SECOND);
    },
  );

  it("the task counts the first unanswered poll and stores its time; a second unanswered poll stores nothing, and the next answer removes the time", () => {
    const silent = after(UNANSWERED);
    const tracking = { ...task.tracking, poll: aPlan({ unansweredSince: THEN }) };
    expect(silent).toEqual({ ...task, tracking, counts: ONE_POLL });
    expectUnchanged(silent, aPollEnd(UNANSWERED), THEN + SECOND);
    expect(after(newsAnswer(QUEUED), silent)).toMatchObject({
      tracking: { poll: { unansweredSince: null } },
    });
  });

  it("an unanswered poll leaves the stored type of the latest answer as it is", () => {
    const silent = anAttachedTask({ answer: anAnswer("queued", NOW), unansweredSince: NOW });
    expectUnchanged(silent, aPollEnd(UNANSWERED), THEN);
  });

  it("when a provider's rate limit refuses polls, a shorter wait that the provider asks for does not replace an earlier, longer one that is not over yet", () => {
    const waiting = anAttachedTask({ answer: anAnswer("limited", NOW), notBefore: THEN + HOUR });
    expectUnchanged(waiting, aPollEnd(rateLimited(MINUTE)), THEN);
  });

  it("a poll that finds the job of a processing task back in the queue leaves the status of the task at processing", () => {
    const queued = after(newsAnswer(QUEUED), processing);
    expectUnchanged(queued, aPollEnd(newsAnswer(QUEUED)), THEN + SECOND);
    expect(after(newsAnswer(PROCESSING), queued)).toMatchObject({
      version: processing.version,
      tracking: { poll: { answer: anAnswer("processing", THEN) } },
    });
  });

  it("when a provider's API key was removed during a poll that the provider then refused, the task stores that the key was refused, and counts the poll", () => {
    const record = apply(task, aPollEnd(UNAUTHORIZED), THEN, NO_KEY);
    const poll = aPlan({ answer: anAnswer("unauthorized", THEN) });
    expect(record).toEqual({ ...task, tracking: aTracking({ poll }), counts: ONE_POLL });
  });
});

/** Builds the end of a poll that was sent at `askedAt` and reports success without output. */
function emptyPollEnd(askedAt: number) {
  return aPollEnd(newsAnswer(NO_OUTPUT), { askedAt });
}

describe("success without output", () => {
  const since = NOW + MINUTE;
  const reported = anAttachedTask({ answer: anAnswer("no_output", since) });

  it("a job is polled again 15, 30, 60, 120, 300 and 600 s after a poll has found it successful but without output for the first time", () => {
    const first = apply(task, emptyPollEnd(since), since);
    expect(first).toMatchObject({ tracking: { poll: { answer: anAnswer("no_output", since) } } });
    const times: number[] = [];
    for (let polledAt = since; times.length < 6; times.push(polledAt - since)) {
      polledAt = wakeAt(first, aPolicy({ polledAt }));
    }
    expect(times).toEqual([15, 30, 60, 120, 300, 600].map((seconds) => seconds * SECOND));
  });

  it("a task fails when its upstream has reported success without output for ten minutes, and not before", () => {
    const endAt = since + 10 * MINUTE;
    expectUnchanged(reported, emptyPollEnd(endAt - 1), endAt - 1);
    const { body, failure } = finish(reported, emptyPollEnd(endAt), endAt);
    expect(JSON.parse(body)).toMatchObject({
      error: { code: "upstream_error", message: "The upstream reported success without output." },
    });
    expect(failure).toEqual({ category: "provider", retryable: true });
  });

  it("a task fails ten minutes after its upstream first reported success without output, even when its deadline is earlier", () => {
    const early = anAttachedTask(
      { answer: anAnswer("no_output", since) },
      { deadlineAt: since + MINUTE },
    );
    expectUnchanged(early, emptyPollEnd(since + 5 * MINUTE), since + 5 * MINUTE);
    const [endAt, paused] = [since + 10 * MINUTE, aPolicy({ pausedAt: since + 10 * MINUTE })];
    expect(nextStep(early, NO_KEY, endAt - 1)).toBeNull();
    expect(nextStep(early, paused, endAt)).toEqual(DEADLINE_STEP);
    expectUnchanged(early, { type: "deadline" }, endAt - 1);
    expect(finish(early, { type: "deadline" }, endAt).status).toBe("failed");
  });

  it("a task past its deadline does not fail when a poll reports success without output for the first time", () => {
    const due = anAttachedTask({}, { deadlineAt: since });
    expect(apply(due, emptyPollEnd(since), since)).toMatchObject({
      status: "pending",
      deadlineAt: since,
    });
  });

  it.each([
    ["success with output completes the task", newsAnswer(aCompletion()), "completed"],
    ["processing makes the task processing", newsAnswer(PROCESSING), "processing"],
  ] as const)(
    "after a poll that reported success without output, a task treats the next poll's report as usual: %s",
    (_what, answer, status) => {
      const record = apply(reported, aPollEnd(answer), THEN);
      expect(record.status).toBe(status);
      if (status === "processing") {
        expect(record).toMatchObject({ tracking: { poll: { answer: anAnswer(status, THEN) } } });
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
    [
      "the task was created again, without a job but with a stored hook about this job",
      aProvidedTask({ tracking: aTracking({ poll: null, keptHooks: [aKeptHook(PROCESSING)] }) }),
    ],
    ["the task's job was replaced", anAttachedTask({}, { upstream })],
  ])("the answer to a poll changes nothing when it arrives after %s", (_what, record) => {
    for (const answer of answers) {
      expectUnchanged(record, aPollEnd(answer), THEN);
    }
  });
});
