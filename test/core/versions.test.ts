import { describe, expect, it } from "vitest";
import type { TaskEvent } from "../../src/core/events/event.ts";
import type { TaskRecord } from "../../src/core/record/task.ts";
import {
  aCompletion,
  aFinishedTask,
  anOpenTask,
  aRedelivery,
  aReport,
  HOUR,
  NOW,
  PROCESSING,
} from "./builders.ts";
import { aChargeEnd, aChargingTask, aRefundEnd, aRefundingTask } from "./credit-builders.ts";
import { apply } from "./decisions.ts";
import { anAttachment, aProvidedTask } from "./upstream-builders.ts";

type Change = readonly [what: string, record: TaskRecord, event: TaskEvent];

const changes: readonly Change[] = [
  ["a charge", aChargingTask(), aChargeEnd()],
  ["a charge without an answer", aChargingTask(), aChargeEnd({ kind: "unknown" })],
  ["an attached job", aProvidedTask(), anAttachment()],
  ["a report of progress", anOpenTask(), aReport(PROCESSING)],
  ["a result", anOpenTask(), aReport(aCompletion())],
  ["a cancellation", anOpenTask(), { type: "cancel" }],
  ["a refund", aRefundingTask(), aRefundEnd(true)],
  ["a refund without an answer", aRefundingTask(), aRefundEnd(false)],
  ["a redelivery", aFinishedTask(), aRedelivery()],
];

/** Readers compare versions, and the index takes only newer rows. */
describe.each(changes)("the version of a task after %s", (what, record, event) => {
  it.each([
    ["is the time of the change", HOUR, NOW + HOUR],
    ["is its earlier version plus 1 when both are of the same millisecond", 0, NOW + 1],
    ["is its earlier version plus 1 when the clock was put back", -HOUR, NOW + 1],
  ])(`the version of a task after ${what} %s`, (_when, afterMs, version) => {
    expect(apply(record, event, NOW + afterMs).version).toBe(version);
  });
});
