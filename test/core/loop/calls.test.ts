import { describe, expect, it } from "vitest";
import { type CallStep, nextStep } from "../../../src/core/step.ts";
import type { TaskRecord } from "../../../src/core/record/task.ts";
import type { LogLevel, LogLine } from "../../../src/log.ts";
import { makeCall } from "../../../src/task-object/calls.ts";
import { SimulatedObject } from "../../simulation/simulated-object.ts";
import {
  aCreation,
  aFinishedTask,
  anOpenTask,
  aPolicy,
  aReport,
  CONNECTION,
  HOUR,
  ID,
  NOW,
} from "../builders.ts";
import { aChargingTask, aRefundingTask, PRICE } from "../credit-builders.ts";
import {
  anAttachedTask,
  newsAnswer,
  QUEUED,
  rateLimited,
  UNANSWERED,
  UNAUTHORIZED,
} from "../upstream-builders.ts";
import { MemoryHost } from "./memory-host.ts";

type Call = "charge" | "refund" | "poll" | "publish" | "notify";

const everything = aPolicy({ isIndexed: true, isOperatorNotified: true });
const notice = { kind: "callback.failed", version: NOW, retryAt: NOW, tries: 0 } as const;
const published = { version: NOW, retryAt: 0, tries: 0 };
const RECORDS: Readonly<Record<Call, TaskRecord>> = {
  charge: aChargingTask(),
  refund: aRefundingTask(),
  poll: anAttachedTask(),
  publish: anOpenTask(),
  notify: aFinishedTask({ publication: published, notices: [notice] }),
};
const LINES: Readonly<Record<Call, object>> = {
  charge: { event: "credits.charge", account: "acme", amount: PRICE },
  refund: { event: "credits.refund", account: "acme", amount: PRICE },
  poll: { event: "upstream.poll", connection: CONNECTION },
  publish: { event: "index.publish", version: NOW },
  notify: { event: "operator.notice", notice: "callback.failed" },
};

/** Makes the call that a record owes; the other side gives this answer. */
function make(call: Call, answer: unknown, signal = new AbortController().signal) {
  const step = nextStep(RECORDS[call], everything, NOW + HOUR);
  if (!isCall(step)) throw new Error(`expected a call: ${JSON.stringify(step)}`);
  expect(step.kind).toBe(call);
  const host = new MemoryHost();
  Object.assign(host.outside, { [call]: () => Promise.resolve(answer) });
  return makeCall(step, new SimulatedObject(host), signal, NOW);
}

function isCall(step: ReturnType<typeof nextStep>): step is CallStep {
  return step !== null && step.kind !== "event" && step.kind !== "send";
}

describe("the log line of a call", () => {
  it.each<[Call, unknown, outcome: string, LogLevel]>([
    ["charge", { kind: "charged", generation: 1 }, "charged", "detail"],
    ["charge", { kind: "unknown_account" }, "unknown_account", "info"],
    ["charge", { kind: "unknown" }, "unknown", "warn"],
    ["refund", true, "refunded", "detail"],
    ["refund", false, "unknown", "warn"],
    ["poll", newsAnswer(QUEUED), "queued", "detail"],
    ["poll", rateLimited(), "limited", "info"],
    ["poll", UNANSWERED, "unanswered", "warn"],
    ["poll", UNAUTHORIZED, "unauthorized", "warn"],
    ["publish", true, "published", "detail"],
    ["publish", false, "unknown", "warn"],
    ["notify", true, "delivered", "info"],
    ["notify", false, "unknown", "warn"],
  ])(
    "a task's outside call (here %s; publish is to the index, notify to the operator) answered %j is logged as %s, level %s",
    async (call, answer, outcome, level) => {
      const line = { ...LINES[call], task_id: ID, outcome };
      expect(await make(call, answer)).toMatchObject({ line, level });
    },
  );

  it.each<[Call, unknown, outcome: string]>([
    ["poll", UNANSWERED, "aborted"],
    ["publish", false, "unknown"],
    ["notify", false, "unknown"],
  ])(
    "an aborted outside call of a task (here %s; publish is to the index, notify to the operator) is logged at level detail, not warn",
    async (call, answer, outcome) => {
      const made = await make(call, answer, AbortSignal.abort());
      expect(made).toMatchObject({ line: { outcome }, level: "detail" });
    },
  );
});

describe("the log line of an attempt", () => {
  it.each([
    ["delivered", "detail"],
    ["timeout", "warn"],
  ] as const)(
    "a callback attempt with outcome %s is logged at level %s",
    async (outcome, level) => {
      const host = new MemoryHost();
      const logged: [LogLine, LogLevel][] = [];
      Object.assign(host, { log: (...line: [LogLine, LogLevel]) => logged.push(line) });
      host.loop.apply(aReport(undefined, aCreation()));
      await host.answer(outcome, 10_000);
      const line = {
        event: "callback.attempt",
        task_id: ID,
        number: 1,
        outcome,
        status_code: null,
        duration_ms: 10_000,
        recorded: true,
      };
      expect(logged).toContainEqual([line, level]);
    },
  );
});
