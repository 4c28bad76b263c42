import { describe, expect, it } from "vitest";
import {
  firstOrderOf,
  orderCopies,
  orderOf,
  outputsToDelete,
} from "../../src/core/duties/copy-order.ts";
import { hasStoredFiles } from "../../src/core/record/outputs.ts";
import { parseRecord } from "../../src/core/record/record-schema.ts";
import { isTerminal, type TaskRecord, type TerminalTask } from "../../src/core/record/task.ts";
import type { StoredFile } from "../../src/core/record/upstream.ts";
import { rowOf } from "../../src/core/views/index-row.ts";
import { taskView } from "../../src/core/views/task-view.ts";
import { sameResult } from "../../src/core/record/callback-body.ts";
import {
  aCompletion,
  aPolicy,
  MINUTE,
  NOW,
  OUTPUT_LINKS,
  POLICY,
  SECOND,
  VIDEO,
} from "./builders.ts";
import { credits, refunding } from "./credit-builders.ts";
import { apply, expectUnchanged, finish } from "./decisions.ts";
import {
  aCallingTask,
  anUnknownOutcome,
  aResultAtOnce,
  aSubmission,
  withPrice,
} from "./submission-builders.ts";
import { linkDigest } from "../../src/core/record/input-links.ts";

const KEEPING = aPolicy({ outputs: OUTPUT_LINKS });
const LATER = NOW + 3 * SECOND;
const PNG: StoredFile = { bytes: 700, mediaType: "image/png" };
const WEBP: StoredFile = { bytes: 70, mediaType: "image/webp" };
const KEPT_PNG = { kind: "kept", ...PNG } as const;
const SKELETON = { number: 0, contentType: "application/json", bytes: 90 } as const;
const WHOLE = { number: 1, contentType: "audio/mpeg", bytes: 7 } as const;
/** A link from which the relay must not fetch. */
const PLAIN = "http://cdn.example.com/video.mp4";
const calling = aCallingTask();

type Result = Parameters<typeof aCompletion>[0];

/** Returns the end of a call whose answer has these files, links and other parts. */
function aResult(changes: Result) {
  return aResultAtOnce(aCompletion({ urls: [], ...changes }), null, null);
}

function endedWith(changes: Result, policy = KEEPING): TerminalTask {
  return finish(calling, aResult(changes), LATER, policy);
}

function urlsOf({ body }: TerminalTask): unknown {
  return JSON.parse(body).output?.urls;
}

function areTaken(task: TaskRecord): boolean {
  return isTerminal(task) && task.outputs !== null && hasStoredFiles(task.outputs);
}

/** Returns the task after an output was deleted. */
function without(task: TerminalTask, number: number): TerminalTask {
  return finish(task, { type: "delete_outputs", number }, LATER);
}

describe("a result whose files were in the upstream's answer to a call", () => {
  const task = endedWith({ files: [PNG, WEBP], storedAnswer: SKELETON, urls: [VIDEO] });

  it("the files are the first outputs, are kept already and have links of the relay; outputs with links of the upstream follow and are copied", () => {
    expect(urlsOf(task)).toEqual([1, 2, 3].map((number) => expect.stringContaining(`/${number}/`)));
    expect(task.outputs).toMatchObject({
      list: [
        { number: 1, source: null, state: KEPT_PNG },
        { number: 2, source: null, state: { kind: "kept", ...WEBP } },
        { number: 3, source: VIDEO, state: { kind: "copying" } },
      ],
      answer: SKELETON,
      order: { retryAt: LATER + MINUTE, tries: 0 },
    });
    expect(areTaken(task)).toBe(true);
    expect(parseRecord(structuredClone(task))).toEqual(task);
  });

  it("files and links together get at most 32 links of the relay", () => {
    const files = Array.from({ length: 31 }, () => PNG);
    const full = endedWith({ files, urls: [VIDEO, VIDEO] });
    expect(full.outputs?.list).toHaveLength(32);
    expect(urlsOf(full)).toHaveLength(33);
    expect(urlsOf(full)).toMatchObject({ 31: expect.stringContaining("/32/"), 32: VIDEO });
  });

  it("a task takes all files of an answer that has 32 of them", () => {
    const full = endedWith({ files: Array.from({ length: 32 }, () => PNG) });
    expect(full.status).toBe("completed");
    expect(full.outputs?.list).toHaveLength(32);
  });

  it("an answer that is itself the output is its first and only file", () => {
    const spoken = endedWith({ files: [PNG], storedAnswer: WHOLE });
    expect(spoken.outputs).toMatchObject({ list: [{ number: 1 }], answer: WHOLE });
  });

  it("an answer with links alone is kept beside their copies", () => {
    const linked = endedWith({ urls: [VIDEO], storedAnswer: SKELETON });
    expect(linked.outputs).toMatchObject({ list: [{ number: 1, source: VIDEO }] });
    expect(areTaken(linked)).toBe(true);
    const unlinked = endedWith({ urls: [PLAIN], storedAnswer: SKELETON });
    expect([urlsOf(unlinked), unlinked.outputs]).toMatchObject([
      [PLAIN],
      { list: [], answer: SKELETON, order: { retryAt: LATER + MINUTE } },
    ]);
  });

  it("a task has stored files if one of its outputs was in the answer, and none if all have links of the upstream", () => {
    expect(areTaken(endedWith({ files: [PNG], urls: [VIDEO] }))).toBe(true);
    expect(areTaken(endedWith({ urls: [VIDEO] }))).toBe(false);
  });

  it("readers see the files as kept, with size and type, and the operator the upstream's links of the others", () => {
    const view = JSON.parse(taskView(task, "operator"));
    expect(view.outputs).toMatchObject([
      { kept: true, bytes: 700, content_type: "image/png" },
      { kept: true, bytes: 70, content_type: "image/webp" },
      { kept: false },
    ]);
    expect(view.source_urls).toEqual([...view.output.urls.slice(0, 2), VIDEO]);
    expect(JSON.parse(taskView(endedWith({ files: [PNG] }), "operator"))).not.toHaveProperty(
      "source_urls",
    );
    expect(rowOf(task, POLICY)).toMatchObject({ keptOutputs: 2, keptBytes: 770 });
  });

  it("a report with the task's own links repeats its result", () => {
    const { output } = JSON.parse(task.body);
    const repeated = aCompletion({ ...output, urls: [...output.urls.slice(0, 2), VIDEO] });
    expect(sameResult(task, repeated)).toBe(true);
  });

  it("the links of the call's input are no outputs, and do not hide the files", () => {
    const inputLinks = [linkDigest(VIDEO)];
    const given = { ...calling, submission: aSubmission({ inputLinks }) };
    const ended = finish(given, aResult({ files: [PNG], urls: [VIDEO] }), LATER, KEEPING);
    expect(urlsOf(ended)).toHaveLength(1);
    const alone = finish(given, aResult({ urls: [VIDEO] }), LATER, KEEPING);
    expect(alone.status).toBe("failed");
  });
});

describe("files of a call that its task does not take", () => {
  it.each([
    ["in a relay that keeps no outputs any more", POLICY, [PNG]],
    [
      "in a relay that only passes outputs on",
      aPolicy({ outputs: { ...OUTPUT_LINKS, areKept: false } }),
      [PNG],
    ],
    ["if there are more than 32", KEEPING, Array.from({ length: 33 }, () => PNG)],
  ])("a task %s fails and is refunded", (_when, policy, files) => {
    const task = finish(withPrice(calling), aResult({ files }), LATER, policy);
    expect(task).toMatchObject({
      status: "failed",
      failure: { category: "provider", retryable: false },
      credits: credits(refunding(LATER)),
      submission: { state: { kind: "accepted" } },
    });
    expect(areTaken(task)).toBe(false);
  });

  it("when a relay no longer keeps outputs, a task whose answer was stored without files fails with output_needs_store", () => {
    const task = endedWith({ urls: [VIDEO], storedAnswer: SKELETON }, POLICY);
    expect(JSON.parse(task.body).error.code).toBe("output_needs_store");
  });

  it("the files of a result that comes after the task has failed are not taken", () => {
    const failed = finish(calling, anUnknownOutcome(524), NOW);
    const late = apply(failed, aResult({ files: [PNG] }), LATER, KEEPING);
    expect(late).toMatchObject({ status: "failed", outputs: null });
    expect(areTaken(late)).toBe(false);
  });

  it("the second report of a result changes nothing, and its files belong to the task", () => {
    const task = endedWith({ files: [PNG] });
    expectUnchanged(task, aResult({ files: [PNG] }), LATER + SECOND, KEEPING);
    expect(areTaken(without(task, 1))).toBe(true);
  });
});

describe("the order to keep files that were in an answer", () => {
  const task = endedWith({ files: [PNG, WEBP], storedAnswer: SKELETON, urls: [VIDEO] });
  const skeleton = { bytes: 90, mediaType: "application/json" };

  it("the order to copy outputs names the answer and its files as stored, because nothing else would delete them", () => {
    expect(firstOrderOf(calling, task)?.outputs).toEqual([
      { number: 0, source: null, stored: skeleton },
      { number: 1, source: null, stored: PNG },
      { number: 2, source: null, stored: WEBP },
      { number: 3, source: VIDEO },
    ]);
    expect(orderCopies({ ...task, callback: null }, POLICY)?.dueAt).toBe(LATER + MINUTE);
  });

  it("an answer without a stated type is ordered as bytes, and one that is an output is ordered once", () => {
    const untyped = endedWith({ files: [PNG], storedAnswer: { ...SKELETON, contentType: null } });
    const [first] = firstOrderOf(calling, untyped)?.outputs ?? [];
    expect(first).toMatchObject({ stored: { mediaType: "application/octet-stream" } });
    const whole = endedWith({ files: [PNG], storedAnswer: WHOLE });
    expect(firstOrderOf(calling, whole)?.outputs).toMatchObject([{ number: 1 }]);
  });

  it("a deleted file leaves the order, which goes on as long as another file is to be kept, or the deletion is not confirmed", () => {
    const [one, all] = [without(task, 1), [1, 2, 3].reduce(without, task)];
    const numbersOf = ({ outputs }: TerminalTask) =>
      outputs && orderOf(one, outputs).outputs.map(({ number }) => number);
    expect([numbersOf(one), numbersOf(all)]).toEqual([[0, 2, 3], [0]]);
    expect(all.outputs?.order).not.toBeNull();
    const none = without(endedWith({ files: [PNG] }), 1);
    expect(none.outputs?.order).not.toBeNull();
    const taken = { type: "copies_ordered", isTaken: true, deleted: [1] } as const;
    const confirmed = finish(none, { ...taken, recordedAt: none.recordedAt }, LATER);
    expect(confirmed.outputs?.order).toBeNull();
  });

  it("before a task is erased, its files and its answer are deleted", () => {
    const numbers = outputsToDelete(task)?.outputs.map(({ number }) => number);
    expect(numbers).toEqual([0, 1, 2, 3]);
  });
});
