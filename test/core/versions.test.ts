import { describe, expect, it } from "vitest";
import type { TaskEvent } from "../../src/core/events/event.ts";
import type { TaskRecord } from "../../src/core/record/task.ts";
import { transition } from "../../src/core/transition.ts";
import {
  aCompletion,
  aFinishedTask,
  anOpenTask,
  aRedelivery,
  aReport,
  HOUR,
  NOW,
  POLICY,
  PROCESSING,
} from "./builders.ts";
import { aChargeEnd, aChargingTask, aRefundEnd, aRefundingTask } from "./credit-builders.ts";
import { apply } from "./decisions.ts";
import { anAttachment, aProvidedTask } from "./upstream-builders.ts";

type Change = readonly [what: string, record: TaskRecord, event: TaskEvent];

const changes: readonly Change[] = [
  ["a charge of its price", aChargingTask(), aChargeEnd()],
  ["an unanswered charge of its price", aChargingTask(), aChargeEnd({ kind: "unknown" })],
  ["the attachment of a provider's job", aProvidedTask(), anAttachment()],
  ["an event with the status processing", anOpenTask(), aReport(PROCESSING)],
  ["an event with its result", anOpenTask(), aReport(aCompletion())],
  ["its cancellation", anOpenTask(), { type: "cancel", isForced: false }],
  ["a refund of its credits", aRefundingTask(), aRefundEnd(true)],
  ["an unanswered refund of its credits", aRefundingTask(), aRefundEnd(false)],
  ["a redelivery of its callback", aFinishedTask(), aRedelivery()],
];

/** Readers compare the versions of a task, and the index stores a row only if its version is higher. */
describe.each(changes)("the version of a task: %s", (what, record, event) => {
  it.each([
    ["the time of the change", HOUR, NOW + HOUR],
    ["its earlier version plus 1, if the earlier change was in the same millisecond", 0, NOW + 1],
    ["its earlier version plus 1, if the clock was put back in between", -HOUR, NOW + 1],
  ])(
    `when a task's record is changed by ${what}, its new version number is %s`,
    (_when, afterMs, version) => {
      expect(apply(record, event, NOW + afterMs).version).toBe(version);
    },
  );
});

it("a task refuses an event of a type that only a later release of the relay knows, with an error that says so and names the type", () => {
  expect(() => transition(anOpenTask(), laterEvent(), POLICY, NOW)).toThrow(
    "an event of a later release: split",
  );
});

function laterEvent(): TaskEvent {
  return JSON.parse('{"type":"split"}');
}
