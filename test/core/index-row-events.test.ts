import { describe, expect, it } from "vitest";
import type { IndexRowEndedEvent, TaskEvent } from "../../src/core/events/event.ts";
import { nextStep } from "../../src/core/step.ts";
import type { TaskRecord } from "../../src/core/record/task.ts";
import { transition } from "../../src/core/transition.ts";
import { aFinishedTask, anOpenTask, aPolicy, committed, HOUR, NOW, POLICY } from "./builders.ts";
import { aChargingTask, aRefundingTask } from "./credit-builders.ts";

const LATER = NOW + HOUR;

function written(version: number, isWritten = true): IndexRowEndedEvent {
  return { type: "index_row_ended", version, isWritten };
}

function decide(record: TaskRecord | null, event: TaskEvent) {
  return transition(record, event, POLICY, LATER);
}

const visible: readonly (readonly [string, TaskRecord])[] = [
  ["an open task", anOpenTask()],
  ["a finished task", aFinishedTask()],
  ["a task whose refund is pending", aRefundingTask()],
];

describe("the end of a write of the index row", () => {
  it.each(visible)(
    "a successful index write is recorded in %s and does not change the task's version",
    (_, record) => {
      const publication = { version: NOW, retryAt: 0, tries: 0 };
      expect(committed(decide(record, written(NOW)))).toEqual({ ...record, publication });
    },
  );

  it.each(visible)("a failed index write does not change the record of %s", (_, record) => {
    expect(decide(record, written(NOW, false))).toEqual({ kind: "unchanged", record });
  });

  it("after an index write of an older version of a task succeeded, the newer version is still to be written", () => {
    const record = aFinishedTask({ version: NOW + 1 });
    const after = committed(decide(record, written(NOW)));
    expect(after.publication.version).toBe(NOW);
    const step = nextStep(after, aPolicy({ isIndexed: true }), LATER);
    expect(step).toMatchObject({ kind: "writeIndexRow", row: { version: NOW + 1 } });
  });

  it.each([
    ["does not exist", null],
    ["was registered again under the same id and is being charged", aChargingTask()],
  ])("the result of an index write is ignored when the task %s", (_what, record) => {
    expect(decide(record, written(NOW))).toEqual({ kind: "unchanged", record });
  });
});

describe("an order to write the row again", () => {
  const known = { version: NOW, retryAt: 0, tries: 0 };
  const missing = { version: 0, retryAt: NOW, tries: 8 };
  const again = { version: 0, retryAt: LATER, tries: 0 };
  const order = { type: "republish", isAlwaysDue: true } as const;

  it.each(visible)(
    "an order to write the index row again makes the write due at once for %s and does not change the task's version",
    (_what, record) => {
      for (const publication of [known, missing]) {
        const after = committed(decide({ ...record, publication }, order));
        expect(after).toEqual({ ...record, publication: again });
        const policy = aPolicy({ isIndexed: true, indexTriedAt: LATER - 1 });
        expect(nextStep(after, policy, LATER)?.kind).toBe(
          record === visible[2]?.[1] ? "refund" : "writeIndexRow",
        );
      }
    },
  );

  it("an order to write only lost index rows again plans a write where none is planned, and leaves a planned one as it is", () => {
    const repair = { ...order, isAlwaysDue: false };
    const record = aFinishedTask({ publication: missing });
    expect(decide(record, repair)).toEqual({ kind: "unchanged", record });
    const lost = aFinishedTask({ publication: known });
    expect(committed(decide(lost, repair)).publication).toEqual(again);
  });

  it("an order to write the index row again is refused for a task whose row has expired in the index", () => {
    const record = aFinishedTask({ publication: known });
    const at = NOW + POLICY.indexRetentionMs;
    expect(transition(record, order, POLICY, at - 1).kind).toBe("changed");
    expect(transition(record, order, POLICY, at).kind).toBe("reject");
  });

  it.each([
    ["does not exist", null],
    ["is still being charged", aChargingTask()],
  ])("an order to write the index row again is refused for a task that %s", (_what, record) => {
    expect(decide(record, order)).toEqual({
      kind: "reject",
      rejection: { code: "unknown_task" },
    });
  });
});
