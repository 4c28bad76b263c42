import { publish } from "../../src/core/duties/publish.ts";
import { describe, expect, it } from "vitest";
import {
  markPublished,
  planRewrite,
  type Publication,
  UNPUBLISHED,
} from "../../src/core/record/publication.ts";
import { nextStep, wakeAt } from "../../src/core/step.ts";
import type { TaskRecord } from "../../src/core/record/task.ts";
import {
  aCallback,
  aFinishedTask,
  anAttempt,
  anOpenTask,
  aPolicy,
  DAY,
  HOUR,
  MINUTE,
  NOW,
  SECOND,
} from "./builders.ts";
import { aChargedTask, aChargingTask, aRefundingTask } from "./credit-builders.ts";

const INDEXED = aPolicy({ isIndexed: true });
const SOON = 2_500;

/** Returns when the row is due; null when it is not. */
function publishAt(record: TaskRecord): number | null {
  return publish(record, INDEXED)?.dueAt ?? null;
}

function known(version: number, changes: Partial<Publication> = {}) {
  return { publication: { ...UNPUBLISHED, version, ...changes } };
}

/** Its next attempt is due so long after NOW. */
function dueIn(ms: number, changes: Parameters<typeof aFinishedTask>[0] = {}) {
  const attempts = [anAttempt({ outcome: "rejected" })];
  const state = { kind: "due", nextAttemptAt: NOW + ms } as const;
  return aFinishedTask({ callback: aCallback({ attempts, state, deliveredAt: null }), ...changes });
}

const inFlight = aFinishedTask({
  callback: aCallback({ state: { kind: "in_flight", number: 1, startedAt: NOW } }),
});
const undelivered = aFinishedTask({ callback: aCallback({ state: { kind: "failed" } }) });

describe("a change is written to the index", () => {
  it.each<readonly [what: string, record: TaskRecord, at: number | null]>([
    ["30 s after the first of an open task", anOpenTask(), NOW + 30 * SECOND],
    ["30 s after the charge of one that costs something", aChargedTask(), NOW + 30 * SECOND],
    ["45 s after a later one", anOpenTask(known(NOW - HOUR)), NOW + 45 * SECOND],
    ["5 s later while an attempt is on its way", inFlight, NOW + 5 * SECOND],
    ["5 s later while an attempt is due", dueIn(MINUTE), NOW + 5 * SECOND],
    ["5 s later while credits are on their way back", aRefundingTask(), NOW + 5 * SECOND],
    ["at once when the callback is delivered", aFinishedTask(), NOW],
    ["at once when it has failed", undelivered, NOW],
    ["at once when there is no callback", aFinishedTask({ callback: null }), NOW],
    ["never while the price is not charged", aChargingTask(), null],
    ["not again when it is known there", aFinishedTask(known(NOW)), null],
    ["not again when it is known of an open task", anOpenTask(known(NOW)), null],
    ["when it is to be tried again", aFinishedTask(known(0, { retryAt: NOW + DAY })), NOW + DAY],
    [
      "not before its time, though tried before",
      anOpenTask(known(0, { retryAt: 1 })),
      NOW + 30_000,
    ],
  ])("%s", (_what, record, at) => {
    expect(publishAt(record)).toBe(at);
  });

  it.each([
    ["before the time that a write may take", 5 * SECOND + SOON, NOW + 5 * SECOND],
    ["one millisecond too late for that", 5 * SECOND + SOON - 1, null],
    ["when the attempt comes first", SECOND, null],
  ])("before the next attempt only %s", (_what, ms, at) => {
    expect(publishAt(dueIn(ms))).toBe(at);
  });

  it("is left to the attempt also when it is tried again", () => {
    const retry = known(0, { retryAt: NOW + MINUTE, tries: 4 });
    expect(publishAt(dueIn(MINUTE + SOON, retry))).toBe(NOW + MINUTE);
    expect(publishAt(dueIn(MINUTE + SOON - 1, retry))).toBeNull();
  });
});

describe("a write to the index without an answer", () => {
  it("is tried again after 5 s, then twice as long each time, at most 6 hours, without end", () => {
    let publication = UNPUBLISHED;
    const waits: number[] = [];
    for (let i = 0; i < 16; i++) {
      publication = planRewrite(publication, NOW);
      waits.push((publication.retryAt - NOW) / SECOND);
    }
    const doubled = Array.from({ length: 13 }, (_, i) => 5 * 2 ** i);
    expect(waits).toEqual([...doubled, 21_600, 21_600, 21_600]);
    expect(publication).toMatchObject({ version: 0, tries: 16 });
  });

  it("starts again with the first wait after a success", () => {
    const late = planRewrite(planRewrite(UNPUBLISHED, NOW), NOW);
    expect(markPublished(late, NOW)).toEqual({ version: NOW, retryAt: 0, tries: 0 });
    expect(planRewrite(markPublished(late, NOW), NOW).retryAt).toBe(NOW + 5 * SECOND);
  });

  it("does not lower the published version", () => {
    expect(markPublished({ ...UNPUBLISHED, version: NOW }, NOW - 1).version).toBe(NOW);
  });
});

describe("a version that is not in the index", () => {
  const records: readonly (readonly [string, TaskRecord])[] = [
    ["an open task", anOpenTask()],
    ["a later change of it", anOpenTask(known(NOW - 1))],
    ["a task whose attempt is due much later", dueIn(MINUTE)],
    ["a task whose attempt is due at once", dueIn(1)],
    ["a task whose attempt is on its way", inFlight],
    ["a task whose credits are on their way back", aRefundingTask()],
    ["a settled task", aFinishedTask()],
    ["a task that the index did not take", undelivered],
  ];

  it.each(records)("wakes the object in time: %s", (_what, record) => {
    const latest = publishAt(record) ?? nextAttemptOf(record);
    expect(wakeAt(record, INDEXED)).toBeLessThanOrEqual(latest);
    expect(nextStep(record, INDEXED, latest)).not.toBeNull();
  });

  it.each(records)("wakes no object where there is no index: %s", (_what, record) => {
    const everywhere = { ...record, ...known(record.version) };
    expect(wakeAt(record, aPolicy())).toBe(wakeAt(everywhere, INDEXED));
  });

  it("is published as the row of this version", () => {
    const step = nextStep(undelivered, INDEXED, NOW);
    expect(step).toMatchObject({ kind: "publish", row: { version: NOW, callback: "failed" } });
  });
});

function nextAttemptOf(record: TaskRecord): number {
  if (!("callback" in record) || record.callback?.state.kind !== "due") return NOW;
  return record.callback.state.nextAttemptAt;
}

describe("the order of due steps", () => {
  it("puts an attempt, a refund and a deadline before the write to the index", () => {
    expect(nextStep(inFlight, INDEXED, NOW + MINUTE)?.kind).toBe("send");
    const start = { kind: "event", event: { type: "attempt_started" } };
    expect(nextStep(dueIn(5 * MINUTE), INDEXED, NOW + 10 * MINUTE)).toEqual(start);
    expect(nextStep(aRefundingTask(), INDEXED, NOW + MINUTE)?.kind).toBe("refund");
    const end = { kind: "event", event: { type: "deadline" } };
    expect(nextStep(anOpenTask(), INDEXED, NOW + 4 * DAY)).toEqual(end);
  });

  it("puts the write to the index before the erasure, which it does not delay", () => {
    const { expiresAt } = undelivered;
    expect(nextStep(undelivered, INDEXED, expiresAt)?.kind).toBe("publish");
    const down = { ...undelivered, publication: planRewrite(UNPUBLISHED, expiresAt) };
    expect(nextStep(down, INDEXED, expiresAt)).toEqual({ kind: "event", event: { type: "erase" } });
  });
});
