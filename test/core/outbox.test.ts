import { describe, expect, it } from "vitest";
import type { PublishEndedEvent, TaskEvent } from "../../src/core/events/event.ts";
import type { Notice } from "../../src/core/record/notice.ts";
import { UNPUBLISHED } from "../../src/core/record/publication.ts";
import { nextStep } from "../../src/core/step.ts";
import type { TaskRecord } from "../../src/core/record/task.ts";
import { transition } from "../../src/core/transition.ts";
import {
  aFinishedTask,
  anOpenTask,
  aPolicy,
  committed,
  finished,
  HOUR,
  NOW,
  POLICY,
  SECOND,
} from "./builders.ts";
import { aChargingTask, aRefundingTask } from "./credit-builders.ts";

const LATER = NOW + HOUR;

function published(version: number, isPublished = true): PublishEndedEvent {
  return { type: "publish_ended", version, isPublished };
}

function decide(record: TaskRecord | null, event: TaskEvent) {
  return transition(record, event, POLICY, LATER);
}

const visible: readonly (readonly [string, TaskRecord])[] = [
  ["an open task", anOpenTask()],
  ["a finished task", aFinishedTask()],
  ["a task whose credits are on their way back", aRefundingTask()],
];

describe("the end of a publication", () => {
  it.each(visible)("is recorded for %s without a new version", (_, record) => {
    expect(committed(decide(record, published(NOW)))).toEqual({
      ...record,
      publication: { version: NOW, retryAt: 0, tries: 0 },
    });
  });

  it.each(visible)("plans another write for %s when it failed", (_, record) => {
    expect(committed(decide(record, published(NOW, false)))).toEqual({
      ...record,
      publication: { version: 0, retryAt: LATER + 5 * SECOND, tries: 1 },
    });
  });

  it("of an older version leaves the newer one to be written", () => {
    const record = aFinishedTask({ version: NOW + 1 });
    const after = committed(decide(record, published(NOW)));
    expect(after.publication.version).toBe(NOW);
    const step = nextStep(after, aPolicy({ isIndexed: true }), LATER);
    expect(step).toMatchObject({ kind: "publish", row: { version: NOW + 1 } });
  });

  it.each([
    ["nobody knows", null],
    ["is being charged again", aChargingTask()],
  ])("changes nothing of a task that %s", (_what, record) => {
    expect(decide(record, published(NOW))).toEqual({ kind: "unchanged", record });
  });
});

describe("the end of a notice", () => {
  const notice: Notice = { kind: "callback.failed", version: NOW, retryAt: NOW, tries: 0 };
  const other: Notice = { ...notice, kind: "refund.delayed" };
  const older: Notice = { ...notice, version: NOW - 1 };
  const record = aFinishedTask({ notices: [older, notice, other] });
  const ended = (isTaken: boolean): TaskEvent => {
    const { kind, version } = notice;
    return { type: "notice_ended", kind, version, isTaken };
  };

  it("removes only the notice that was taken, without a new version", () => {
    expect(committed(decide(record, ended(true)))).toEqual({ ...record, notices: [older, other] });
  });

  it("plans another try of a notice that was not taken", () => {
    const again = { ...notice, retryAt: LATER + 5 * SECOND, tries: 1 };
    expect(finished(decide(record, ended(false))).notices).toEqual([older, again, other]);
  });

  it.each([
    ["nobody knows", null],
    ["is open again", anOpenTask()],
  ])("changes nothing of a task that %s", (_what, gone) => {
    expect(decide(gone, ended(true))).toEqual({ kind: "unchanged", record: gone });
  });
});

describe("an order to write the row again", () => {
  const told = { version: NOW, retryAt: LATER + HOUR, tries: 8 };

  it.each(visible)("makes the row due now without a new version: %s", (_what, record) => {
    const after = committed(decide({ ...record, publication: told }, { type: "republish" }));
    expect(after).toEqual({ ...record, publication: UNPUBLISHED });
  });

  it("of a settled task is followed at once", () => {
    const after = committed(decide(aFinishedTask({ publication: told }), { type: "republish" }));
    expect(nextStep(after, aPolicy({ isIndexed: true }), LATER)?.kind).toBe("publish");
  });

  it.each([
    ["nobody knows", null],
    ["exists for nobody yet", aChargingTask()],
  ])("is refused for a task that %s", (_what, record) => {
    expect(decide(record, { type: "republish" })).toEqual({
      kind: "reject",
      rejection: { code: "unknown_task" },
    });
  });
});
