import { writeIndexRow } from "../../src/core/duties/index-row-write.ts";
import { describe, expect, it } from "vitest";
import { type IndexRowState, NO_INDEX_ROW } from "../../src/core/record/index-row-state.ts";
import {
  noteIndexRow,
  nextWriteAfter,
  rowExpiresAt,
} from "../../src/core/plans/index-row-schedule.ts";
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
  runningSince,
} from "./builders.ts";
import { aChargedTask, aChargingTask, aRefundingTask } from "./credit-builders.ts";

const INDEXED = aPolicy({ isIndexed: true });
const SOON = 2_500;

/**
 * Returns the time at which the row of the index is due; null when no write is due. @param indexTriedAt time
 * of the last failed write.
 */
function writeAt(record: TaskRecord, indexTriedAt = 0): number | null {
  return writeIndexRow(record, { ...INDEXED, indexTriedAt })?.dueAt ?? null;
}

function known(version: number, changes: Partial<IndexRowState> = {}): IndexRowState {
  return { ...NO_INDEX_ROW, version, ...changes };
}

/** Builds a task whose next attempt is due this long after NOW. */
function dueIn(ms: number, changes: Parameters<typeof aFinishedTask>[0] = {}) {
  const attempts = [anAttempt({ outcome: "rejected" })];
  const state = { kind: "due", nextAttemptAt: NOW + ms } as const;
  return aFinishedTask({ callback: aCallback({ attempts, state, deliveredAt: null }), ...changes });
}

/** Returns the times of all further writes, each of which fails, in milliseconds after NOW. */
function retries(record: TaskRecord, triedAt: number, until: number): readonly number[] {
  const times: number[] = [];
  for (let at = triedAt; at < until;) {
    at = nextWriteAfter(record, at);
    times.push(at - NOW);
  }
  return times;
}

const inFlight = aFinishedTask({
  callback: aCallback({ state: runningSince(NOW) }),
});
const undelivered = aFinishedTask({ callback: aCallback({ state: { kind: "failed" } }) });

describe("a change is written to the index", () => {
  it.each<readonly [what: string, record: TaskRecord, at: number | null]>([
    ["30 s after the task was created", anOpenTask(), NOW + 30 * SECOND],
    ["30 s after its price was charged", aChargedTask(), NOW + 30 * SECOND],
    [
      "45 s after it was changed, when an earlier version is in the index",
      anOpenTask({ indexRow: known(NOW - HOUR) }),
      NOW + 45 * SECOND,
    ],
    [
      "30 s after the task was created, although the task has changed since",
      anOpenTask({ version: NOW + 20 * SECOND, indexRow: known(0, { outdatedAt: NOW }) }),
      NOW + 30 * SECOND,
    ],
    [
      "45 s after the first of two changes",
      anOpenTask({ version: NOW + HOUR, indexRow: known(NOW, { outdatedAt: NOW + 20 * SECOND }) }),
      NOW + 65 * SECOND,
    ],
    ["at no time while a callback attempt is in flight", inFlight, null],
    ["5 s after its result while a callback attempt is planned", dueIn(MINUTE), NOW + 5 * SECOND],
    ["5 s after its failure while its refund is pending", aRefundingTask(), NOW + 5 * SECOND],
    ["at once when the callback is delivered", aFinishedTask(), NOW],
    ["at once when the callback has failed", undelivered, NOW],
    ["at once when there is no callback", aFinishedTask({ callback: null }), NOW],
    ["at no time while its price is being charged", aChargingTask(), null],
    [
      "at no time when its latest version is in the index",
      aFinishedTask({ indexRow: known(NOW) }),
      null,
    ],
    [
      "at no time when its latest version is in the index and the task is open",
      anOpenTask({ indexRow: known(NOW) }),
      null,
    ],
  ])("the write of a task's row to the index is due %s", (_what, record, at) => {
    expect(writeAt(record)).toBe(at);
  });

  it.each([
    ["it can start exactly 2.5 s before, and is made before", 5 * SECOND + SOON, NOW + 5 * SECOND],
    ["it can start only 2.499 s before, and is not made before", 5 * SECOND + SOON - 1, null],
    ["the attempt is due first, and the write is not made before", SECOND, null],
  ])(
    "a task's row is written to the index before a planned callback attempt only if the write can start at least 2.5 s before that attempt: %s",
    (_what, ms, at) => {
      expect(writeAt(dueIn(ms))).toBe(at);
    },
  );

  it("a failed index write is repeated before the next callback attempt only if at least 2.5 s are left between the two", () => {
    expect(writeAt(dueIn(20 * SECOND + SOON), NOW + 5 * SECOND)).toBe(NOW + 20 * SECOND);
    expect(writeAt(dueIn(20 * SECOND + SOON - 1), NOW + 5 * SECOND)).toBeNull();
  });

  it("when the operator orders a write of an overdue index row, the write is due at once, but is not made within 2.5 s before the next callback attempt", () => {
    const orderedAt = NOW + MINUTE;
    const ordered = { ...INDEXED, indexOrderedAt: orderedAt };
    const writeOf = (ms: number) => writeIndexRow(dueIn(ms), ordered)?.dueAt ?? null;
    expect(writeOf(MINUTE + SOON)).toBe(orderedAt);
    expect(writeOf(MINUTE + SOON - 1)).toBeNull();
  });

  it("an overdue index write waits when the task's previous work (a poll, say) has ended less than 2.5 s before the next callback attempt", () => {
    const endedAt = NOW + 20 * SECOND;
    const writeOf = (ms: number) =>
      writeIndexRow(dueIn(ms), { ...INDEXED, readyAt: endedAt })?.dueAt ?? null;
    expect(writeOf(20 * SECOND + SOON)).toBe(NOW + 5 * SECOND);
    expect(writeOf(20 * SECOND + SOON - 1)).toBeNull();
  });
});

describe("the next write of a row after a failed one", () => {
  const growing = Array.from({ length: 9 }, (_, k) => 5 * SECOND * 4 ** k);
  const last = growing.at(-1) ?? 0;
  const weekly = [1, 2, 3, 4].map((weeks) => last + weeks * 7 * DAY);

  it("a failed index write is repeated 5 s after the task's change, then each time after four times the wait, and at least every 7 days", () => {
    const { indexRow } = noteIndexRow(null, aFinishedTask(), INDEXED, NOW);
    expect(retries(aFinishedTask({ indexRow }), NOW, NOW + 28 * DAY)).toEqual([
      ...growing,
      ...weekly,
    ]);
  });

  it.each<[string, at: number, since: number, indexRow: IndexRowState, indexedVersion: number]>([
    ["while the first write is still ahead", 29 * SECOND, NOW, known(0, { outdatedAt: NOW }), 0],
    [
      "once the first write was due",
      30 * SECOND,
      NOW + 30 * SECOND,
      known(0, { outdatedAt: NOW }),
      0,
    ],
    ["after a write has failed", HOUR, NOW, known(0, { outdatedAt: NOW, hasFailed: true }), 0],
    ["that follows a stored write", SECOND, NOW + SECOND, known(NOW), 0],
    ["that follows a write that is not stored", SECOND, NOW + SECOND, known(0), NOW],
  ])(
    "after a change of a task %s, the waits between repeated index writes count from the oldest change that the index may lack",
    (_what, ms, since, indexRow, indexedVersion) => {
      const before = anOpenTask({ indexRow });
      const after = { ...before, version: NOW + ms };
      const policy = { ...INDEXED, indexedVersion };
      const { outdatedAt, version } = noteIndexRow(before, after, policy, NOW + ms).indexRow;
      expect([outdatedAt, version]).toEqual([since, Math.max(indexRow.version, indexedVersion)]);
    },
  );

  it("when a task changes in the very millisecond in which a failed write of its index row began, the row is written again 5 s later", () => {
    const before = anOpenTask({ indexRow: known(0, { outdatedAt: NOW, hasFailed: true }) });
    const ended = aFinishedTask({ indexRow: before.indexRow, version: NOW + DAY });
    const policy = { ...INDEXED, indexTriedAt: NOW + DAY };
    const task = noteIndexRow(before, ended, policy, NOW + DAY);
    expect(writeAt(task, NOW + DAY)).toBe(NOW + DAY + 5 * SECOND);
  });

  it("a repeated index write is made at the time stored in the task's record or, if none is stored, 5 s after the task's last change", () => {
    const planned = aFinishedTask({
      indexRow: known(0, { outdatedAt: NOW + HOUR, hasFailed: true }),
    });
    expect(nextWriteAfter(planned, NOW)).toBe(NOW + HOUR);
    expect(nextWriteAfter(aFinishedTask({ indexRow: known(0) }), NOW)).toBe(NOW + 5 * SECOND);
  });

  it("a repetition of an index write is not planned for a time at which the written row would have expired", () => {
    expect(writeAt(aFinishedTask(), NOW + 3 * DAY)).toBe(NOW + last);
    expect(writeAt(aFinishedTask(), NOW + last)).toBeNull();
    expect(writeAt(undelivered, NOW + last)).toBe(NOW + last + 7 * DAY);
    expect(writeAt(undelivered, NOW + 27 * DAY)).toBeNull();
    const brief = { ...INDEXED, indexRetentionMs: 5 * SECOND, indexTriedAt: NOW };
    expect(writeIndexRow(aFinishedTask(), brief)).toBeNull();
  });

  it("the index row of a task does not expire while the task is open, its refund is pending or its callback is being sent", () => {
    const expiries = [anOpenTask(), aRefundingTask(), inFlight, dueIn(MINUTE)].map((record) =>
      rowExpiresAt(record, INDEXED),
    );
    expect(expiries).toEqual([Infinity, Infinity, Infinity, Infinity]);
  });

  it("after a successful index write that only the memory of the task's Durable Object knows of, no further write is planned unless the task has changed since", () => {
    const record = aFinishedTask({ indexRow: known(0, { outdatedAt: NOW }) });
    const after = (indexedVersion: number) =>
      writeIndexRow(record, { ...INDEXED, indexedVersion })?.dueAt;
    expect([after(NOW), after(NOW - 1), after(0)]).toEqual([undefined, NOW, NOW]);
  });

  it("an index write is marked as a repetition when the task's Durable Object has tried a write since the planned time of the first", () => {
    const task = anOpenTask({ indexRow: known(0, { outdatedAt: NOW }) });
    const isRepeat = (indexTriedAt: number) => {
      const step = writeIndexRow(task, { ...INDEXED, indexTriedAt })?.step(NOW);
      return step?.kind === "writeIndexRow" && step.isRepeat;
    };
    expect([isRepeat(NOW), isRepeat(NOW + 30 * SECOND)]).toEqual([false, true]);
  });
});

describe("a version that is not in the index", () => {
  const records: readonly (readonly [string, TaskRecord])[] = [
    ["an open task that was never in the index", anOpenTask()],
    ["an open task that changed after an index write", anOpenTask({ indexRow: known(NOW - 1) })],
    ["a task whose callback attempt is due much later", dueIn(MINUTE)],
    ["a task whose callback attempt is due at once", dueIn(1)],
    ["a task whose callback attempt is in flight", inFlight],
    ["a task whose refund is pending", aRefundingTask()],
    ["a task whose callback was delivered", aFinishedTask()],
    ["a task whose callback failed", undelivered],
  ];

  it.each(records)(
    "the alarm of %s is set no later than the time at which the task's latest version is to be written to the index",
    (_what, record) => {
      const latest = writeAt(record) ?? nextAttemptOf(record);
      expect(wakeAt(record, INDEXED)).toBeLessThanOrEqual(latest);
      expect(nextStep(record, INDEXED, latest)).not.toBeNull();
    },
  );

  it.each(records)(
    "in a relay without an index database, the alarm of %s is set as if no index write were due",
    (_what, record) => {
      const everywhere = { ...record, indexRow: known(record.version) };
      expect(wakeAt(record, aPolicy())).toBe(wakeAt(everywhere, INDEXED));
    },
  );

  it("an index write contains the row of the task's current version", () => {
    const step = nextStep(undelivered, INDEXED, NOW);
    expect(step).toMatchObject({
      kind: "writeIndexRow",
      row: { version: NOW, callback: "failed" },
    });
  });
});

/** Returns the time of the next attempt, or the time at which the running one counts as interrupted. */
function nextAttemptOf(record: TaskRecord): number {
  const state = "callback" in record ? record.callback?.state : undefined;
  if (state?.kind === "in_flight") return state.startedAt + INDEXED.watchdogMs;
  return state?.kind === "due" ? state.nextAttemptAt : NOW;
}

describe("the order of due steps", () => {
  it("when an index write and a callback attempt, a refund or a deadline are due together, the task makes the index write last", () => {
    const interrupted = { event: { type: "attempt_ended", outcome: "interrupted" } };
    expect(nextStep(inFlight, INDEXED, NOW + MINUTE)).toMatchObject(interrupted);
    const start = { kind: "event", event: { type: "attempt_started" } };
    expect(nextStep(dueIn(5 * MINUTE), INDEXED, NOW + 10 * MINUTE)).toEqual(start);
    expect(nextStep(aRefundingTask(), INDEXED, NOW + MINUTE)?.kind).toBe("refund");
    const end = { kind: "event", event: { type: "deadline" } };
    expect(nextStep(anOpenTask(), INDEXED, NOW + 4 * DAY)).toEqual(end);
  });

  it("a task is erased at the time of its expiry even when the last write of its index row has failed shortly before", () => {
    const { expiresAt } = undelivered;
    const end = { kind: "event", event: { type: "erase" } };
    const down = { ...INDEXED, indexTriedAt: expiresAt - 1 };
    expect(nextStep(undelivered, INDEXED, expiresAt - 1)?.kind).toBe("writeIndexRow");
    expect(nextStep(undelivered, down, expiresAt)).toEqual(end);
  });
});
