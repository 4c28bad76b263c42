import { expect, it } from "vitest";
import type { PollAnswer } from "../../../src/core/events/event.ts";
import { runMicrotasks } from "../../simulation/microtasks.ts";
import { aCompletion, DAY, HOUR, MINUTE, NOW, SECOND } from "../builders.ts";
import {
  anAttachment,
  aPollEnd,
  aProvidedRegistration,
  FIRST_POLL,
  JOB,
  newsAnswer,
  UNANSWERED,
} from "../upstream-builders.ts";
import { MemoryHost } from "./memory-host.ts";

function answerPolls({ outside }: MemoryHost, answer: () => PollAnswer): void {
  Object.assign(outside, { poll: async () => answer() });
}

it("a poll that the poll limit of its connection defers is not counted, writes no record, and is tried again after the wait that the deferral states", async () => {
  const host = new MemoryHost();
  let waitMs = 7 * SECOND;
  const polledAt: number[] = [];
  answerPolls(host, () => {
    polledAt.push(host.clock);
    return { kind: "deferred", waitMs };
  });
  host.loop.apply(aProvidedRegistration({ job: JOB }));
  await runMicrotasks();
  host.writes.length = 0;
  await host.ring();
  waitMs = SECOND;
  await host.ring();
  expect(polledAt).toEqual([FIRST_POLL, FIRST_POLL + 7 * SECOND]);
  expect(host.alarm).toBe(FIRST_POLL + 8 * SECOND);
  expect(host.writes).toEqual(["alarm", "alarm"]);
  expect(host.stored?.counts.polls).toBe(0);
  host.expectNoFailure();
});

it("a poll that is deferred several times is tried again after the wait that each deferral states, even by a new instance of the task's object", async () => {
  const host = new MemoryHost();
  const polledAt: number[] = [];
  answerPolls(host, () => {
    polledAt.push(host.clock);
    return { kind: "deferred", waitMs: MINUTE };
  });
  host.loop.apply(aProvidedRegistration({ job: JOB }));
  await runMicrotasks();
  host.crash();
  for (host.alarm = host.clock = NOW + DAY; polledAt.length < 5; host.crash()) await host.ring();
  const [first = NaN] = polledAt;
  expect(polledAt).toEqual([0, 1, 2, 3, 4].map((minutes) => first + minutes * MINUTE));
  host.expectNoFailure();
});

it("when a crash of the task's object makes it forget a deferred poll, a poll is made at the latest when the next regular poll was planned", async () => {
  const host = new MemoryHost();
  answerPolls(host, () => ({ kind: "deferred", waitMs: SECOND }));
  host.loop.apply(aProvidedRegistration({ job: JOB }));
  await runMicrotasks();
  await host.ring();
  host.crash();
  answerPolls(host, () => UNANSWERED);
  await host.ring();
  expect(host.clock).toBeLessThanOrEqual(FIRST_POLL + 2 * SECOND);
  expect(host.alarm).toBeGreaterThan(host.clock);
  host.expectNoFailure();
});

it("when a poll whose alarm came an hour late is deferred and the task's object then crashes, the poll is made at the next alarm", async () => {
  const host = new MemoryHost();
  const polledAt: number[] = [];
  answerPolls(host, () => {
    polledAt.push(host.clock);
    return { kind: "deferred", waitMs: SECOND };
  });
  host.loop.apply(aProvidedRegistration());
  host.loop.apply(anAttachment());
  await runMicrotasks();
  await host.ring(HOUR);
  const late = host.clock;
  host.crash();
  await host.ring();
  expect(polledAt).toEqual([late, late + SECOND]);
  host.expectNoFailure();
});

it("a client's read of the job of a task that has timed out takes the place of no late poll, because a task that has ended ignores its answer", async () => {
  const host = new MemoryHost();
  answerPolls(host, () => UNANSWERED);
  host.loop.apply(aProvidedRegistration({ job: JOB, callbackUrl: null }));
  await runMicrotasks();
  while (host.stored?.status !== "failed") await host.ring();
  const polledAt: number[] = [];
  answerPolls(host, () => {
    polledAt.push(host.clock);
    return UNANSWERED;
  });
  const latePollAt = host.clock + HOUR;
  host.clock = latePollAt + MINUTE;
  await host.loop.applyAnswer(aPollEnd(newsAnswer(aCompletion()), { askedAt: host.clock }));
  for (let alarms = 0; polledAt.length === 0 && alarms < 9; alarms++) await host.ring();
  expect(polledAt).toEqual([latePollAt + MINUTE]);
  host.expectNoFailure();
});
