import { describe, expect, it } from "vitest";
import { noticeOf } from "../../src/core/record/operator-notice.ts";
import { type IndexRow, rowOf } from "../../src/core/views/index-row.ts";
import type { CreatedTask } from "../../src/core/record/task.ts";
import type { Outputs, OutputState } from "../../src/core/record/outputs.ts";
import type { CreditsState } from "../../src/core/record/credits.ts";
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
  DAY,
  MINUTE,
  SECOND_WAIT,
  URL_A,
  VIDEO,
  runningSince,
} from "./builders.ts";
import {
  aChargedTask,
  aHeldCallback,
  aRefundingTask,
  aReleasingTask,
  credits,
  failedBody,
  PRICE,
  refunding,
} from "./credit-builders.ts";
import { aSending, anAccepted, anUnknown, FAILS_AT, SENDING_ENDS } from "./stored-submissions.ts";
import { anAttachedTask, aProvidedTask, JOB } from "./upstream-builders.ts";

const HOST = "client.example.com";
const LONGEST_ATTEMPT = 29 * SECOND;

const OPEN: IndexRow = {
  id: ID,
  version: NOW,
  account: null,
  model: MODEL,
  provider: null,
  job: null,
  status: "pending",
  category: null,
  submission: null,
  refusal: null,
  keptOutputs: 0,
  keptBytes: 0,
  lostOutputs: 0,
  copyingOutputs: 0,
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
  jobMs: null,
  refunded: 0,
  creditsHeld: 0,
  creditsEarned: 0,
  creditsReleased: 0,
  creditsRefunded: 0,
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
  jobMs: 0,
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

const COPYING = { kind: "copying" } as const;
const STREAMED = { kind: "streamed" } as const;
const LOST = { kind: "lost", reason: "refused" } as const;
const keptOf = (bytes: number) => ({ kind: "kept", bytes, mediaType: "video/mp4" }) as const;

/** Returns outputs of a task whose copies are in these states. */
function someOutputs(...states: readonly OutputState[]): Outputs {
  const list = states.map((state, index) => ({ number: index + 1, source: VIDEO, state }));
  return { expiresAt: NOW + DAY, list, order: null };
}

type Case = readonly [what: string, record: CreatedTask, row: IndexRow];

describe("the row of an open task", () => {
  it.each<Case>([
    ["has the deadline as dueAt", anOpenTask(), OPEN],
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
      "has the id of the attached job, and as dueAt the deadline, not the time of the next poll",
      anAttachedTask({}, { deadlineAt: NOW + HOUR }),
      { ...OPEN, provider: CONNECTION, job: JOB.id, dueAt: NOW + HOUR },
    ],
    [
      "has the id of the account that is charged",
      aChargedTask(),
      { ...OPEN, account: ACCOUNT.id, creditsHeld: PRICE },
    ],
    [
      "has, while the upstream has not answered the submission, the end of the wait for the answer as dueAt",
      anOpenTask({ submission: aSending() }),
      { ...OPEN, submission: "sending", dueAt: SENDING_ENDS },
    ],
    [
      "has, while the outcome of the submission is unknown, the time at which the task fails for that as dueAt",
      anOpenTask({ submission: anUnknown(null) }),
      { ...OPEN, submission: "unknown", dueAt: FAILS_AT },
    ],
    [
      "has the deadline as dueAt again once the submission was accepted",
      anOpenTask({ submission: anAccepted(NOW) }),
      { ...OPEN, submission: "accepted" },
    ],
  ])(
    "the index row of an open task has the task's status, deadline, callback, connection, job, submission and account: it %s",
    (_what, record, row) => {
      expect(rowOf(record, POLICY)).toEqual(row);
    },
  );
});

describe("the row of a finished task", () => {
  it.each<Case>([
    [
      "with a delivered callback has the outcome and times of the callback",
      aFinishedTask(),
      DELIVERED,
    ],
    [
      "without a callback URL has the end of the task as settledAt",
      aFinishedTask({ callback: null }),
      { ...DELIVERED, ...UNCALLED, ...UNTRIED, settledAt: NOW, firstAttemptMs: null, settledMs: 0 },
    ],
    [
      "with an attempt in flight has the latest possible end of that attempt as dueAt",
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
      "between two attempts has the time of the next attempt as dueAt",
      aFinishedTask({ callback: dueAgain }),
      {
        ...DELIVERED,
        ...UNSETTLED,
        callback: "retrying",
        outcomes: { rejected: 1 },
        lastOutcome: "rejected",
        lastStatusCode: 503,
        dueAt: NOW + 180_250,
      },
    ],
    [
      "whose attempts all failed has the outcome of the last attempt, the time from the result to that attempt's end, and the task's expiry",
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
      "whose refund is pending has the time of the next refund try as dueAt",
      aRefundingTask({ credits: credits(refunding(NOW + 7_000, 1)) }),
      {
        ...DELIVERED,
        ...HELD,
        account: ACCOUNT.id,
        status: "failed",
        creditsHeld: PRICE,
        completedAt: null,
        dueAt: NOW + 7_000,
      },
    ],
    [
      "without a callback URL has no settledAt while its refund is pending",
      aRefundingTask({ callback: null }),
      {
        ...DELIVERED,
        ...UNSETTLED,
        ...UNTRIED,
        ...UNCALLED,
        account: ACCOUNT.id,
        status: "failed",
        creditsHeld: PRICE,
        completedAt: null,
        firstAttemptMs: null,
        dueAt: NOW,
      },
    ],
    [
      "whose callback still waits for a refund, although none is pending, has the end of the task as dueAt",
      aFinishedTask({ callback: aHeldCallback() }),
      { ...DELIVERED, ...HELD, dueAt: NOW },
    ],
    [
      "that has ended while the outcome of its submission was unknown still has this state of the submission",
      aFinishedTask({ submission: anUnknown(502) }),
      { ...DELIVERED, submission: "unknown", jobMs: null },
    ],
    [
      "that has ended before its submission was sent has no state of the submission",
      aFinishedTask({ submission: aSending({ state: { kind: "unsent" } }) }),
      { ...DELIVERED, jobMs: null },
    ],
    [
      "whose outputs are still being copied counts none of them as kept",
      aFinishedTask({ outputs: someOutputs(COPYING, COPYING) }),
      { ...DELIVERED, copyingOutputs: 2 },
    ],
    [
      "whose copies have ended has the numbers of those that are kept and of those that are lost, and the bytes of the kept ones",
      aFinishedTask({ outputs: someOutputs(keptOf(70), LOST, COPYING, keptOf(5), STREAMED) }),
      { ...DELIVERED, keptOutputs: 2, keptBytes: 75, lostOutputs: 1, copyingOutputs: 1 },
    ],
    [
      "of which an output was deleted does not count it",
      aFinishedTask({ outputs: someOutputs({ kind: "deleted" }, LOST, LOST) }),
      { ...DELIVERED, lostOutputs: 2 },
    ],
  ])(
    "the index row of a finished task states its result, its callback and its refund: the row of a task %s",
    (_what, record, row) => {
      expect(rowOf(record, POLICY)).toEqual(row);
    },
  );
});

it("the row of a task in the index does not depend on earlier index writes and unsent operator events that the task's record stores", () => {
  const record = aFinishedTask({ callback: givenUp });
  const told = { version: NOW - 1, outdatedAt: NOW + HOUR, hasFailed: true };
  const notice = { ...noticeOf("callback.failed", NOW, NOW), tries: 3 };
  expect(rowOf({ ...record, indexRow: told, notices: [notice] }, POLICY)).toEqual(
    rowOf(record, POLICY),
  );
});

describe("the index row of a redelivered task", () => {
  const again = anAttempt({ number: 2, series: 2, startedAt: NOW + DAY, durationMs: 500 });
  const later = aCallback({ attempts: [anAttempt(), again], lastNumber: 2 });

  it("the index row of a redelivered task counts all callback attempts, but its columns firstAttemptMs and settledMs leave out the redelivery", () => {
    expect(rowOf(aFinishedTask({ callback: later }), POLICY)).toMatchObject({
      callback: "delivered",
      attempts: 2,
      outcomes: { delivered: 2 },
      settledAt: NOW + DAY + 500,
      firstAttemptMs: 0,
      settledMs: 250,
    });
  });

  it('the column callback in the index row of a redelivered task is "sending" again while the redelivery is due', () => {
    const state = { kind: "due", nextAttemptAt: NOW + 2 * DAY } as const;
    const series = { number: 2, started: 0, ordered: 1, keyName: null };
    const callback = aCallback({ attempts: [again], series, state });
    const row = rowOf(aFinishedTask({ callback }), POLICY);
    expect(row).toMatchObject({ callback: "sending", dueAt: NOW + 2 * DAY, settledAt: null });
  });

  it("a task's index row also counts callback attempts that the task's record no longer stores; its firstAttemptMs and settledMs are null in this case", () => {
    const droppedOutcomes = { delivered: 9, interrupted: 20 };
    const dropped = { attempts: [again], droppedOutcomes, lastNumber: 30 };
    expect(rowOf(aFinishedTask({ callback: aCallback(dropped) }), POLICY)).toMatchObject({
      attempts: 30,
      outcomes: { delivered: 10, interrupted: 20 },
      firstAttemptMs: null,
      settledMs: null,
    });
  });
});

describe("the first attempt of a row", () => {
  const second = runningSince(NOW + HOUR, 2);
  const late = anAttempt({ number: 2, startedAt: NOW + HOUR });
  const first = runningSince(NOW + HOUR);
  const ordered = { number: 2, started: 1, ordered: 1, keyName: null };
  const redelivered = anAttempt({ series: 2, startedAt: NOW + HOUR });

  it.each([
    ["stays that of attempt 1 while attempt 2 is in flight", aCallback({ state: second }), 0],
    ["is null when only a later attempt is still stored", aCallback({ attempts: [late] }), null],
    [
      "is null while only a redelivery is in flight for a task that had no callback URL",
      aCallback({ attempts: [], series: ordered, state: first }),
      null,
    ],
    [
      "is null after only a redelivery of a task that had no callback URL",
      aCallback({ attempts: [redelivered], series: ordered }),
      null,
    ],
  ])(
    "firstAttemptMs in a task's index row is the time from the result to the start of the first automatic callback attempt, or null: it %s",
    (_what, callback, firstAttemptMs) => {
      expect(rowOf(aFinishedTask({ callback }), POLICY)?.firstAttemptMs).toBe(firstAttemptMs);
    },
  );
});

describe("the latencies of a row", () => {
  it("firstAttemptMs and settledMs in a task's index row are the times from the task's result to the start of its first callback attempt and to the end of its last", () => {
    const callback = aCallback({
      attempts: [
        anAttempt({ startedAt: NOW + MINUTE, outcome: "rejected" }),
        anAttempt({ number: 2, startedAt: NOW + SECOND_WAIT, durationMs: 125 }),
      ],
    });
    const row = rowOf(aFinishedTask({ callback }), POLICY);
    expect(row).toMatchObject({ firstAttemptMs: MINUTE, settledMs: SECOND_WAIT + 125 });
  });

  it("firstAttemptMs and settledMs in a task's index row are never negative, even when the clock was put back between the result and the callback attempt", () => {
    const callback = aCallback({ attempts: [anAttempt({ startedAt: NOW - HOUR })] });
    const row = rowOf(aFinishedTask({ callback }), POLICY);
    expect(row).toMatchObject({ firstAttemptMs: 0, settledMs: 0 });
  });
});

describe("the time of a job in a row", () => {
  const finishedAt = NOW + HOUR;

  it("jobMs in a task's index row is the time from the creation of a task that the relay has not submitted to its result, also of a failed one", () => {
    const task = aFinishedTask({ createdAt: NOW, finishedAt });
    expect(rowOf(task, POLICY).jobMs).toBe(HOUR);
    const failure = { category: "provider", retryable: true } as const;
    expect(rowOf({ ...task, status: "failed", failure }, POLICY).jobMs).toBe(HOUR);
  });

  it("jobMs in a task's index row begins when the call that has started the job was sent, after the wait for a place", () => {
    const submission = { ...anAccepted(NOW + MINUTE), startedAt: NOW + MINUTE };
    const task = aFinishedTask({ createdAt: NOW, finishedAt, submission });
    expect(rowOf(task, POLICY).jobMs).toBe(HOUR - MINUTE);
  });
});

describe("the host of a row", () => {
  it.each([
    [URL_A, HOST],
    ["https://Client.Example.COM/Callbacks", HOST],
    ["HTTPS://client.example.com/", HOST],
    ["https://client.example.com:443/callbacks", HOST],
    ["https://client.example.com:8443/callbacks", `${HOST}:8443`],
    ["https://client.example.com", HOST],
    ["https://client.example.com?x=https://other.example.com/", HOST],
    ["https://client.example.com#x", HOST],
    ["http://127.0.0.1:8787/callbacks", "127.0.0.1:8787"],
    ["https://[2606:4700:4700::1111]/callbacks", "[2606:4700:4700::1111]"],
    ["https://[2606:4700:4700::1111]:8443/callbacks", "[2606:4700:4700::1111]:8443"],
  ])(
    "a task's index row has the host of the callback URL in lower case, with the port unless it is the scheme's default: for %s it has %s",
    (callbackUrl, host) => {
      expect(rowOf(anOpenTask({ callbackUrl }), POLICY)?.host).toBe(host);
      expect(
        rowOf(aFinishedTask({ callback: aCallback({ url: callbackUrl }) }), POLICY)?.host,
      ).toBe(host);
    },
  );

  it("a task's index row has no host when the task's stored callback URL cannot be parsed", () => {
    expect(rowOf(anOpenTask({ callbackUrl: "client.example.com" }), POLICY)?.host).toBeNull();
  });
});

it("the index row of a finished task has 1 in the column refunded when its price was refunded, and otherwise 0", () => {
  const states: readonly CreditsState[] = [{ kind: "refunded", at: NOW }, { kind: "charged" }];
  const rows = states.map((state) => rowOf(aFinishedTask({ credits: credits(state) }), POLICY));
  expect(rows.map(({ refunded }) => refunded)).toEqual([1, 0]);
});

it.each<[string, CreatedTask, readonly [number, number, number, number]]>([
  ["an open task holds the credits", aChargedTask(), [PRICE, 0, 0, 0]],
  [
    "a completed task has earned the credits",
    aFinishedTask({ credits: credits() }),
    [0, PRICE, 0, 0],
  ],
  ["a failed task holds the credits until the refund", aRefundingTask(), [PRICE, 0, 0, 0]],
  [
    "a refunded task has refunded the credits",
    aFinishedTask({ status: "failed", credits: credits({ kind: "refunded", at: NOW }) }),
    [0, 0, 0, PRICE],
  ],
  [
    "a completed task holds what it does not cost until the release",
    aReleasingTask(),
    [PRICE - 13, 13, 0, 0],
  ],
  [
    "a released task has released what it does not cost",
    aReleasingTask({
      credits: credits({ kind: "released", at: NOW }, { final: { credits: 13, basis: "usage" } }),
    }),
    [0, 13, PRICE - 13, 0],
  ],
  ["a task without a price has none", anOpenTask(), [0, 0, 0, 0]],
])(
  "a task's index row states how many credits of its price are held, earned, released (given back in part) and refunded: %s",
  (_what, task, sums) => {
    const { creditsHeld, creditsEarned, creditsReleased, creditsRefunded } = rowOf(task, POLICY);
    expect([creditsHeld, creditsEarned, creditsReleased, creditsRefunded]).toEqual(sums);
  },
);

it.each([
  ["whose callback is delivered", aCallback()],
  ["without a callback URL", null],
])(
  "the index row of a completed task %s has in its column dueAt the time of the next try to release the credits above the task's cost",
  (_what, callback) => {
    const state = { kind: "releasing", retryAt: NOW + 7_000, tries: 1 } as const;
    const final = { credits: 13, basis: "usage" } as const;
    const task = aReleasingTask({ callback, credits: credits(state, { final }) });
    expect(rowOf(task, POLICY)).toMatchObject({ ...UNSETTLED, dueAt: NOW + 7_000 });
  },
);
