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
  ["a task whose refund is pending", aRefundingTask()],
];

describe("the end of a publication", () => {
  it.each(visible)("an index write is recorded without a new version: %s", (_, record) => {
    expect(committed(decide(record, published(NOW)))).toEqual({
      ...record,
      publication: { version: NOW, retryAt: 0, tries: 0 },
    });
  });

  it.each(visible)("a failed index write is planned again for %s", (_, record) => {
    expect(committed(decide(record, published(NOW, false)))).toEqual({
      ...record,
      publication: { version: 0, retryAt: LATER + 5 * SECOND, tries: 1 },
    });
  });

  it("a successful index write of an older version leaves the newer version to be written", () => {
    const record = aFinishedTask({ version: NOW + 1 });
    const after = committed(decide(record, published(NOW)));
    expect(after.publication.version).toBe(NOW);
    const step = nextStep(after, aPolicy({ isIndexed: true }), LATER);
    expect(step).toMatchObject({ kind: "publish", row: { version: NOW + 1 } });
  });

  it.each([
    ["does not exist", null],
    ["is being charged again", aChargingTask()],
  ])("the end of an index write changes nothing for a task that %s", (_what, record) => {
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

  it("the end of a notice that was accepted removes that notice only, without a new version", () => {
    expect(committed(decide(record, ended(true)))).toEqual({ ...record, notices: [older, other] });
  });

  it("the end of a notice that was not accepted plans another try of it", () => {
    const again = { ...notice, retryAt: LATER + 5 * SECOND, tries: 1 };
    expect(finished(decide(record, ended(false))).notices).toEqual([older, again, other]);
  });

  it.each([
    ["does not exist", null],
    ["is open again", anOpenTask()],
  ])("the end of a notice changes nothing for a task that %s", (_what, gone) => {
    expect(decide(gone, ended(true))).toEqual({ kind: "unchanged", record: gone });
  });
});

describe("an order to write the row again", () => {
  const told = { version: NOW, retryAt: LATER + HOUR, tries: 8 };

  it.each(visible)("an order to publish again makes the write due now: %s", (_what, record) => {
    const after = committed(decide({ ...record, publication: told }, { type: "republish" }));
    expect(after).toEqual({ ...record, publication: UNPUBLISHED });
  });

  it("an order to publish a settled task again is followed at once", () => {
    const after = committed(decide(aFinishedTask({ publication: told }), { type: "republish" }));
    expect(nextStep(after, aPolicy({ isIndexed: true }), LATER)?.kind).toBe("publish");
  });

  it.each([
    ["does not exist", null],
    ["is still being charged", aChargingTask()],
  ])("an order to publish again is refused for a task that %s", (_what, record) => {
    expect(decide(record, { type: "republish" })).toEqual({
      kind: "reject",
      rejection: { code: "unknown_task" },
    });
  });
});
