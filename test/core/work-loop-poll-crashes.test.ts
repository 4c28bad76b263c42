import { beforeEach, describe, expect, it } from "vitest";
import type { PollAnswer, TaskEvent } from "../../src/core/events/event.ts";
import { isTerminal } from "../../src/core/record/task.ts";
import { WorkLoop } from "../../src/task/work-loop.ts";
import {
  aCompletion,
  aReport,
  callbackOf,
  HOUR,
  MINUTE,
  NOW,
  PROCESSING,
  SECOND,
} from "./builders.ts";
import type { Call } from "./memory-calls.ts";
import { MemoryPlatform, turns } from "./memory-platform.ts";
import { Saga } from "./saga.ts";
import {
  aHook,
  anAttachment,
  anUpstreamFailure,
  aProvidedRegistration,
  FIRST_POLL,
  OTHER_JOB,
  QUEUED,
  told,
  UNANSWERED,
} from "./upstream-builders.ts";

const WATCHDOG = 15_000;
const nudge = aHook(aCompletion());

let platform: MemoryPlatform;
let loop: WorkLoop;

beforeEach(() => {
  platform = new MemoryPlatform();
  loop = new WorkLoop(platform);
  loop.apply(aProvidedRegistration());
  loop.apply(anAttachment());
});

function crashed(): WorkLoop {
  platform.crash();
  return new WorkLoop(platform);
}

/** Rings, lets the poll be answered, and goes on as far as it can. */
async function polled(instance: WorkLoop, answer: PollAnswer): Promise<void> {
  void platform.ring(instance);
  await platform.answerPoll(answer);
}

describe("a crash during a poll", () => {
  it("that the alarm began brings the alarm again, and the poll", async () => {
    void platform.ring(loop);
    await turns();
    const reborn = crashed();
    expect(platform.alarm).toBe(FIRST_POLL);
    await polled(reborn, told(aCompletion()));
    expect(platform.polls).toHaveLength(2);
    expect(platform.stored?.status).toBe("completed");
    expect(platform.numbers).toEqual([1]);
  });

  it("that a hook began leaves the watchdog, which polls again", async () => {
    loop.apply(nudge);
    expect(platform.polls).toHaveLength(1);
    const reborn = crashed();
    expect(platform.alarm).toBe(NOW + WATCHDOG);
    await polled(reborn, told(PROCESSING));
    expect(platform.polls).toHaveLength(2);
    expect(platform.stored?.status).toBe("processing");
    expect(platform.alarm).toBe(NOW + WATCHDOG + 30 * SECOND);
  });

  it("makes neither waits nor tries grow", async () => {
    for (let i = 0; i < 5; i++) {
      void platform.ring(loop);
      await turns();
      loop = crashed();
    }
    await polled(loop, UNANSWERED);
    expect(platform.polls).toHaveLength(6);
    expect(platform.alarm).toBe(FIRST_POLL + 30 * SECOND);
  });

  it("that was nudged twice leads to one poll, which is enough", async () => {
    void platform.ring(loop);
    await turns();
    for (const ms of [1, 2]) {
      platform.clock = FIRST_POLL + ms;
      loop.apply(nudge);
    }
    const reborn = crashed();
    expect(platform.alarm).toBeLessThanOrEqual(platform.clock + WATCHDOG);
    await polled(reborn, told(QUEUED));
    expect(platform.polls).toHaveLength(2);
    expect(platform.alarm).toBe(platform.clock + 30 * SECOND);
  });
});

const outside: [string, TaskEvent][] = [
  ["a hook that nudges", nudge],
  ["a hook that is no news", aHook(QUEUED)],
  ["a hook of another job", aHook(aCompletion(), { jobId: OTHER_JOB.id })],
  ["a signed hook that says processing", aHook(PROCESSING, { isSigned: true })],
  ["a signed hook that ends it", aHook(aCompletion(), { isSigned: true })],
  ["an event that says processing", aReport(PROCESSING)],
  ["the same attachment", anAttachment()],
  ["another attachment", anAttachment(OTHER_JOB)],
  ["the same registration", aProvidedRegistration()],
  ["a cancellation", { type: "cancel" }],
];

describe.each(outside)("%s during a poll", (_what, event) => {
  it.each(["the alarm", "a hook"])("that %s began leaves an alarm in time", async (starter) => {
    if (starter === "the alarm") void platform.ring(loop);
    else loop.apply(nudge);
    await turns();
    platform.clock += SECOND;
    loop.apply(event);
    const reborn = crashed();
    expect(platform.alarm).not.toBeNull();
    expect(platform.alarm).toBeLessThanOrEqual(platform.clock + WATCHDOG);
    const { length } = platform.polls;
    void platform.ring(reborn);
    await turns();
    const isOver = platform.stored !== null && isTerminal(platform.stored);
    expect(platform.polls).toHaveLength(isOver ? length : length + 1);
    expect(platform.badAlarms).toEqual([]);
  });
});

describe("a throw around a poll", () => {
  it.each<Call>(["load", "policy", "commit"])(
    "in %s after it loses the answer; repaired, the upstream is asked again",
    async (call) => {
      const rung = platform.ring(loop);
      await turns();
      platform.trouble = (broken) => broken === call;
      platform.polls[0]?.answer(told(aCompletion()));
      await expect(rung).rejects.toThrow(`${call} is broken`);
      expect(platform.stored?.status).toBe("pending");
      expect(platform.alarm).toBe(FIRST_POLL + MINUTE);
      platform.trouble = () => false;
      await polled(loop, told(aCompletion()));
      expect(platform.stored?.status).toBe("completed");
      expect(platform.numbers).toEqual([1]);
    },
  );

  it("in it leaves the poll due; repaired, the upstream is asked", async () => {
    platform.trouble = (call) => call === "poll";
    await expect(platform.ring(loop)).rejects.toThrow("poll is broken");
    platform.trouble = () => false;
    await polled(loop, told(aCompletion()));
    expect(platform.stored?.status).toBe("completed");
  });
});

describe("an object that dies at any point", () => {
  const work = NOW + MINUTE;

  /** Its outside repeats what got no answer; its upstream ends after a minute. */
  async function lived(...deaths: readonly number[]): Promise<Saga> {
    const saga = new Saga(...deaths);
    saga.upstream = (now) => told(now < work ? PROCESSING : aCompletion());
    while (saga.platform.stored === null) await saga.tell(aProvidedRegistration());
    await saga.tell(aHook(anUpstreamFailure()));
    while (saga.platform.stored?.upstream?.job == null) await saga.tell(anAttachment());
    await saga.sleepUntil(isTerminal);
    const { stored } = saga.platform;
    expect([stored?.status, deaths]).toEqual(["completed", deaths]);
    await saga.sleepUntil(
      (record) => callbackOf(record).state.kind === "delivered" || saga.platform.clock > NOW + HOUR,
    );
    const { series, attempts } = callbackOf(saga.platform.stored);
    expect(series.number).toBe(1);
    expect(attempts.length).toBeLessThanOrEqual(1 + deaths.length);
    await saga.sleepToTheEnd();
    return saga;
  }

  it("asks as often as it should when it does not die", async () => {
    const { platform: base } = await lived();
    const times = base.polls.map(({ askedAt }) => askedAt - NOW);
    expect(times).toEqual([0, 30 * SECOND, 90 * SECOND]);
  });

  it("loses nothing, and ends with the truth, sent in one series", async () => {
    const { points } = await lived();
    expect(points).toBeGreaterThan(10);
    for (let first = 1; first <= points; first++) {
      const saga = await lived(first);
      for (let second = first + 1; second <= saga.points; second++) await lived(first, second);
    }
  });
});
