import { describe, expect, it } from "vitest";
import { noticeOf } from "../../../src/core/record/operator-notice.ts";
import { type CallStep, nextStep } from "../../../src/core/step.ts";
import type { TaskRecord } from "../../../src/core/record/task.ts";
import type { LogLevel, LogLine } from "../../../src/lib/log.ts";
import { makeCall } from "../../../src/objects/task/calls.ts";
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
  URL_A,
} from "../builders.ts";
import { aCancelEnd, aCancelingTask } from "../cancel-builders.ts";
import { aChargingTask, aRefundingTask, aReleasingTask, PRICE } from "../credit-builders.ts";
import {
  anAttachedTask,
  newsAnswer,
  NO_OUTPUT,
  QUEUED,
  rateLimited,
  UNANSWERED,
  UNAUTHORIZED,
} from "../upstream-builders.ts";
import { MemoryHost } from "./memory-host.ts";

type Call = "charge" | "refund" | "release" | "poll" | "cancelJob" | "writeIndexRow" | "sendNotice";

const everything = aPolicy({ isIndexed: true, isOperatorNotified: true });
const notice = noticeOf("callback.failed", NOW, NOW);
const rowState = { version: NOW, outdatedAt: null, hasFailed: false };
const RECORDS: Readonly<Record<Call, TaskRecord>> = {
  charge: aChargingTask(),
  refund: aRefundingTask(),
  release: aReleasingTask(),
  poll: anAttachedTask(),
  cancelJob: aCancelingTask(),
  writeIndexRow: anOpenTask(),
  sendNotice: aFinishedTask({ indexRow: rowState, notices: [notice] }),
};
const [canceled, refused, unclear, unanswered] = (
  ["canceled", "refused", "unclear", "unanswered"] as const
).map((kind) => aCancelEnd(kind).answer);
const LINES: Readonly<Record<Call, object>> = {
  charge: { event: "credits.charge", account: "acme", amount: PRICE },
  refund: { event: "credits.refund", account: "acme", amount: PRICE },
  release: { event: "credits.release", account: "acme", amount: PRICE - 13, final: 13 },
  poll: { event: "upstream.poll", connection: CONNECTION },
  cancelJob: { event: "upstream.cancel", connection: CONNECTION },
  writeIndexRow: { event: "index.write", version: NOW },
  sendNotice: { event: "operator.notice", notice: "callback.failed" },
};

/** Makes the call that a record requires next; the called service gives this answer. */
function make(call: Call, answer: unknown, signal = new AbortController().signal) {
  const step = nextStep(RECORDS[call], everything, NOW + HOUR);
  if (!isCall(step)) throw new Error(`expected a call: ${JSON.stringify(step)}`);
  expect(step.kind).toBe(call);
  const host = new MemoryHost();
  Object.assign(host.outside, { [call]: () => Promise.resolve(answer) });
  return makeCall(step, new SimulatedObject(host), signal, NOW);
}

function isCall(step: ReturnType<typeof nextStep>): step is CallStep {
  return step !== null && step.kind !== "event";
}

describe("the log line of a call", () => {
  it.each<[what: string, Call, unknown, outcome: string, LogLevel]>([
    ["a successful charge", "charge", { kind: "charged", generation: 1 }, "charged", "detail"],
    [
      "a charge of an unknown account",
      "charge",
      { kind: "unknown_account" },
      "unknown_account",
      "info",
    ],
    ["a charge without a usable answer", "charge", { kind: "unknown" }, "unknown", "warn"],
    ["a successful refund", "refund", true, "refunded", "detail"],
    ["a refund without a usable answer", "refund", false, "unknown", "warn"],
    ["a successful release", "release", true, "released", "detail"],
    ["a release without a usable answer", "release", false, "unknown", "warn"],
    ["a poll that finds the job queued", "poll", newsAnswer(QUEUED), "queued", "detail"],
    ["a poll that finds no output", "poll", newsAnswer(NO_OUTPUT), "no_output", "warn"],
    ["a poll refused by a rate limit", "poll", rateLimited(), "limited", "info"],
    [
      "a poll deferred by the limit of its connection",
      "poll",
      { kind: "deferred", waitMs: 1_200 },
      "deferred",
      "detail",
    ],
    ["a poll without an answer", "poll", UNANSWERED, "unanswered", "warn"],
    ["a poll whose key the provider refuses", "poll", UNAUTHORIZED, "unauthorized", "warn"],
    ["a cancellation that the upstream confirms", "cancelJob", canceled, "canceled", "info"],
    ["a cancellation that the upstream refuses", "cancelJob", refused, "refused", "info"],
    ["a cancellation with an unclear answer", "cancelJob", unclear, "unclear", "warn"],
    ["a cancellation without an answer", "cancelJob", unanswered, "unanswered", "warn"],
    ["a successful write to the index", "writeIndexRow", true, "written", "detail"],
    ["a failed write to the index", "writeIndexRow", false, "unknown", "warn"],
    ["an event that the operator accepted", "sendNotice", true, "delivered", "info"],
    ["an event that the operator did not accept", "sendNotice", false, "unknown", "warn"],
  ])(
    "a call that a task makes to ledger, upstream, index or operator is logged with its outcome, at the log level that belongs to this outcome: %s",
    async (_what, call, answer, outcome, level) => {
      const line = { ...LINES[call], task_id: ID, outcome };
      expect(await make(call, answer)).toMatchObject({ line, level });
    },
  );

  it.each<[what: string, Call, unknown, outcome: string]>([
    ["an unanswered poll", "poll", UNANSWERED, "aborted"],
    ["an unanswered cancellation", "cancelJob", unanswered, "aborted"],
    ["an unfinished write to the index", "writeIndexRow", false, "unknown"],
    ["an unanswered release", "release", false, "unknown"],
    ["an unanswered operator event", "sendNotice", false, "unknown"],
  ])(
    '%s is logged at the log level "detail", not "warn", when the relay itself has aborted it',
    async (_what, call, answer, outcome) => {
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
    'a callback attempt with the outcome "%s" is logged at the log level "%s"',
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
        host: new URL(URL_A).host,
        account: null,
        provider: null,
        outcome,
        status_code: null,
        duration_ms: 10_000,
        recorded: true,
      };
      expect(logged).toContainEqual([line, level]);
    },
  );
});
