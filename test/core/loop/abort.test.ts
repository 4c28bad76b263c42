import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { TaskEvent } from "../../../src/core/events/event.ts";
import { runMicrotasks } from "../../simulation/microtasks.ts";
import type { CallName } from "../../simulation/simulated-object.ts";
import {
  aCompletion,
  aCreation,
  aFailure,
  aPolicy,
  aRedelivery,
  aRegistration,
  aReport,
  callbackOf,
  CONNECTION,
  ID,
  NOW,
  PROCESSING,
} from "../builders.ts";
import {
  aHook,
  anAttachment,
  aProvidedRegistration,
  FIRST_POLL,
  JOB,
  newsAnswer,
} from "../upstream-builders.ts";
import { MemoryHost, WATCHDOG_MS } from "./memory-host.ts";

const finish = aReport(aCompletion(), aCreation());

let host: MemoryHost;

beforeEach(() => {
  host = new MemoryHost();
});

afterEach(() => host.expectNoFailure());

function openCalls(): readonly CallName[] {
  return host.outside.openCalls.map(({ what }) => what);
}

async function startPoll(): Promise<{ readonly rung: Promise<void> }> {
  host.loop.apply(aProvidedRegistration());
  host.loop.apply(anAttachment());
  const rung = host.ring();
  await runMicrotasks();
  expect(openCalls()).toEqual(["poll"]);
  return { rung };
}

describe("a poll", () => {
  it("the alarm handler of a task waits for the answer to a poll that the handler has started", async () => {
    const { rung } = await startPoll();
    const question = { taskId: ID, connection: CONNECTION, job: JOB, createdAt: NOW };
    expect(host.polls).toEqual([
      { ...question, customerKey: null, submitted: null, purpose: "result", isUrgent: false },
    ]);
    let hasEnded = false;
    void rung.then(() => (hasEnded = true));
    await runMicrotasks();
    expect(hasEnded).toBe(false);
    await host.answerPoll(newsAnswer(PROCESSING));
    expect(hasEnded).toBe(true);
  });

  it("when a poll reports the job as completed, the result and the start of the first callback attempt are stored in one commit", async () => {
    await startPoll();
    const commits = host.history.length;
    await host.answerPoll(newsAnswer(aCompletion()));
    expect(host.history).toHaveLength(commits + 1);
    expect(callbackOf(host.stored).state).toMatchObject({ kind: "in_flight", number: 1 });
    expect([host.numbers, host.alarm]).toEqual([[1], FIRST_POLL + WATCHDOG_MS]);
  });

  it.each<[string, TaskEvent]>([
    ["a signed hook", aHook(aCompletion(), { isSigned: true })],
    ["a report", aReport(aFailure())],
    ["a cancellation", { type: "cancel", isForced: false }],
  ])("a poll in flight is aborted when %s ends the task", async (_what, end) => {
    const { rung } = await startPoll();
    host.loop.apply(end);
    await runMicrotasks();
    expect([openCalls(), host.numbers]).toEqual([["send"], [1]]);
    expect(host.logs).toMatchObject([{ event: "upstream.poll", outcome: "aborted" }]);
    const { stored } = host;
    await host.answer("delivered");
    await rung;
    expect(host.stored).toMatchObject({ status: stored?.status, callback: { attempts: [{}] } });
    expect(host.polls).toHaveLength(1);
  });

  it("a poll that a crash has cut off is made again at the next alarm, even if the task is read in between", async () => {
    await startPoll();
    host.crash();
    host.loop.read();
    void host.ring();
    await runMicrotasks();
    expect(host.polls).toHaveLength(2);
  });

  it("a poll in flight continues when an unsigned hook claims that the job is completed, or a report says that it runs, because neither ends the task", async () => {
    await startPoll();
    host.loop.apply(aHook(aCompletion()));
    host.loop.apply(aReport(PROCESSING));
    await runMicrotasks();
    expect(openCalls()).toEqual(["poll"]);
  });
});

describe("a write to the index or an operator event that gets no answer", () => {
  it("an index write that gets no answer does not delay the first callback attempt, and is repeated after this attempt", async () => {
    host.policyAt = () => aPolicy({ isIndexed: true });
    host.endings = {};
    host.loop.apply(aRegistration());
    const rung = host.ring();
    await runMicrotasks();
    expect(openCalls()).toEqual(["writeIndexRow"]);
    host.loop.apply(aReport());
    await runMicrotasks();
    expect(host.numbers).toEqual([1]);
    await host.answer("delivered");
    await rung;
    expect(host.alarm).toBe(host.clock + 1);
  });

  it.each([
    ["a write to the index", "writeIndexRow"],
    ["an operator event", "sendNotice"],
  ] as const)(
    "a redelivery starts at once while %s has not been answered yet",
    async (_what, what) => {
      const isIndexed = what === "writeIndexRow";
      host.policyAt = () => aPolicy({ isIndexed, isOperatorNotified: !isIndexed, scheduleMs: [0] });
      host.endings = {};
      host.loop.apply(finish);
      await host.answer("rejected", 250);
      expect(openCalls()).toEqual([what]);
      host.loop.apply(aRedelivery());
      await runMicrotasks();
      expect(host.numbers).toEqual([1, 2]);
    },
  );
});
