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
    ["30 s after it was created", anOpenTask(), NOW + 30 * SECOND],
    ["30 s after its price was charged", aChargedTask(), NOW + 30 * SECOND],
    ["45 s after a later change", anOpenTask(known(NOW - HOUR)), NOW + 45 * SECOND],
    ["5 s after its result while an attempt is in flight", inFlight, NOW + 5 * SECOND],
    ["5 s after its result while an attempt is due", dueIn(MINUTE), NOW + 5 * SECOND],
    ["5 s after its failure while its refund is pending", aRefundingTask(), NOW + 5 * SECOND],
    ["at once when the callback is delivered", aFinishedTask(), NOW],
    ["at once when the callback has failed", undelivered, NOW],
    ["at once when there is no callback", aFinishedTask({ callback: null }), NOW],
    ["not while its price is being charged", aChargingTask(), null],
    ["not again when its version is in the index", aFinishedTask(known(NOW)), null],
    ["not again when its version is in the index and it is open", anOpenTask(known(NOW)), null],
    ["as planned after a failure", aFinishedTask(known(0, { retryAt: NOW + DAY })), NOW + DAY],
    [
      "30 s after it was created, even when a failed write planned an earlier time",
      anOpenTask(known(0, { retryAt: 1 })),
      NOW + 30_000,
    ],
  ])("a task is written to the index %s", (_what, record, at) => {
    expect(publishAt(record)).toBe(at);
  });

  it.each([
    ["if there is time for the longest write", 5 * SECOND + SOON, NOW + 5 * SECOND],
    ["not if there is one millisecond less", 5 * SECOND + SOON - 1, null],
    ["not if the attempt comes first", SECOND, null],
  ])("a task is written to the index before its next attempt: %s", (_what, ms, at) => {
    expect(publishAt(dueIn(ms))).toBe(at);
  });

  it("a repeated index write is left until after the next attempt when that comes too soon", () => {
    const retry = known(0, { retryAt: NOW + MINUTE, tries: 4 });
    expect(publishAt(dueIn(MINUTE + SOON, retry))).toBe(NOW + MINUTE);
    expect(publishAt(dueIn(MINUTE + SOON - 1, retry))).toBeNull();
  });
});

describe("a write to the index without an answer", () => {
  it("an index write without an answer is repeated after 5 s, then twice as long each time, at most 6 hours, without end", () => {
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

  it("an index write that fails after a success starts again with the first wait", () => {
    const late = planRewrite(planRewrite(UNPUBLISHED, NOW), NOW);
    expect(markPublished(late, NOW)).toEqual({ version: NOW, retryAt: 0, tries: 0 });
    expect(planRewrite(markPublished(late, NOW), NOW).retryAt).toBe(NOW + 5 * SECOND);
  });

  it("an index write of an older version does not lower the published version", () => {
    expect(markPublished({ ...UNPUBLISHED, version: NOW }, NOW - 1).version).toBe(NOW);
  });
});

describe("a version that is not in the index", () => {
  const records: readonly (readonly [string, TaskRecord])[] = [
    ["an open task", anOpenTask()],
    ["a later change of an open task", anOpenTask(known(NOW - 1))],
    ["a task whose attempt is due much later", dueIn(MINUTE)],
    ["a task whose attempt is due at once", dueIn(1)],
    ["a task whose attempt is in flight", inFlight],
    ["a task whose refund is pending", aRefundingTask()],
    ["a settled task", aFinishedTask()],
    ["a task whose callback failed", undelivered],
  ];

  it.each(records)("a change not in the index wakes the task in time: %s", (_what, record) => {
    const latest = publishAt(record) ?? nextAttemptOf(record);
    expect(wakeAt(record, INDEXED)).toBeLessThanOrEqual(latest);
    expect(nextStep(record, INDEXED, latest)).not.toBeNull();
  });

  it.each(records)("without an index a change wakes no task: %s", (_what, record) => {
    const everywhere = { ...record, ...known(record.version) };
    expect(wakeAt(record, aPolicy())).toBe(wakeAt(everywhere, INDEXED));
  });

  it("a version that is not in the index is published as the row of that version", () => {
    const step = nextStep(undelivered, INDEXED, NOW);
    expect(step).toMatchObject({ kind: "publish", row: { version: NOW, callback: "failed" } });
  });
});

function nextAttemptOf(record: TaskRecord): number {
  if (!("callback" in record) || record.callback?.state.kind !== "due") return NOW;
  return record.callback.state.nextAttemptAt;
}

describe("the order of due steps", () => {
  it("an attempt, a refund and a deadline that are due come before the index write", () => {
    expect(nextStep(inFlight, INDEXED, NOW + MINUTE)?.kind).toBe("send");
    const start = { kind: "event", event: { type: "attempt_started" } };
    expect(nextStep(dueIn(5 * MINUTE), INDEXED, NOW + 10 * MINUTE)).toEqual(start);
    expect(nextStep(aRefundingTask(), INDEXED, NOW + MINUTE)?.kind).toBe("refund");
    const end = { kind: "event", event: { type: "deadline" } };
    expect(nextStep(anOpenTask(), INDEXED, NOW + 4 * DAY)).toEqual(end);
  });

  it("an index write that is due comes before the erasure and does not delay it", () => {
    const { expiresAt } = undelivered;
    expect(nextStep(undelivered, INDEXED, expiresAt)?.kind).toBe("publish");
    const down = { ...undelivered, publication: planRewrite(UNPUBLISHED, expiresAt) };
    expect(nextStep(down, INDEXED, expiresAt)).toEqual({ kind: "event", event: { type: "erase" } });
  });
});
