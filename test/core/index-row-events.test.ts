import { describe, expect, it } from "vitest";
import type { IndexRowEndedEvent, TaskEvent } from "../../src/core/events/event.ts";
import { nextStep } from "../../src/core/step.ts";
import type { TaskRecord } from "../../src/core/record/task.ts";
import { transition } from "../../src/core/transition.ts";
import { noticeOf } from "../../src/core/record/operator-notice.ts";
import {
  aFinishedTask,
  anOpenTask,
  aPolicy,
  committed,
  HOUR,
  NOW,
  POLICY,
  PROCESSING,
  NEW_ROW,
} from "./builders.ts";
import { aHook, anAttachedTask } from "./upstream-builders.ts";
import { aChargingTask, aRefundingTask } from "./credit-builders.ts";

const LATER = NOW + HOUR;

function written(changes: Partial<IndexRowEndedEvent> = {}): IndexRowEndedEvent {
  return { type: "index_row_ended", version: NOW, isWritten: true, isRepeat: false, ...changes };
}

function decide(record: TaskRecord | null, event: TaskEvent, indexedVersion = 0) {
  return transition(record, event, aPolicy({ indexedVersion }), LATER);
}

const visible: readonly (readonly [string, TaskRecord])[] = [
  ["an open task", anOpenTask({ indexRow: NEW_ROW })],
  ["a finished task", aFinishedTask({ indexRow: NEW_ROW })],
  ["a task whose refund is pending", aRefundingTask({ indexRow: NEW_ROW })],
];

describe("the end of a write of the index row", () => {
  it.each(visible)(
    "when a write of a task's index row succeeds only at a repetition, the record of %s stores the written version, and the task's own version does not change",
    (_, record) => {
      const indexRow = { version: NOW, outdatedAt: null, hasFailed: false };
      const after = committed(decide(record, written({ isRepeat: true })));
      expect(after).toEqual({ ...record, indexRow });
    },
  );

  it.each<[string, Partial<IndexRowEndedEvent>]>([
    ["successful at its first try", {}],
    [
      "successful at a repetition, but wrote an older version,",
      { version: NOW - 1, isRepeat: true },
    ],
  ])(
    "a write of a task's index row that was %s does not change the task's record",
    (_, changes) => {
      for (const [, record] of visible) {
        expect(decide(record, written(changes))).toEqual({ kind: "unchanged", record });
      }
    },
  );

  it.each(visible)(
    "when several writes of a task's row to the index fail, only the first failure changes the record of %s",
    (_, record) => {
      const failed = committed(decide(record, written({ isWritten: false })));
      expect(failed).toEqual({ ...record, indexRow: { ...record.indexRow, hasFailed: true } });
      const again = written({ isWritten: false, isRepeat: true });
      expect(decide(failed, again)).toEqual({ kind: "unchanged", record: failed });
      const success = committed(decide(failed, written()));
      expect(success.indexRow).toEqual({ version: NOW, outdatedAt: null, hasFailed: false });
    },
  );

  it("when a task changes after its index row was written, the task's record stores the version that was written, and the new version is written to the index later", () => {
    const hook = aHook(PROCESSING);
    const task = { ...anAttachedTask(), indexRow: NEW_ROW };
    const after = committed(decide(task, hook, task.version));
    expect(after.indexRow).toEqual({ version: task.version, outdatedAt: LATER, hasFailed: false });
    const step = nextStep(after, aPolicy({ isIndexed: true }), LATER + 45_000);
    expect(step).toMatchObject({ kind: "writeIndexRow", row: { version: after.version } });
  });

  it("a change of a task's record that gives the task no new version also stores that the index already has the task's present version", () => {
    const task = aFinishedTask({ indexRow: { version: 0, outdatedAt: NOW, hasFailed: false } });
    const end = {
      type: "notice_ended",
      kind: "callback.failed",
      version: 1,
      isTaken: true,
    } as const;
    const told = noticeOf("callback.failed", 1, NOW);
    const after = committed(decide({ ...task, notices: [told] }, end, task.version));
    expect(after.indexRow).toEqual({ version: task.version, outdatedAt: null, hasFailed: false });
  });

  it.each([
    ["does not exist", null],
    ["was registered again under the same id and is being charged", aChargingTask()],
  ])(
    "the news that a write of a task's index row has succeeded is ignored when the task %s",
    (_what, record) => {
      const end = written({ isRepeat: true });
      expect(decide(record, end)).toEqual({ kind: "unchanged", record });
    },
  );
});

describe("an order to write the row again", () => {
  const known = { version: NOW, outdatedAt: null, hasFailed: false };
  const missing = { version: 0, outdatedAt: NOW, hasFailed: true };
  const again = { version: 0, outdatedAt: LATER, hasFailed: false };
  const order = { type: "rewrite_index_row", isAlwaysDue: true } as const;

  it.each(visible)(
    "an order of the operator to write index rows again makes the write due at once for %s, and does not change the task's version",
    (_what, record) => {
      for (const indexRow of [known, missing]) {
        const after = committed(decide({ ...record, indexRow }, order));
        expect(after).toEqual({ ...record, indexRow: again });
        const policy = aPolicy({ isIndexed: true, indexTriedAt: LATER - 1 });
        expect(nextStep(after, policy, LATER)?.kind).toBe(
          record === visible[2]?.[1] ? "refund" : "writeIndexRow",
        );
      }
    },
  );

  it("an order to write only lost index rows again makes a write due where none is planned, and leaves the time of a planned write as it is", () => {
    const repair = { ...order, isAlwaysDue: false };
    const record = aFinishedTask({ indexRow: missing });
    expect(decide(record, repair)).toEqual({ kind: "unchanged", record });
    const lost = aFinishedTask({ indexRow: known });
    expect(committed(decide(lost, repair)).indexRow).toEqual(again);
  });

  it("an order to write the index row again is refused for a task whose row has expired in the index", () => {
    const record = aFinishedTask({ indexRow: known });
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
