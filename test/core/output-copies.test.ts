import { describe, expect, it } from "vitest";
import {
  firstOrderOf,
  orderCopies,
  outputsToDelete,
  orderOf,
} from "../../src/core/duties/copy-order.ts";
import type {
  CopiesEndedEvent,
  CopiesOrderedEvent,
  NumberedCopy,
} from "../../src/core/events/event.ts";
import { sealedKeyOf } from "../../src/core/record/customer-key.ts";
import { linkOutputs } from "../../src/core/record/outputs.ts";
import { isTerminal, type TerminalTask } from "../../src/core/record/task.ts";
import { transition } from "../../src/core/transition.ts";
import { nextStep } from "../../src/core/step.ts";
import { parseRecord } from "../../src/core/record/record-schema.ts";
import { taskView } from "../../src/core/views/task-view.ts";
import {
  aCallback,
  aCompletion,
  aFinishedTask,
  anOpenTask,
  aPolicy,
  aReport,
  CONNECTION,
  DAY,
  ID,
  MINUTE,
  NOW,
  NOW_S,
  ORIGIN,
  OUTPUT_LINKS,
  POLICY,
  relayLink,
  SECOND,
  VIDEO,
} from "./builders.ts";
import { aChargingTask } from "./credit-builders.ts";
import { apply, expectUnchanged, finish } from "./decisions.ts";
import { aSubmission, SEALED_KEY } from "./submission-builders.ts";
import { anAttachedTask, aPollEnd, newsAnswer } from "./upstream-builders.ts";

const IMAGE = "https://cdn.example.com/image.png";
const KEEPING = aPolicy({ outputs: OUTPUT_LINKS });
const TOLD = aPolicy({ isOperatorNotified: true });
const EXPIRES_AT = (NOW_S + (7 * DAY) / SECOND) * SECOND;
const KEPT = { kind: "kept", bytes: 1_234, mediaType: "video/mp4" } as const;
const LOST = { kind: "lost", reason: "refused" } as const;

/** Builds a settled task with two outputs that are to be copied, and one that keeps its own link. */
function aTaskWithOutputs(changes: Partial<TerminalTask> = {}): TerminalTask {
  const task = anOpenTask();
  const sources = { urls: [VIDEO, "http://cdn.example.com/a.mp4", IMAGE] };
  const { urls, outputs } = linkOutputs(task, sources, OUTPUT_LINKS, NOW);
  const { body } = finish(task, aReport(aCompletion({ urls })));
  return aFinishedTask({ body, outputs, ...changes });
}

function answers(
  isTaken: boolean,
  { recordedAt = NOW, deleted = [] }: Partial<CopiesOrderedEvent> = {},
): CopiesOrderedEvent {
  return { type: "copies_ordered", recordedAt, isTaken, deleted };
}

function ends(...ended: readonly NumberedCopy[]): CopiesEndedEvent {
  return { type: "copies_ended", recordedAt: NOW, ended };
}

/** Returns the task after the event. @throws when it has not ended. */
function after(task: TerminalTask, event: CopiesEndedEvent, policy = POLICY): TerminalTask {
  const record = apply(task, event, NOW + MINUTE, policy);
  if (record.status !== "completed") throw new Error("expected a completed task");
  return record;
}

function outputsIn(task: TerminalTask): unknown {
  const { outputs }: { outputs?: unknown } = JSON.parse(taskView(task, "account"));
  return outputs;
}

describe("the order to copy the outputs of a task", () => {
  const task = aTaskWithOutputs();
  const outputs = [
    { number: 1, source: VIDEO },
    { number: 3, source: IMAGE },
  ];

  it("the first order to copy outputs is given by the change that ends the task, and names every output that has a link of the relay", () => {
    const ended = finish(anOpenTask(), aReport(aCompletion({ urls: [VIDEO] })), NOW, KEEPING);
    expect(firstOrderOf(anOpenTask(), ended)).toEqual({
      taskId: ID,
      recordedAt: NOW,
      expiresAt: EXPIRES_AT,
      origin: ORIGIN,
      account: null,
      connection: null,
      customerKey: null,
      outputs: [{ number: 1, source: VIDEO }],
      deleted: [],
      isUnproven: true,
    });
    expect(firstOrderOf(ended, ended)).toBeNull();
    expect(firstOrderOf(null, aFinishedTask())).toBeNull();
  });

  it("an order to copy outputs that has not been answered is repeated after a minute, as long as no copy has ended", () => {
    const duty = orderCopies(task, POLICY);
    expect(duty?.dueAt).toBe(NOW + MINUTE);
    expect(duty?.step(NOW).order.outputs).toEqual(outputs);
    expect(nextStep(task, POLICY, NOW + MINUTE)).toMatchObject({ kind: "orderCopies" });
  });

  it("an order to copy outputs that is not accepted is repeated after 5 s, then after twice as long each time, until it is accepted", () => {
    const event = answers(false);
    const once = apply(task, event, NOW + MINUTE);
    expect(orderCopies(once, POLICY)?.dueAt).toBe(NOW + MINUTE + 5 * SECOND);
    const twice = apply(once, event, NOW + 2 * MINUTE);
    expect(orderCopies(twice, POLICY)?.dueAt).toBe(NOW + 2 * MINUTE + 10 * SECOND);
    const taken = apply(twice, answers(true), NOW + 3 * MINUTE);
    expect(orderCopies(taken, POLICY)).toBeNull();
    expect(taken.version).toBe(task.version);
    expectUnchanged(taken, event);
  });

  it("the answer to an order to copy the outputs of an earlier task changes nothing of the present task with the same id", () => {
    expectUnchanged(task, answers(true, { recordedAt: NOW - MINUTE }));
    expectUnchanged(task, answers(false, { recordedAt: NOW - MINUTE }));
  });

  it.each([
    ["was erased", null],
    ["was created again and is open", anOpenTask()],
    ["was created again and has ended without outputs", aFinishedTask()],
  ])(
    "the answer to an order to copy outputs changes nothing when, before it comes, the task %s",
    (_, record) => {
      expectUnchanged(record, answers(true));
      expectUnchanged(record, answers(false));
    },
  );

  it("the order to copy outputs waits when an attempt of the callback is planned within the next 2.5 s", () => {
    const [soon, later] = [2_499, 2_500].map((waitMs) => {
      const state = { kind: "due", nextAttemptAt: NOW + MINUTE + waitMs } as const;
      return orderCopies(aTaskWithOutputs({ callback: aCallback({ state }) }), POLICY);
    });
    expect(soon).toBeNull();
    expect(later?.dueAt).toBe(NOW + MINUTE);
  });

  it("no order to copy outputs is given once the relay's links to these outputs have expired", () => {
    const order = { retryAt: EXPIRES_AT, tries: 9 };
    const { outputs: planned } = task;
    if (planned === null) throw new Error("no outputs");
    expect(orderCopies({ ...task, outputs: { ...planned, order } }, POLICY)).toBeNull();
  });

  it("the order to copy outputs contains the customer's sealed key, which the task keeps until the copying of its outputs has ended", () => {
    const customerKey = { kind: "sealed", ...SEALED_KEY, unreadableSince: null } as const;
    const submission = { ...aSubmission(), customerKey };
    const keyed = anAttachedTask({}, { submission });
    const ended = finish(keyed, aPollEnd(newsAnswer(aCompletion())), NOW, KEEPING);
    const settled = { ...ended, callback: null };
    expect(firstOrderOf(keyed, settled)).toMatchObject({
      connection: CONNECTION,
      customerKey: SEALED_KEY,
    });
    const late = apply(settled, answers(false), NOW + MINUTE);
    expect(sealedKeyOf(late)).toEqual(SEALED_KEY);
    const taken = apply(settled, answers(true), NOW + MINUTE);
    expect(sealedKeyOf(taken)).toEqual(SEALED_KEY);
    expect(sealedKeyOf(apply(taken, ends({ number: 1, state: KEPT }), NOW + MINUTE))).toBeNull();
  });
});

describe("the order to delete outputs", () => {
  const task = aTaskWithOutputs();
  const deletion = { type: "delete_outputs", number: 1 } as const;
  const ofAll = { type: "delete_outputs", number: null } as const;

  it("after an order to delete an output, a new version of the task shows it as deleted; the output is not copied, and no later report about its copy changes this", () => {
    const deleted = apply(task, deletion, NOW + SECOND);
    if (!isTerminal(deleted) || deleted.outputs === null) throw new Error("no outputs");
    expect(deleted.version).toBeGreaterThan(task.version);
    expect(outputsIn(deleted)).toMatchObject([{ reason: "deleted" }, {}, {}]);
    expect(orderOf(deleted, deleted.outputs)).toMatchObject({
      outputs: [{ number: 3 }],
      deleted: [1],
    });
    const reported = after(deleted, ends({ number: 1, state: KEPT }, { number: 3, state: KEPT }));
    expect(outputsIn(reported)).toMatchObject([{ reason: "deleted" }, {}, { kept: true }]);
    expect(transition(deleted, deletion, POLICY, NOW + MINUTE)).toEqual({
      kind: "unchanged",
      record: deleted,
    });
  });

  it("an order to delete all outputs deletes those that have links of the relay, and changes nothing of a task without any", () => {
    const deleted = apply(after(task, ends({ number: 1, state: KEPT })), ofAll, NOW + 2 * MINUTE);
    if (!isTerminal(deleted) || deleted.outputs === null) throw new Error("no outputs");
    const gone = { kept: false, reason: "deleted" };
    expect(outputsIn(deleted)).toMatchObject([gone, { reason: "own_link" }, gone]);
    expect(deleted.body).toBe(task.body);
    expect(orderOf(deleted, deleted.outputs)).toMatchObject({ outputs: [], deleted: [1, 3] });
    expectUnchanged(deleted, ofAll);
    expectUnchanged(aFinishedTask(), ofAll);
  });

  it("the deletion of copies is ordered after a minute, and again until an order that names all of them is accepted; the end of another copy does not end this", () => {
    const copied = after(task, ends({ number: 1, state: KEPT }));
    const one = apply(copied, deletion, NOW + 2 * MINUTE);
    expect(orderCopies(one, POLICY)?.dueAt).toBe(NOW + 3 * MINUTE);
    if (!isTerminal(one)) throw new Error("not ended");
    expect(orderCopies(after(one, ends({ number: 3, state: KEPT })), POLICY)).not.toBeNull();
    const both = apply(one, ofAll, NOW + 3 * MINUTE);
    const order = orderCopies(both, POLICY)?.step(NOW).order;
    expect(order).toMatchObject({ outputs: [], deleted: [1, 3] });
    const early = apply(both, answers(true, { deleted: [1] }), NOW + 4 * MINUTE);
    expect(orderCopies(early, POLICY)?.step(NOW).order.deleted).toEqual([3]);
    const late = apply(early, answers(false, { deleted: [3] }), NOW + 5 * MINUTE);
    expect(orderCopies(late, POLICY)?.dueAt).toBe(NOW + 5 * MINUTE + 5 * SECOND);
    expect(orderCopies(apply(late, answers(true, { deleted: [3] }), NOW + DAY), POLICY)).toBeNull();
  });

  it("the order to delete an output does not name another whose copy is kept, because nothing is left to do for it", () => {
    const copied = after(task, ends({ number: 1, state: KEPT }));
    const deleted = apply(copied, { ...deletion, number: 3 }, NOW + 2 * MINUTE);
    const order = orderCopies(deleted, POLICY)?.step(NOW).order;
    expect(order).toMatchObject({ outputs: [], deleted: [3] });
  });

  it("an output that was never copied, because the relay passes it on or its copy was given up, is deleted without an order", () => {
    const { outputs } = task;
    if (outputs === null) throw new Error("no outputs");
    const list = outputs.list.map((output, index) => {
      const state = index === 0 ? LOST : ({ kind: "streamed" } as const);
      return { ...output, state };
    });
    const passing = aTaskWithOutputs({ outputs: { ...outputs, list, order: null } });
    const deleted = apply(passing, ofAll, NOW + SECOND);
    expect(deleted).toMatchObject({ outputs: { order: null } });
    if (!isTerminal(deleted)) throw new Error("not ended");
    expect(outputsIn(deleted)).toMatchObject([{ reason: "deleted" }, {}, { reason: "deleted" }]);
  });

  it.each([
    ["an output with the upstream's own link", task, 2, "unknown_output"],
    ["an output that the task does not have", task, 9, "unknown_output"],
    ["an output of a task that is open", anOpenTask(), 1, "task_open"],
    ["all outputs of a task that is open", anOpenTask(), null, "task_open"],
    ["an output of a task that does not exist", null, 1, "unknown_task"],
    ["all outputs of a task whose price is being charged", aChargingTask(), null, "unknown_task"],
    ["an output of a task without outputs", aFinishedTask(), 1, "unknown_output"],
  ])("an order to delete outputs is refused for %s", (_, record, number, code) => {
    const decision = transition(record, { type: "delete_outputs", number }, POLICY, NOW);
    expect(decision).toMatchObject({ kind: "reject", rejection: { code } });
  });
});

describe("the report that copies have ended", () => {
  const task = aTaskWithOutputs();

  it("the report that copies of outputs have ended gives the task a new version with the size and type of each copied output and the reason for each that could not be copied", () => {
    const end = { expires_at: EXPIRES_AT / SECOND };
    const own = { kept: false, reason: "own_link" };
    expect(outputsIn(task)).toEqual([{ kept: false, ...end }, own, { kept: false, ...end }]);
    const first = after(task, ends({ number: 1, state: KEPT }));
    expect(first.version).toBe(NOW + MINUTE);
    const kept = { kept: true, bytes: 1_234, content_type: "video/mp4", ...end };
    expect(outputsIn(first)).toEqual([kept, own, { kept: false, ...end }]);
    const both = after(first, ends({ number: 3, state: LOST }));
    expect(outputsIn(both)).toEqual([kept, own, { kept: false, reason: "refused", ...end }]);
    expect(both.expiresAt).toBe(task.expiresAt);
    expect(both.body).toBe(task.body);
  });

  it("once a report says that the copy of an output has ended, the task does not repeat its order to copy outputs", () => {
    expect(orderCopies(after(task, ends({ number: 1, state: KEPT })), POLICY)).toBeNull();
  });

  it("the report that the copy of an output has ended changes nothing when the end of this copy was reported before, even with another result", () => {
    const first = after(task, ends({ number: 1, state: LOST }));
    expectUnchanged(first, ends({ number: 1, state: KEPT }), NOW + MINUTE);
    expectUnchanged(first, ends({ number: 1, state: LOST }), NOW + MINUTE);
  });

  it.each([
    [
      "about an earlier task with the same id",
      { ...ends({ number: 1, state: KEPT }), recordedAt: 1 },
    ],
    ["about an output that has the upstream's own link", ends({ number: 2, state: KEPT })],
    ["about no output", ends()],
  ])(
    "the report that copies of outputs have ended changes nothing of a task when the report is %s",
    (_, event) => {
      expectUnchanged(task, event);
    },
  );

  it("the report that copies of outputs have ended changes nothing of a task without outputs, or of an open one", () => {
    expectUnchanged(aFinishedTask(), ends({ number: 1, state: KEPT }));
    expectUnchanged(anOpenTask(), ends({ number: 1, state: KEPT }));
    expectUnchanged(null, ends({ number: 1, state: KEPT }));
  });

  it("when copying ends with outputs that could not be copied, an operator event names these outputs and no others", () => {
    const lost = after(task, ends({ number: 1, state: KEPT }, { number: 3, state: LOST }), TOLD);
    const details = { outputs: [{ number: 3, reason: "refused" }] };
    expect(lost.notices).toMatchObject([{ kind: "output.lost", version: lost.version, details }]);
    const unwanted = { ...TOLD, unwantedNotices: new Set(["output.lost"] as const) };
    expect(after(task, ends({ number: 1, state: LOST }), unwanted).notices).toEqual([]);
    expect(after(task, ends({ number: 1, state: KEPT }), TOLD).notices).toEqual([]);
    expect(after(task, ends({ number: 1, state: LOST })).notices).toEqual([]);
  });
});

it("before a task is erased, all its outputs with a link of the relay are deleted, whether they were copied, could not be copied or are not copied yet", () => {
  const task = after(aTaskWithOutputs(), ends({ number: 1, state: KEPT }));
  expect(outputsToDelete(task)).toEqual({
    taskId: ID,
    recordedAt: NOW,
    expiresAt: EXPIRES_AT,
    outputs: [{ number: 1 }, { number: 3 }],
  });
  expect(outputsToDelete(aFinishedTask())).toBeNull();
  expect(outputsToDelete(anOpenTask())).toBeNull();
});

it("a link of the relay in a callback body has the number of its output; an output that the relay does not copy has the upstream's own link there", () => {
  const { output }: { output: unknown } = JSON.parse(aTaskWithOutputs().body);
  expect(output).toMatchObject({
    urls: [relayLink(1), "http://cdn.example.com/a.mp4", relayLink(3)],
  });
});

describe("a relay without a bucket, which passes on outputs that open only with a connection's key", () => {
  const passing = aPolicy({ outputs: { ...OUTPUT_LINKS, areKept: false } });
  const task = finish(anOpenTask(), aReport(aCompletion({ urls: [VIDEO] })), NOW, passing);

  it("in a relay without a bucket, an output that opens only with a connection's key has a link of the relay, and is neither copied nor deleted", () => {
    expect(task.body).toContain(relayLink(1));
    expect(task.outputs).toMatchObject({ list: [{ state: { kind: "streamed" } }], order: null });
    expect(firstOrderOf(anOpenTask(), task)).toBeNull();
    expect(orderCopies(task, passing)).toBeNull();
    expect(outputsToDelete(task)).toBeNull();
    expect(parseRecord(structuredClone(task))).toEqual(task);
    const end = { expires_at: EXPIRES_AT / SECOND };
    expect(outputsIn(task)).toEqual([{ kept: false, reason: "streamed", ...end }]);
  });

  it("in a relay without a bucket, a task whose result a poll has found keeps the customer's sealed key until its links to outputs expire; a task whose result was reported does not", () => {
    const customerKey = { kind: "sealed", ...SEALED_KEY, unreadableSince: null } as const;
    const submission = { ...aSubmission(), customerKey };
    const keyed = anAttachedTask({}, { submission, callbackUrl: null });
    const ended = finish(keyed, aPollEnd(newsAnswer(aCompletion())), NOW, passing);
    expect(sealedKeyOf(ended)).toEqual(SEALED_KEY);
    const later = nextStep(ended, passing, EXPIRES_AT);
    expect(later).toEqual({ kind: "event", event: { type: "customer_key_checked" } });
    expect(sealedKeyOf(apply(ended, { type: "customer_key_checked" }, EXPIRES_AT))).toBeNull();
    const reported = finish(keyed, aReport(aCompletion()), NOW, passing);
    expect(sealedKeyOf(reported)).toBeNull();
  });
});
