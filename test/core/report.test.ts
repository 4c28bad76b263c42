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
  DAY,
  HOUR,
  MINUTE,
  NOW,
  POLICY,
  PROCESSING,
  URL_A,
  URL_B,
  VIDEO,
  runningSince,
  NEW_ROW,
} from "./builders.ts";
import { apply, expectRefused, expectUnchanged, finish } from "./decisions.ts";

const later = NOW + MINUTE;
const REPORTED = { by: "report", lateMs: null } as const;
const IN_FLIGHT = runningSince(NOW);

describe("a terminal report for an open task", () => {
  it("an event that reports the result of an open task finishes the task and stores the start of the first callback attempt in the same commit", () => {
    const callback = aCallback({
      attempts: [],
      lastNumber: 1,
      series: { number: 1, started: 1, ordered: null, keyName: null },
      state: IN_FLIGHT,
      deliveredAt: null,
    });
    expect(apply(anOpenTask({ version: NOW - 1 }), aReport())).toEqual(
      aFinishedTask({ callback, found: REPORTED, expiresAt: NOW + 28 * DAY }),
    );
  });

  it("an event that reports a failure finishes a processing task, and no failure category is stored", () => {
    const { status, failure } = finish(anOpenTask({ status: "processing" }), aReport(aFailure()));
    expect([status, failure]).toEqual(["failed", null]);
  });

  it("an event that reports the result of a task without a callback URL starts no callback", () => {
    expect(finish(anOpenTask({ callbackUrl: null }), aReport()).callback).toBeNull();
  });

  it("an event that reports the result of a task after its deadline is accepted as long as the task is still open", () => {
    const task = anOpenTask({ deadlineAt: NOW });
    expect(finish(task, aReport(), NOW + DAY).status).toBe("completed");
  });
});

describe("a processing report", () => {
  it("an event that reports progress makes a pending task processing and leaves its deadline as it is", () => {
    const task = anOpenTask({ deadlineAt: NOW + HOUR });
    const record = apply(task, aReport(PROCESSING), later);
    expect(record).toEqual({ ...task, status: "processing", version: later });
  });

  it.each([
    ["is processing already", anOpenTask({ status: "processing" })],
    ["is finished", aFinishedTask()],
  ])("an event that reports progress changes nothing when the task %s", (_when, record) => {
    expectUnchanged(record, aReport(PROCESSING), later);
  });
});

describe("a report about a finished task", () => {
  const metadata = { seed: 1, tags: ["a", "b"], nested: { x: 1, y: 2 } };
  const told = aCompletion({ urls: [VIDEO, URL_A], metadata });
  const completed = finish(anOpenTask(), aReport(told));
  const failed = finish(anOpenTask(), aReport(aFailure("c", "m")));
  const shuffled = { nested: { y: 2, x: 1 }, tags: ["a", "b"], seed: 1 };

  it.each([
    ["repeats the result word for word", told, completed],
    ["differs in the completion time only", { ...told, completedAt: NOW - DAY }, completed],
    ["differs in the order of keys only", { ...told, metadata: shuffled }, completed],
    ["repeats a failure word for word", aFailure("c", "m"), failed],
  ])("an event about a finished task changes nothing when it %s", (_how, result, record) => {
    expectUnchanged(record, aReport(result), later);
  });

  it.each([
    ["the opposite status", aFailure(), completed],
    ["other URLs", { ...told, urls: [VIDEO, URL_B] }, completed],
    ["the URLs in another order", { ...told, urls: [URL_A, VIDEO] }, completed],
    ["fewer URLs", { ...told, urls: [VIDEO] }, completed],
    ["other metadata", { ...told, metadata: { ...metadata, seed: 2 } }, completed],
    ["more metadata", { ...told, metadata: { ...metadata, fps: 1 } }, completed],
    ["less metadata", { ...told, metadata: { seed: 1 } }, completed],
    ["a list in another order", withMetadata({ tags: ["b", "a"] }), completed],
    ["another time in the metadata", withMetadata({ completed_at: 1 }), completed],
    ["a success after a failure", told, failed],
    ["another code", aFailure("other", "m"), failed],
    ["another message", aFailure("c", "other"), failed],
  ])(
    "an event about a finished task is refused as a conflict when, compared with the stored result, it has %s",
    (_what, result, record) => {
      expectRefused(record, aReport(result), "conflicting_result", later);
    },
  );

  function withMetadata(changes: object) {
    return { ...told, metadata: { ...metadata, ...changes } };
  }
});

describe("a report with the fields that create a task", () => {
  const account = { id: "event-account", generation: 7 };
  const origin = "https://event.example.com";
  const changes = { model: "event-model", account, createdAt: NOW - DAY, origin };
  const creation = aCreation({ ...changes, callbackUrl: URL_B });
  const refused = aCreation({ callbackUrlRefusal: "must use https:" });

  it("an event with an id that no task has, and with the fields of a new task, creates the task", () => {
    expect(apply(null, aReport(PROCESSING, creation))).toEqual({
      ...anOpenTask(),
      ...changes,
      indexRow: NEW_ROW,
      registration: null,
      status: "processing",
      callbackUrl: URL_B,
    });
  });

  it("an event with an id that no task has, the fields of a new task and a result creates and finishes the task in one commit", () => {
    expect(finish(null, aReport(aCompletion(), aCreation()))).toMatchObject({
      registration: null,
      version: NOW,
      body: BODY,
      callback: { url: URL_A, state: IN_FLIGHT },
    });
  });

  it.each([
    ["the completion time, because it is in the past", NOW - HOUR, NOW - HOUR],
    ["the present time, because the completion time is later", NOW + HOUR, NOW],
  ])(
    "an event that creates a task and states no created_at gives the task its completion time as the creation time, but none in the future: %s",
    (_what, completedAt, createdAt) => {
      const news = aReport(aCompletion({ completedAt }), aCreation());
      expect(finish(null, news).createdAt).toBe(createdAt);
    },
  );

  it.each([
    ["the event names no model", null, { code: "unknown_task" }],
    [
      "the account that it names does not exist",
      aCreation({ isAccountUnknown: true }),
      { code: "unknown_account" },
    ],
    [
      "the URL rules refuse its callback URL",
      refused,
      { code: "invalid_field", field: "/callback_url", message: "must use https:" },
    ],
  ])("an event cannot create a task when %s", (_when, fields, rejection) => {
    const decision = transition(null, aReport(aCompletion(), fields), POLICY, NOW);
    expect(decision).toEqual({ kind: "reject", rejection });
  });

  it.each([
    ["values that differ from the task's", creation],
    ["an unknown account", aCreation({ isAccountUnknown: true })],
    ["a callback_url that the URL rules refuse", refused],
  ])(
    "an event about an existing task ignores the fields that only serve to create a task, even when they contain %s",
    (_what, fields) => {
      const records: TaskRecord[] = [anOpenTask({ account: ACCOUNT }), aFinishedTask()];
      for (const record of records) {
        const decision = transition(record, aReport(aCompletion(), fields), POLICY, NOW);
        expect(decision).toEqual(transition(record, aReport(), POLICY, NOW));
      }
    },
  );
});
