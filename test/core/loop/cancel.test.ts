import { afterEach, beforeEach, expect, it } from "vitest";
import { runMicrotasks } from "../../simulation/microtasks.ts";
import type { CallName } from "../../simulation/simulated-object.ts";
import { aCompletion } from "../builders.ts";
import { CANCELABLE } from "../cancel-builders.ts";
import {
  aHook,
  anAttachment,
  aProvidedRegistration,
  newsAnswer,
  QUEUED,
} from "../upstream-builders.ts";
import { MemoryHost } from "./memory-host.ts";

let host: MemoryHost;

beforeEach(() => {
  host = new MemoryHost();
  host.policyAt = () => CANCELABLE;
  host.loop.apply(aProvidedRegistration());
  host.loop.apply(anAttachment());
});

afterEach(() => host.expectNoFailure());

function openCalls(): readonly CallName[] {
  return host.outside.openCalls.map(({ what }) => what);
}

async function order(): Promise<void> {
  host.loop.apply({ type: "cancel", isForced: false });
  await runMicrotasks();
}

it("an order to cancel a task makes the relay ask the upstream at once, without an alarm, to cancel the job; a second order during this call causes no second call", async () => {
  await order();
  await order();
  expect(openCalls()).toEqual(["cancelJob"]);
  expect(host.stored).toMatchObject({ cancellation: { state: { kind: "asking", tries: 0 } } });
});

it("an order to cancel a task that comes during a poll makes the relay ask the upstream to cancel the job as soon as the poll has its answer", async () => {
  void host.ring();
  await runMicrotasks();
  await order();
  expect(openCalls()).toEqual(["poll"]);
  await host.answerPoll(newsAnswer(QUEUED));
  expect(openCalls()).toEqual(["cancelJob"]);
  host.end("cancelJob");
  await runMicrotasks();
  expect(host.stored).toMatchObject({ status: "failed" });
});

it("a call to cancel a job is aborted when a hook ends the task, and the task has the result from the hook", async () => {
  await order();
  host.loop.apply(aHook(aCompletion(), { isSigned: true }));
  await runMicrotasks();
  expect([openCalls(), host.numbers]).toEqual([["send"], [1]]);
  expect(host.logs).toMatchObject([{ event: "upstream.cancel", outcome: "aborted" }]);
  expect(host.stored).toMatchObject({ status: "completed" });
});

it("when a crash has cut off a call to cancel a job, the call is made again when the alarm fires", async () => {
  await order();
  host.crash();
  void host.ring();
  await runMicrotasks();
  expect(host.logs).toEqual([]);
  expect(openCalls().at(-1)).toBe("cancelJob");
});
