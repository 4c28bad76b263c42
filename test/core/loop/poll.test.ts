import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { TaskEvent } from "../../../src/core/events/event.ts";
import type { WorkLoop } from "../../../src/task/work-loop.ts";
import {
  aCompletion,
  aFailure,
  aPolicy,
  aReport,
  callbackOf,
  CONNECTION,
  DAY,
  HOUR,
  ID,
  LIMITS,
  MINUTE,
  NOW,
  POLICY,
  PROCESSING,
  SECOND,
} from "../builders.ts";
import { runMicrotasks } from "../../simulation/microtasks.ts";
import { MemoryHost } from "./memory-host.ts";
import {
  aHook,
  anAttachment,
  anUpstreamFailure,
  aProvidedRegistration,
  FIRST_POLL,
  JOB,
  limited,
  NO_OUTPUT,
  OTHER_JOB,
  QUEUED,
  told,
  UNANSWERED,
  UNAUTHORIZED,
} from "../upstream-builders.ts";

const WATCHDOG = 15_000;

let platform: MemoryHost;
let loop: WorkLoop;

beforeEach(() => {
  platform = new MemoryHost();
  loop = platform.newLoop();
  loop.apply(aProvidedRegistration());
  loop.apply(anAttachment());
});

afterEach(() => {
  expect(platform.badAlarms).toEqual([]);
  expect(platform.failures).toEqual([]);
});

/** Rings, and leaves the poll that is due in flight. */
async function ringIntoPoll(): Promise<{ readonly rung: Promise<void> }> {
  const rung = platform.ring(loop);
  await runMicrotasks();
  return { rung };
}

describe("a task with an attached job", () => {
  it("sleeps until its first poll", () => {
    expect(platform.alarm).toBe(FIRST_POLL);
    expect(platform.polls).toEqual([]);
  });

  it("is polled by its alarm, and the alarm's handler waits for the answer", async () => {
    const { rung } = await ringIntoPoll();
    expect(platform.polls.map(({ poll }) => poll)).toEqual([
      { taskId: ID, connection: CONNECTION, job: JOB, nudges: 0, createdAt: NOW },
    ]);
    let ended = false;
    void rung.then(() => (ended = true));
    await runMicrotasks();
    expect(ended).toBe(false);
    await platform.answerPoll(told(PROCESSING));
    expect(ended).toBe(true);
  });

  it.each([
    ["processing", told(PROCESSING), 2],
    ["queued", told(QUEUED), 2],
    ["success without output, once", told(NO_OUTPUT), 1],
    ["to be left alone", limited(MINUTE), 2],
    ["that the key is refused", UNAUTHORIZED, 2],
    ["nothing", UNANSWERED, 2],
  ])("has an alarm for its next poll after each that told %s", async (_what, answer, times) => {
    for (let polls = 1; polls <= times; polls++) {
      const { rung } = await ringIntoPoll();
      await platform.answerPoll(answer, SECOND);
      await rung;
      expect(platform.polls).toHaveLength(polls);
      expect(platform.stored).toMatchObject({ tracking: { poll: { at: platform.alarm } } });
      expect(platform.alarm).toBeGreaterThanOrEqual(platform.clock + LIMITS.gapMs);
    }
  });

  it("logs what each poll told", async () => {
    const { rung } = await ringIntoPoll();
    await platform.answerPoll(told(PROCESSING));
    await rung;
    expect(platform.logs).toEqual([
      { event: "upstream.poll", task_id: ID, connection: CONNECTION, outcome: "processing" },
    ]);
  });

  it("has its first attempt opened in the commit that a poll's answer makes, and sent in its turn", async () => {
    await ringIntoPoll();
    const puts = platform.history.length;
    await platform.answerPoll(told(aCompletion()));
    expect(platform.history).toHaveLength(puts + 1);
    expect(callbackOf(platform.stored).state).toMatchObject({ kind: "in_flight", number: 1 });
    expect(platform.numbers).toEqual([1]);
    expect(platform.alarm).toBe(FIRST_POLL + WATCHDOG);
  });
});

const ends: [string, TaskEvent][] = [
  ["a signed hook", aHook(aCompletion(), { isSigned: true })],
  ["an event", aReport(aFailure())],
  ["a cancellation", { type: "cancel" }],
];

describe.each(ends)("%s during a poll", (_what, end) => {
  it("aborts it, and the first attempt is sent without its answer", async () => {
    await ringIntoPoll();
    loop.apply(end);
    expect(platform.polls[0]?.aborted.aborted).toBe(true);
    await runMicrotasks();
    expect(platform.numbers).toEqual([1]);
    expect(platform.logs).toMatchObject([{ event: "upstream.poll", outcome: "aborted" }]);
  });

  it("stays the result whatever the poll tells after it", async () => {
    const { rung } = await ringIntoPoll();
    loop.apply(end);
    const { stored, writes } = platform;
    platform.polls[0]?.answer(told(anUpstreamFailure()));
    await runMicrotasks();
    expect(platform.stored).toEqual(stored);
    expect(writes.slice(-2)).toEqual(["put", "alarm"]);
    await platform.answer("delivered");
    await rung;
    expect(platform.stored).toMatchObject({
      body: stored !== null && "body" in stored && stored.body,
    });
    expect(platform.polls).toHaveLength(1);
  });
});

describe("an event during a poll that does not end the task", () => {
  it("does not abort it", async () => {
    await ringIntoPoll();
    loop.apply(aHook(aCompletion()));
    loop.apply(aReport(PROCESSING));
    expect(platform.polls[0]?.aborted.aborted).toBe(false);
  });

  it("leads to one more poll when it nudges, however often", async () => {
    const { rung } = await ringIntoPoll();
    for (let i = 0; i < 20; i++) {
      platform.clock += 1;
      loop.apply(aHook(aCompletion()));
    }
    await platform.answerPoll(told(QUEUED));
    await rung;
    expect(platform.alarm).toBe(platform.clock + LIMITS.gapMs);
    const again = await ringIntoPoll();
    await platform.answerPoll(told(QUEUED));
    await again.rung;
    expect(platform.polls).toHaveLength(2);
    expect(platform.alarm).toBe(platform.clock + 60 * SECOND);
  });

  it.each([
    ["another job", OTHER_JOB],
    ["another endpoint of the job", { ...JOB, endpoint: "fal-ai/kling" }],
  ])(
    "drops what the poll tells when it attaches %s, which is polled in its turn",
    async (_what, job) => {
      await ringIntoPoll();
      loop.apply(anAttachment(job));
      const { stored } = platform;
      await platform.answerPoll(told(anUpstreamFailure()));
      expect(platform.stored).toEqual(stored);
      expect(platform.alarm).toBe(FIRST_POLL + LIMITS.firstMs);
      await ringIntoPoll();
      expect(platform.polls[1]?.poll.job).toEqual(job);
    },
  );
});

describe("a hook that nudges a sleeping task", () => {
  it("has it polled in the background, under a watchdog", async () => {
    loop.apply(aHook(aCompletion()));
    expect(platform.alarm).toBe(NOW + WATCHDOG);
    expect(platform.polls).toHaveLength(1);
    await platform.answerPoll(told(aCompletion()));
    expect(platform.stored?.status).toBe("completed");
    expect(platform.numbers).toEqual([1]);
  });

  it("waits for a limit without being lost", async () => {
    const { rung } = await ringIntoPoll();
    await platform.answerPoll(limited(HOUR));
    await rung;
    loop.apply(aHook(aCompletion()));
    expect(platform.polls).toHaveLength(1);
    expect(platform.alarm).toBe(FIRST_POLL + HOUR);
  });
});

describe("the deadline", () => {
  it("has the task polled once more, and extended once, before it is given up", async () => {
    platform.clock = NOW + 71 * HOUR;
    const { rung } = await ringIntoPoll();
    await platform.answerPoll(told(PROCESSING));
    await rung;
    platform.clock = NOW + 72 * HOUR;
    const asked = await ringIntoPoll();
    await platform.answerPoll(told(PROCESSING));
    await asked.rung;
    expect(platform.stored).toMatchObject({ status: "processing", deadlineAt: NOW + 90 * HOUR });
    platform.clock = NOW + 90 * HOUR;
    await ringIntoPoll();
    await platform.answerPoll(told(PROCESSING));
    expect(platform.polls).toHaveLength(3);
    expect(platform.stored).toMatchObject({ status: "failed", failure: { category: "timeout" } });
    expect(platform.numbers).toEqual([1]);
  });

  it("passes without a poll while the relay is paused", async () => {
    platform.policyAt = (now) => aPolicy({ pausedUntil: now + MINUTE });
    for (let i = 0; i < 5 * 72 * 60 && platform.stored?.status === "pending"; i++) {
      await platform.ring(loop, i % 7 === 0 ? DAY : 0);
    }
    expect(platform.stored).toMatchObject({ status: "failed", failure: { category: "timeout" } });
    expect(platform.polls).toEqual([]);
    platform.policyAt = () => POLICY;
  });
});
