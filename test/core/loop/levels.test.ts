import { describe, expect, it } from "vitest";
import { type CallStep, nextStep } from "../../../src/core/step.ts";
import type { TaskRecord } from "../../../src/core/record/task.ts";
import type { LogLevel, LogLine } from "../../../src/log.ts";
import { makeCall } from "../../../src/task/calls.ts";
import { type Outside, SimulatedObject } from "../../simulation/simulated-object.ts";
import { aCreation, aFinishedTask, anOpenTask, aPolicy, aReport, HOUR, NOW } from "../builders.ts";
import { aChargingTask, aRefundingTask } from "../credit-builders.ts";
import {
  anAttachedTask,
  limited,
  QUEUED,
  told,
  UNANSWERED,
  UNAUTHORIZED,
} from "../upstream-builders.ts";
import { MemoryHost } from "./memory-host.ts";

const everything = aPolicy({ isIndexed: true, isOperatorNotified: true });
const notice = { kind: "callback.failed", version: NOW, retryAt: NOW, tries: 0 } as const;
const published = { version: NOW, retryAt: 0, tries: 0 };
const noticed = aFinishedTask({ publication: published, notices: [notice] });

/** Returns the call that the record owes. */
function callOf(record: TaskRecord): CallStep {
  const step = nextStep(record, everything, NOW + HOUR);
  if (step === null || step.kind === "event" || step.kind === "send") {
    throw new Error(`expected a call: ${JSON.stringify(step)}`);
  }
  return step;
}

function answering(value: unknown): () => Promise<unknown> {
  return () => Promise.resolve(value);
}

describe("the log line of a call", () => {
  it.each<[keyof Outside, unknown, TaskRecord, "info" | "warn"]>([
    ["charge", { kind: "charged", generation: 1 }, aChargingTask(), "info"],
    ["charge", { kind: "unknown_account" }, aChargingTask(), "info"],
    ["charge", { kind: "unknown" }, aChargingTask(), "warn"],
    ["refund", true, aRefundingTask(), "info"],
    ["refund", false, aRefundingTask(), "warn"],
    ["poll", told(QUEUED), anAttachedTask(), "info"],
    ["poll", limited(), anAttachedTask(), "info"],
    ["poll", UNANSWERED, anAttachedTask(), "warn"],
    ["poll", UNAUTHORIZED, anAttachedTask(), "warn"],
    ["publish", true, anOpenTask(), "info"],
    ["publish", false, anOpenTask(), "warn"],
    ["notify", true, noticed, "info"],
    ["notify", false, noticed, "warn"],
  ])("of kind %s with the answer %j has its level", async (call, answer, record, level) => {
    const host = new MemoryHost();
    Object.assign(host.outside, { [call]: answering(answer) });
    const step = callOf(record);
    expect(step.kind).toBe(call);
    const { signal } = new AbortController();
    const outcome = await makeCall(step, new SimulatedObject(host), signal, NOW);
    expect(outcome.level).toBe(level);
  });

  it.each([anAttachedTask(), anOpenTask(), noticed])(
    "is no warning when the call was aborted ($status)",
    async (record) => {
      const host = new MemoryHost();
      Object.assign(host.outside, {
        poll: answering(UNANSWERED),
        publish: answering(false),
        notify: answering(false),
      });
      const object = new SimulatedObject(host);
      const outcome = await makeCall(callOf(record), object, AbortSignal.abort(), NOW);
      expect(outcome.level).toBe("info");
    },
  );
});

it.each(["delivered", "timeout"] as const)("an attempt that ends %s has its level", async (end) => {
  const host = new MemoryHost();
  const levels: LogLevel[] = [];
  Object.assign(host, { log: (_line: LogLine, level: LogLevel) => levels.push(level) });
  host.start().loop.apply(aReport(undefined, aCreation()));
  await host.answer(end);
  expect(levels).toEqual([end === "delivered" ? "info" : "warn"]);
});
