import { describe, expect, it } from "vitest";
import type { OrderedOutput } from "../../src/core/duties/copy-order.ts";
import {
  beginCopies,
  type Copies,
  deletedAgain,
  dueDeletions,
  endReport,
  endTry,
  nextCopy,
  nextDeletionAt,
  noteAfterDeletion,
  noteErasure,
  startTry,
  type TryResult,
  unreported,
  wakeAt,
  withoutCopies,
  withoutTry,
  withUpload,
} from "../../src/objects/output/copy-plan.ts";
import { DAY, HOUR, ID, MINUTE, NOW, ORIGIN, SECOND, VIDEO } from "./builders.ts";

const KEPT = { kind: "kept", bytes: 7, mediaType: "video/mp4" } as const;
const FAILED: TryResult = { kind: "failed", reason: "refused", isFinal: false };
const FINAL: TryResult = { kind: "failed", reason: "too_large", isFinal: true };
const SOURCE_ENDS_AT = NOW + DAY;
const LIFE = { recordedAt: NOW, expiresAt: NOW + 7 * DAY };
const KEPT_OUTPUTS = { taskId: ID, ...LIFE, outputs: [{ number: 1 }, { number: 2 }] };

function begun(count = 1, stored: readonly OrderedOutput[] = []): Copies {
  const copied = Array.from({ length: count }, (_, i) => ({ number: i + 1, source: VIDEO }));
  const outputs = [...copied, ...stored];
  const owner = { account: null, origin: ORIGIN, connection: null, customerKey: null };
  return beginCopies({ taskId: ID, ...LIFE, ...owner, outputs, deleted: [] }, NOW);
}

/** Returns the copies after a try of one of them that took no time. */
function tried(copies: Copies, result: TryResult, now = NOW, number = 1): Copies {
  return endTry(startTry(copies, number, now, 0), number, result, SOURCE_ENDS_AT, now);
}

describe("the plan of copies", () => {
  it("when a task orders copies of its outputs, all copies are due at once and start in the order of the outputs", () => {
    const copies = begun(2);
    expect(wakeAt(copies)).toBe(NOW);
    expect(nextCopy(copies, NOW)?.number).toBe(1);
    expect(nextCopy(startTry(copies, 1, NOW, 0), NOW)?.number).toBe(2);
    expect(nextCopy(copies, NOW - 1)).toBeNull();
  });

  it("a failed try to copy an output is repeated after 10 s, then after twice the wait each time, up to an hour, plus up to a fifth at random", () => {
    const waits: number[] = [];
    let [copies, now] = [begun(), NOW];
    for (let tries = 0; tries < 11; tries++) {
      copies = tried(copies, FAILED, now);
      waits.push((wakeAt(copies) - now) / SECOND);
      now = wakeAt(copies);
    }
    expect(waits).toEqual([10, 20, 40, 80, 160, 320, 640, 1280, 2560, 3600, 3600]);
    expect(wakeAt(startTry(begun(), 1, NOW, 1))).toBe(NOW + 12 * SECOND);
  });

  it("a file that is in the bucket already is neither copied nor reported, and is deleted with the other copies of the task", () => {
    const stored = { bytes: 7, mediaType: "image/png" };
    const copies = begun(1, [{ number: 0, source: null, stored }]);
    expect(copies.list.map(({ number }) => number)).toEqual([1, 0]);
    expect(nextCopy(startTry(copies, 1, NOW, 0), NOW)).toBeNull();
    expect(unreported(tried(copies, KEPT))).toMatchObject([{ number: 1 }]);
    expect(wakeAt(begun(0, [{ number: 0, source: null, stored }]))).toBe(NOW + 7 * DAY);
  });

  it("when a crash interrupts a try to copy an output, the try counts, and the next try follows after the usual wait", () => {
    const started = startTry(begun(), 1, NOW, 0);
    expect(nextCopy(started, NOW + 9 * SECOND)).toBeNull();
    expect(nextCopy(started, NOW + 10 * SECOND)?.state).toMatchObject({ tries: 1 });
  });

  it("the next try to copy an output is never before the end of the last one, even when that took longer than the wait", () => {
    const ended = endTry(startTry(begun(), 1, NOW, 0), 1, FAILED, SOURCE_ENDS_AT, NOW + HOUR);
    expect(wakeAt(ended)).toBe(NOW + HOUR);
  });

  it("when a try to copy an output fails, the id of its multipart upload is stored until the next try to copy the output starts", () => {
    const uploading = withUpload(startTry(begun(), 1, NOW, 0), 1, "upload-1");
    const failed = endTry(uploading, 1, FAILED, SOURCE_ENDS_AT, NOW);
    const due = nextCopy(failed, NOW + 10 * SECOND);
    expect(due?.state.uploadId).toBe("upload-1");
    const again = nextCopy(startTry(failed, 1, NOW, 0), NOW + HOUR);
    expect(again?.state.uploadId).toBeNull();
  });

  it("a try to copy an output that is put off does not count, and its copy is due as before", () => {
    const failed = tried(begun(), FAILED);
    const due = nextCopy(failed, NOW + 10 * SECOND);
    if (due === null) throw new Error("no copy is due");
    const startedAt = NOW + MINUTE;
    expect(withoutTry(startTry(failed, 1, startedAt, 0), due)).toEqual(failed);
  });

  it("the relay gives up copying an output after an error that every further try would meet again (the output is too large, say)", () => {
    const lost = { kind: "lost", reason: "too_large" };
    expect(unreported(tried(begun(), FINAL))).toEqual([{ number: 1, state: lost }]);
  });

  it("the relay gives up copying an output only when the next try would come after the upstream's link to the output has expired", () => {
    const lost = [{ number: 1, state: { kind: "lost", reason: "refused" } }];
    const copies = begun();
    expect(unreported(tried(copies, FAILED, SOURCE_ENDS_AT - 10 * SECOND))).toEqual(lost);
    expect(unreported(tried(copies, FAILED, SOURCE_ENDS_AT - 10 * SECOND - 1))).toEqual([]);
  });

  it("the relay tries at least once to copy each output, even when the upstream's link has already expired", () => {
    expect(nextCopy(begun(), SOURCE_ENDS_AT + HOUR)?.number).toBe(1);
  });

  it("when an output is already copied, the outcome of a further try to copy it changes nothing", () => {
    const kept = tried(begun(), KEPT);
    expect(tried(kept, FINAL)).toEqual(kept);
    expect(withUpload(kept, 1, "upload-1")).toEqual(kept);
  });
});

describe("the report to the task of copies that have ended", () => {
  it("as soon as a copy of an output has ended, a report to the task is due, which names only the ended copies that were not reported before", () => {
    const first = tried(begun(2), KEPT);
    expect(first.report).toEqual({ retryAt: NOW, tries: 0 });
    const told = endReport(first, unreported(first), true, NOW);
    expect([told.report, unreported(told)]).toEqual([null, []]);
    const second = tried(told, FINAL, NOW, 2);
    expect(unreported(second).map(({ number }) => number)).toEqual([2]);
  });

  it("when a task does not accept the report that copies of its outputs have ended, the report is repeated after 5 s, then after twice as long", () => {
    const ended = tried(begun(), KEPT);
    const once = endReport(ended, unreported(ended), false, NOW);
    expect(wakeAt(once)).toBe(NOW + 5 * SECOND);
    const twice = endReport(once, unreported(once), false, NOW + MINUTE);
    expect(wakeAt(twice)).toBe(NOW + MINUTE + 10 * SECOND);
  });

  it("when a further copy of an output ends while a task is being told about ended copies, another report to the task is due", () => {
    const first = tried(begun(2), KEPT);
    const both = tried(first, KEPT, NOW, 2);
    const told = endReport(both, unreported(first), true, NOW + SECOND);
    expect(told.report).toEqual({ retryAt: NOW + SECOND, tries: 0 });
  });

  it("a deleted copy that a try may still store is deleted once more after 15 minutes; one that was never tried, or is there, is not", () => {
    const stored = { bytes: 7, mediaType: "image/png" };
    const started = startTry(begun(2, [{ number: 0, source: null, stored }]), 1, NOW, 0);
    const deleted = withoutCopies(started, [0, 1, 2], NOW);
    expect(wakeAt(deleted)).toBe(NOW + 15 * MINUTE);
    expect(dueDeletions(deleted, NOW + 15 * MINUTE - 1)).toEqual([]);
    expect(dueDeletions(deleted, NOW + 15 * MINUTE)).toEqual([1]);
    expect(endTry(deleted, 1, KEPT, SOURCE_ENDS_AT, NOW)).toEqual(deleted);
    expect(wakeAt(deletedAgain(deleted, [1]))).toBe(NOW + 7 * DAY);
  });

  it("the copies of an erased task are deleted once more after a day and, if a try may still store one, after 15 minutes too", () => {
    const started = startTry(begun(2), 1, NOW, 0);
    for (const unsettled of [started, withoutCopies(started, [1], NOW)]) {
      const erased = noteErasure(unsettled, KEPT_OUTPUTS, NOW);
      expect(nextDeletionAt(erased)).toBe(NOW + 15 * MINUTE);
      const later = noteAfterDeletion(erased, NOW + 15 * MINUTE);
      expect(later).toEqual(noteErasure(begun(2), KEPT_OUTPUTS, NOW));
      const repeated = noteErasure(erased, KEPT_OUTPUTS, NOW + MINUTE);
      expect(nextDeletionAt(repeated)).toBe(NOW + 16 * MINUTE);
    }
    for (const settled of [null, begun(2), tried(begun(), KEPT)]) {
      const erased = noteErasure(settled, KEPT_OUTPUTS, NOW);
      expect(nextDeletionAt(erased)).toBe(NOW + DAY);
      expect(noteAfterDeletion(erased, NOW + DAY)).toBeNull();
    }
  });

  it("once a task has accepted the report that all copies of its outputs have ended, the next alarm is set for the time at which the copies are deleted", () => {
    const ended = tried(begun(), KEPT);
    expect(wakeAt(endReport(ended, unreported(ended), true, NOW))).toBe(NOW + 7 * DAY);
  });
});
