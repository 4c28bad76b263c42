import { afterEach, beforeEach, expect, it } from "vitest";
import type { ProgressCallback } from "../../../src/core/events/progress-callback.ts";
import type { CallbackEvents } from "../../../src/core/record/callback-events.ts";
import { runMicrotasks } from "../../simulation/microtasks.ts";
import { ANSWERED_OUTCOMES } from "../../simulation/parties.ts";
import { aCompletion, aReport, PROCESSING, SECOND } from "../builders.ts";
import { aHook, aProvidedRegistration, JOB } from "../upstream-builders.ts";
import { MemoryHost } from "./memory-host.ts";

const ASKED: CallbackEvents = ["completed", "failed", "progress"];
const REJECTED = ANSWERED_OUTCOMES.indexOf("rejected");

let host: MemoryHost;

beforeEach(() => {
  host = new MemoryHost();
});

afterEach(() => host.expectNoFailure());

/** Registers a task whose job is attached, and lets a signed hook tell each percentage, 10 s after the one before. */
async function told(...percentages: readonly number[]): Promise<void> {
  host.loop.apply(aProvidedRegistration({ job: JOB, callbackEvents: ASKED }));
  for (const percent of percentages) await tell(percent);
}

async function tell(progress: number, afterMs = 10 * SECOND): Promise<void> {
  host.clock += afterMs;
  host.loop.apply(aHook(PROCESSING, { isSigned: true, progress }));
  await runMicrotasks();
}

function sentPercentages(): readonly (number | null)[] {
  return host.progress.map(({ percent }: ProgressCallback) => percent);
}

it("each progress callback is sent once, whatever its receiver answers, and writes nothing to the storage", async () => {
  host.endings.sendProgress = REJECTED;
  await told(1);
  const writes = host.writes.length;
  await tell(20);
  await tell(30);
  expect(sentPercentages()).toEqual([1, 20, 30]);
  expect(host.writes).toHaveLength(writes);
  expect(host.logs.slice(-2)).toMatchObject([
    { event: "callback.progress", progress: 20, outcome: "rejected", status_code: 503 },
    { event: "callback.progress", progress: 30, outcome: "rejected", status_code: 503 },
  ]);
});

it("a percentage that comes while a progress callback is being sent, or less than 10 s after its start, is not told later either", async () => {
  delete host.endings.sendProgress;
  await told(1, 20);
  expect(sentPercentages()).toEqual([1]);
  host.end("sendProgress");
  await runMicrotasks();
  await tell(21, 0);
  await tell(22, 10 * SECOND - 1);
  await tell(22, 1);
  expect(sentPercentages()).toEqual([1, 21]);
});

it("a progress callback in flight neither delays the first attempt of the callback nor is cut by it", async () => {
  delete host.endings.sendProgress;
  await told(1);
  host.loop.apply(aReport(aCompletion()));
  await host.answer("delivered");
  expect(host.stored).toMatchObject({ callback: { state: { kind: "delivered" } } });
  expect(host.outside.openCalls.map(({ what }) => what)).toEqual(["sendProgress"]);
  host.end("sendProgress");
  await runMicrotasks();
  expect(host.logs.at(-1)).toMatchObject({ event: "callback.progress", outcome: "delivered" });
});

it("no progress callback leaves when the task ends while its request is being signed", async () => {
  await told();
  host.loop.apply(aHook(PROCESSING, { isSigned: true, progress: 7 }));
  host.loop.apply(aReport(aCompletion()));
  await runMicrotasks();
  expect(sentPercentages()).toEqual([]);
  expect(host.numbers).toEqual([1]);
});

it("a new instance of the object sends no progress callback of an earlier one again, and tells the next percentage at once", async () => {
  await told(1);
  host.crash();
  host.loop.read();
  await runMicrotasks();
  expect(sentPercentages()).toEqual([1]);
  await tell(2, SECOND);
  expect(sentPercentages()).toEqual([1, 2]);
});
