import { describe, expect, it } from "vitest";
import { noticeOf } from "../../src/core/record/notice.ts";
import { type IndexRow, rowOf } from "../../src/core/views/index-row.ts";
import type { CreatedTask } from "../../src/core/record/task.ts";
import {
  ACCOUNT,
  aCallback,
  aFinishedTask,
  anAttempt,
  anOpenTask,
  CONNECTION,
  HOUR,
  ID,
  MODEL,
  NOW,
  NOW_S,
  POLICY,
  SECOND,
} from "./builders.ts";
import {
  aChargedTask,
  aHeldCallback,
  aRefundingTask,
  credits,
  failedBody,
  refunding,
} from "./credit-builders.ts";
import { anAttachedTask, aProvidedTask, JOB } from "./upstream-builders.ts";

const HOST = "client.example.com";
const LONGEST_ATTEMPT = 30 * SECOND;

const OPEN: IndexRow = {
  id: ID,
  version: NOW,
  account: null,
  model: MODEL,
  provider: null,
  job: null,
  status: "pending",
  category: null,
  callback: "waiting",
  attempts: 0,
  outcomes: {},
  lastOutcome: null,
  lastStatusCode: null,
  host: HOST,
  createdAt: NOW,
  completedAt: null,
  finishedAt: null,
  foundBy: null,
  foundLateMs: null,
  refunded: 0,
  settledAt: null,
  firstAttemptMs: null,
  settledMs: null,
  dueAt: NOW + POLICY.taskDeadlineMs,
  expiresAt: null,
};

const DELIVERED: IndexRow = {
  ...OPEN,
  status: "completed",
  callback: "delivered",
  attempts: 1,
  outcomes: { delivered: 1 },
  lastOutcome: "delivered",
  lastStatusCode: 200,
  completedAt: NOW_S * 1_000,
  finishedAt: NOW,
  settledAt: NOW + 250,
  firstAttemptMs: 0,
  settledMs: 250,
  dueAt: null,
  expiresAt: NOW + POLICY.indexRetentionMs,
};

const UNSETTLED = { settledAt: null, settledMs: null, expiresAt: null } as const;
const UNCALLED = { callback: null, host: null } as const;
const UNTRIED = { attempts: 0, outcomes: {}, lastOutcome: null, lastStatusCode: null } as const;
const HELD = { ...UNSETTLED, ...UNTRIED, callback: "sending", firstAttemptMs: null } as const;

const IN_FLIGHT = { kind: "in_flight", number: 1, dueAt: NOW, startedAt: NOW + 40 } as const;
const refused = anAttempt({ outcome: "rejected", statusCode: 503 });
const dueAgain = aCallback({
  attempts: [refused],
  state: { kind: "due", nextAttemptAt: NOW + 180_250 },
  deliveredAt: null,
});
const givenUp = aCallback({
  attempts: [
    refused,
    anAttempt({ number: 2, startedAt: NOW + 200_000, outcome: "redirected", statusCode: 302 }),
    anAttempt({
      number: 3,
      startedAt: NOW + 900_000,
      durationMs: 10_000,
      outcome: "timeout",
      statusCode: null,
    }),
  ],
  lastNumber: 3,
  series: { number: 1, started: 3, ordered: null, keyName: null },
  state: { kind: "failed" },
  deliveredAt: null,
});

type Case = readonly [what: string, record: CreatedTask, row: IndexRow];

describe("the row of an open task", () => {
  it.each<Case>([
    ["has the deadline in the column dueAt", anOpenTask(), OPEN],
    [
      "has status processing once the upstream has started",
      anOpenTask({ status: "processing", version: NOW + 9 }),
      { ...OPEN, status: "processing", version: NOW + 9 },
    ],
    [
      "has no callback status when the task has no callback URL",
      anOpenTask({ callbackUrl: null }),
      { ...OPEN, ...UNCALLED },
    ],
    [
      "names the connection to the provider that the task uses",
      aProvidedTask(),
      { ...OPEN, provider: CONNECTION },
    ],
    [
      "has the id of the attached job, and in the column dueAt the deadline, not the time of the next poll",
      anAttachedTask({}, { deadlineAt: NOW + HOUR }),
      { ...OPEN, provider: CONNECTION, job: JOB.id, dueAt: NOW + HOUR },
    ],
    ["has the account", aChargedTask(), { ...OPEN, account: ACCOUNT.id }],
  ])("the index row of an open task %s", (_what, record, row) => {
    expect(rowOf(record, POLICY)).toEqual(row);
  });
});

describe("the row of a finished task", () => {
  it.each<Case>([
    ["has the outcome and times of the callback", aFinishedTask(), DELIVERED],
    [
      "without a callback URL has the end of the task in the column settledAt",
      aFinishedTask({ callback: null }),
      { ...DELIVERED, ...UNCALLED, ...UNTRIED, settledAt: NOW, firstAttemptMs: null, settledMs: 0 },
    ],
    [
      "with an attempt in flight has the latest possible end of that attempt in the column dueAt",
      aFinishedTask({ callback: aCallback({ attempts: [], state: IN_FLIGHT, deliveredAt: null }) }),
      {
        ...DELIVERED,
        ...UNSETTLED,
        ...UNTRIED,
        callback: "sending",
        attempts: 1,
        firstAttemptMs: 40,
        dueAt: NOW + 40 + LONGEST_ATTEMPT,
      },
    ],
    [
      "between two attempts has the time of the next attempt in the column dueAt",
      aFinishedTask({ callback: dueAgain }),
      {
        ...DELIVERED,
        ...UNSETTLED,
        callback: "sending",
        outcomes: { rejected: 1 },
        lastOutcome: "rejected",
        lastStatusCode: 503,
        dueAt: NOW + 180_250,
      },
    ],
    [
      "whose attempts all failed has the last one's outcome, the time from the result to its end, and the expiry of the task",
      aFinishedTask({ callback: givenUp }),
      {
        ...DELIVERED,
        callback: "failed",
        attempts: 3,
        outcomes: { rejected: 1, redirected: 1, timeout: 1 },
        lastOutcome: "timeout",
        lastStatusCode: null,
        settledAt: NOW + 910_000,
        settledMs: 910_000,
        expiresAt: NOW + POLICY.retentionMs,
      },
    ],
    [
      "that failed upstream has the category of the failure and no completion time",
      aFinishedTask({
        status: "failed",
        body: failedBody("content_policy", "Refused."),
        failure: { category: "moderation", retryable: false },
      }),
      { ...DELIVERED, status: "failed", category: "moderation", completedAt: null },
    ],
    [
      "whose refund is pending has the next try of the refund in the column dueAt",
      aRefundingTask({ credits: credits(refunding(NOW + 7_000, 1)) }),
      {
        ...DELIVERED,
        ...HELD,
        account: ACCOUNT.id,
        status: "failed",
        completedAt: null,
        dueAt: NOW + 7_000,
      },
    ],
    [
      "without a callback URL has no time of settlement before its refund",
      aRefundingTask({ callback: null }),
      {
        ...DELIVERED,
        ...UNSETTLED,
        ...UNTRIED,
        ...UNCALLED,
        account: ACCOUNT.id,
        status: "failed",
        completedAt: null,
        firstAttemptMs: null,
        dueAt: NOW,
      },
    ],
    [
      "whose callback still waits although no refund is pending has the present time in the column dueAt",
      aFinishedTask({ callback: aHeldCallback() }),
      { ...DELIVERED, ...HELD, dueAt: NOW },
    ],
    [
      "that ended in an earlier release, which did not store the time, has no durations since the end of the task",
      aFinishedTask({ finishedAt: null }),
      { ...DELIVERED, finishedAt: null, firstAttemptMs: null, settledMs: null },
    ],
  ])("the index row of a finished task %s", (_what, record, row) => {
    expect(rowOf(record, POLICY)).toEqual(row);
  });
});

it("the index row of a task is the same whatever the task's record holds about earlier index writes and unsent operator notices", () => {
  const record = aFinishedTask({ callback: givenUp });
  const told = { version: NOW - 1, retryAt: NOW + HOUR, tries: 7 };
  const notice = { ...noticeOf("callback.failed", NOW, NOW), tries: 3 };
  expect(rowOf({ ...record, publication: told, notices: [notice] }, POLICY)).toEqual(
    rowOf(record, POLICY),
  );
});
