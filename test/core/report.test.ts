import { describe, expect, it } from "vitest";
import type { TaskRecord } from "../../src/core/record/task.ts";
import { transition } from "../../src/core/transition.ts";
import {
  ACCOUNT,
  aCallback,
  aCompletion,
  aCreation,
  aFailure,
  aFinishedTask,
  anOpenTask,
  aReport,
  BODY,
  committed,
  DAY,
  finished,
  HOUR,
  MINUTE,
  NOW,
  POLICY,
  PROCESSING,
  URL_A,
  URL_B,
  VIDEO,
} from "./builders.ts";

const later = NOW + MINUTE;
const IN_FLIGHT = { kind: "in_flight", number: 1, startedAt: NOW } as const;

describe("a terminal report for an open task", () => {
  it("finishes it and opens the first attempt in the same commit", () => {
    const task = anOpenTask({ version: NOW - 1 });
    expect(transition(task, aReport(), POLICY, NOW)).toEqual({
      kind: "changed",
      record: aFinishedTask({
        callback: aCallback({
          attempts: [],
          lastNumber: 1,
          series: { number: 1, started: 1, ordered: null },
          state: IN_FLIGHT,
          deliveredAt: null,
        }),
        expiresAt: NOW + 28 * DAY,
      }),
    });
  });

  it("finishes a processing task just the same", () => {
    const task = anOpenTask({ status: "processing" });
    expect(finished(transition(task, aReport(aFailure()), POLICY, later)).status).toBe("failed");
  });

  it("leaves a task without a URL without a callback", () => {
    const task = anOpenTask({ callbackUrl: null });
    expect(finished(transition(task, aReport(), POLICY, NOW)).callback).toBeNull();
  });

  it("leaves nothing of the open state behind", () => {
    const record = committed(transition(anOpenTask(), aReport(), POLICY, NOW));
    expect(Object.keys(record)).not.toEqual(expect.arrayContaining(["deadlineAt"]));
    expect(Object.keys(record)).not.toEqual(expect.arrayContaining(["callbackUrl"]));
  });

  it("is accepted after the deadline when the deadline has not been acted on", () => {
    const task = anOpenTask({ deadlineAt: NOW });
    expect(finished(transition(task, aReport(), POLICY, NOW + DAY)).status).toBe("completed");
  });

  it("knows nothing about why an upstream failed", () => {
    expect(finished(transition(anOpenTask(), aReport(aFailure()), POLICY, NOW)).failure).toBeNull();
  });
});

describe("a processing report", () => {
  it("moves a pending task on", () => {
    const task = anOpenTask();
    expect(transition(task, aReport(PROCESSING), POLICY, later)).toEqual({
      kind: "changed",
      record: { ...task, status: "processing", version: later },
    });
  });

  it.each([
    ["again", anOpenTask({ status: "processing" })],
    ["after the end", aFinishedTask()],
  ])("changes nothing %s", (_when, record) => {
    expect(transition(record, aReport(PROCESSING), POLICY, later)).toEqual({
      kind: "unchanged",
      record,
    });
  });

  it("does not move the deadline", () => {
    const task = anOpenTask({ deadlineAt: NOW + HOUR });
    const record = committed(transition(task, aReport(PROCESSING), POLICY, later));
    expect(record).toMatchObject({ deadlineAt: NOW + HOUR });
  });
});

describe("a report about a finished task", () => {
  const metadata = { seed: 1, tags: ["a", "b"], nested: { x: 1, y: 2 } };
  const told = aCompletion({ urls: [VIDEO, URL_A], metadata });
  const completed = finished(transition(anOpenTask(), aReport(told), POLICY, NOW));
  const failed = finished(transition(anOpenTask(), aReport(aFailure("c", "m")), POLICY, NOW));

  it.each([
    ["word for word", told, completed],
    ["with another completion time", { ...told, completedAt: NOW - DAY }, completed],
    [
      "with its keys in another order",
      { ...told, metadata: { nested: { y: 2, x: 1 }, tags: ["a", "b"], seed: 1 } },
      completed,
    ],
    ["word for word, a failure", aFailure("c", "m"), failed],
  ])("changes nothing when it says the same %s", (_how, result, record) => {
    expect(transition(record, aReport(result), POLICY, later)).toEqual({
      kind: "unchanged",
      record,
    });
  });

  it.each([
    ["the opposite status", aFailure(), completed],
    ["other URLs", { ...told, urls: [VIDEO, URL_B] }, completed],
    ["the URLs in another order", { ...told, urls: [URL_A, VIDEO] }, completed],
    ["fewer URLs", { ...told, urls: [VIDEO] }, completed],
    ["other metadata", { ...told, metadata: { ...metadata, seed: 2 } }, completed],
    ["more metadata", { ...told, metadata: { ...metadata, fps: 1 } }, completed],
    ["less metadata", { ...told, metadata: { seed: 1 } }, completed],
    [
      "a list in another order",
      { ...told, metadata: { ...metadata, tags: ["b", "a"] } },
      completed,
    ],
    [
      "a time inside the metadata",
      { ...told, metadata: { ...metadata, completed_at: 1 } },
      completed,
    ],
    ["a success after a failure", told, failed],
    ["another code", aFailure("other", "m"), failed],
    ["another message", aFailure("c", "other"), failed],
  ])("is a conflict with the stored task when it says %s", (_what, result, record) => {
    expect(transition(record, aReport(result), POLICY, later)).toEqual({
      kind: "reject",
      rejection: { code: "conflicting_result", task: record },
    });
  });
});

describe("a report's own fields", () => {
  const creation = aCreation({
    model: "event-model",
    account: { id: "event-account", generation: 7 },
    createdAt: NOW - DAY,
    callbackUrl: URL_B,
    origin: "https://event.example.com",
  });

  it("do not count for a registered task", () => {
    const task = anOpenTask({ account: ACCOUNT });
    const news = aReport(aCompletion(), creation);
    expect(transition(task, news, POLICY, NOW)).toEqual(transition(task, aReport(), POLICY, NOW));
  });

  it("create the task when it is unknown", () => {
    expect(transition(null, aReport(PROCESSING, creation), POLICY, NOW)).toEqual({
      kind: "changed",
      record: {
        ...anOpenTask(),
        model: "event-model",
        account: { id: "event-account", generation: 7 },
        createdAt: NOW - DAY,
        origin: "https://event.example.com",
        registration: null,
        status: "processing",
        callbackUrl: URL_B,
      },
    });
  });

  it.each([
    ["its completion, where that is earlier than now", NOW - HOUR, NOW - HOUR],
    ["now, where the completion is later", NOW + HOUR, NOW],
  ])("without a time of creation date it by %s", (_what, completedAt, createdAt) => {
    const news = aReport(aCompletion({ completedAt }), aCreation());
    expect(finished(transition(null, news, POLICY, NOW)).createdAt).toBe(createdAt);
  });

  it("create and finish it in one commit", () => {
    const decision = transition(null, aReport(aCompletion(), aCreation()), POLICY, NOW);
    expect(finished(decision)).toMatchObject({
      registration: null,
      version: NOW,
      body: BODY,
      callback: { url: URL_A, state: IN_FLIGHT },
    });
  });

  it("cannot create a task without a model", () => {
    expect(transition(null, aReport(), POLICY, NOW)).toEqual({
      kind: "reject",
      rejection: { code: "unknown_task" },
    });
  });

  it("cannot create a task for an account that does not exist", () => {
    const news = aReport(aCompletion(), aCreation({ isAccountUnknown: true }));
    expect(transition(null, news, POLICY, NOW)).toEqual({
      kind: "reject",
      rejection: { code: "unknown_account" },
    });
    const task = anOpenTask();
    expect(transition(task, news, POLICY, NOW)).toEqual(transition(task, aReport(), POLICY, NOW));
  });

  it("cannot create a task with a URL that the policy refuses", () => {
    const refused = aCreation({ callbackUrlRefusal: "must use https:" });
    expect(transition(null, aReport(aCompletion(), refused), POLICY, NOW)).toEqual({
      kind: "reject",
      rejection: { code: "invalid_field", field: "/callback_url", message: "must use https:" },
    });
  });

  it.each<[string, TaskRecord, string]>([
    ["registered", anOpenTask(), "changed"],
    ["finished", aFinishedTask(), "unchanged"],
  ])("may hold a refused URL when the task is %s already", (_what, record, kind) => {
    const refused = aCreation({ callbackUrlRefusal: "must use https:" });
    const news = aReport(aCompletion(), refused);
    expect(transition(record, news, POLICY, NOW).kind).toBe(kind);
  });
});
